// The table of benchmarks by commits: what a cell says, by mouse and by keyboard.

const table = document.getElementById("grid");
const said = document.getElementById("cell");
const heads = [...(table?.tHead.rows[0].cells ?? [])];
let current = null;

const body = () => [...table.tBodies[0].rows].filter((row) => !row.hidden);

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function facts(cell) {
  const row = cell.parentElement;
  const head = heads[cell.cellIndex];
  const tenths = row.dataset.tenths.split(",")[cell.cellIndex - 1];
  return { row, head, name: row.cells[0].firstElementChild, tenths, sha: head.dataset.sha };
}

function comparison({ row, sha }) {
  return `/compare?${new URLSearchParams({ project: table.dataset.project, base: row.dataset.from, head: sha })}`;
}

function show(cell) {
  current?.classList.remove("at");
  if (current) heads[current.cellIndex].classList.remove("at");
  current = cell;
  cell.classList.add("at");
  const found = facts(cell);
  found.head.classList.add("at");
  const { name, tenths, row, head, sha } = found;
  const told = [
    element("a", { className: "name", href: name.href, textContent: name.textContent }),
    element("span", { className: "soft", textContent: `${sha.slice(0, 8)}, ${head.dataset.when}` }),
  ];
  if (tenths === "") told.push(element("span", { textContent: "not measured" }));
  else {
    const percent = Number(tenths) / 10;
    const sign = percent > 0 ? "+" : "";
    const significant = cell.className.match(/\b[wb]\d/);
    told.push(
      element("strong", { textContent: `${sign}${percent.toFixed(1).replace("-", "\u2212")} %` }),
      element("span", { textContent: `over ${row.dataset.base}${significant ? "" : ", not significant"}` }),
    );
    if (!sha.startsWith(row.dataset.from)) told.push(element("a", { href: comparison(found), textContent: "compare" }));
  }
  said.replaceChildren(...told);
}

function focus(cell) {
  table.querySelector("td[tabindex]")?.removeAttribute("tabindex");
  cell.tabIndex = 0;
  cell.focus();
}

const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

function move(cell, key) {
  const rows = body();
  const [down, right] = MOVES[key];
  const row = rows[Math.min(Math.max(rows.indexOf(cell.parentElement) + down, 0), rows.length - 1)];
  const at = Math.min(Math.max(cell.cellIndex + right, 1), heads.length - 1);
  focus(row.cells[at]);
}

if (table) {
  const first = table.tBodies[0].rows[0].cells[heads.length - 1];
  first.tabIndex = 0;
  table.addEventListener("mouseover", ({ target }) => target.matches("tbody td") && show(target));
  table.addEventListener("focusin", ({ target }) => target.matches("tbody td") && show(target));
  table.addEventListener("click", ({ target }) => {
    if (target.matches("tbody td") && facts(target).tenths !== "") location.assign(comparison(facts(target)));
  });
  table.addEventListener("keydown", (event) => {
    const { target, key } = event;
    if (!target.matches("tbody td")) return;
    if (key in MOVES) move(target, key);
    else if (key === "Home") focus(target.parentElement.cells[1]);
    else if (key === "End") focus(target.parentElement.cells[heads.length - 1]);
    else if (key === "Enter" && facts(target).tenths !== "") location.assign(comparison(facts(target)));
    else if (key === "s") location.assign(facts(target).name.href);
    else return;
    event.preventDefault();
  });
  const scroller = table.closest(".scroll");
  scroller.scrollLeft = scroller.scrollWidth; // the newest commits are on the right
}
