// Sorts a table by the column whose heading is pressed, filters one by the text of its rows, submits a form on choice.
// The order and the filters stand in the address, so that others see the table as it is seen here.

const SORTABLE = "table.sortable";

function keep(name, value) {
  const address = new URL(window.location);
  if (value) address.searchParams.set(name, value);
  else address.searchParams.delete(name);
  history.replaceState(history.state, "", address);
}

const kept = (name) => new URLSearchParams(window.location.search).get(name);

function key(row, column) {
  const cell = row.cells[column];
  return cell.dataset.value ?? cell.textContent.trim();
}

function compare(left, right) {
  const difference = Number(left) - Number(right);
  return Number.isNaN(difference) ? left.localeCompare(right) : difference;
}

function sort(heading, order) {
  const table = heading.closest("table");
  const body = table.tBodies[0];
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", order);
  const sign = order === "ascending" ? 1 : -1;
  const rows = [...body.rows].map((row) => [key(row, heading.cellIndex), row]);
  // Rows without a value stay last, whichever way the others go.
  rows.sort(([a], [b]) => (a === "" || b === "" ? (a === "") - (b === "") : sign * compare(a, b)));
  body.append(...rows.map(([, row]) => row));
}

// The order of a table that the page came with is `sort`, those of the tables after the first are `sort-2` and so on: the
// heading, with a minus before it where the largest come first.
const orders = new Map(
  [...document.querySelectorAll(SORTABLE)].map((table, place) => [table, place ? `sort-${place + 1}` : "sort"]),
);

document.addEventListener("click", ({ target }) => {
  if (!target.matches(`${SORTABLE} thead button`)) return;
  const heading = target.closest("th");
  const before = heading.getAttribute("aria-sort");
  const isUp = before ? before === "descending" : !heading.classList.contains("num");
  sort(heading, isUp ? "ascending" : "descending");
  const name = orders.get(heading.closest("table"));
  if (name) keep(name, `${isUp ? "" : "-"}${target.textContent}`);
});

for (const [table, name] of orders) {
  const told = kept(name);
  if (!told) continue;
  const isUp = !told.startsWith("-");
  const buttons = [...table.tHead.querySelectorAll("button")];
  const button = buttons.find(({ textContent }) => textContent === (isUp ? told : told.slice(1)));
  if (button) sort(button.closest("th"), isUp ? "ascending" : "descending");
}

// The controls of a table: a text that its rows have, and what an attribute of theirs says.
function filter(table) {
  const controls = [...document.querySelectorAll(`[data-table="${table.id}"]`)].filter(({ value }) => value.trim());
  const fits = (row) => ({ dataset, value }) =>
    dataset.key ? row.dataset[dataset.key] === value : row.textContent.toLowerCase().includes(value.trim().toLowerCase());
  for (const row of table.tBodies[0].rows) row.hidden = !controls.every(fits(row));
  table.nextElementSibling?.remove();
  if ([...table.tBodies[0].rows].some(({ hidden }) => !hidden)) return;
  table.after(Object.assign(document.createElement("p"), { className: "empty", textContent: "No row fits this filter." }));
}

for (const control of document.querySelectorAll("[data-table]")) {
  const table = document.getElementById(control.dataset.table);
  const told = control.name && kept(control.name);
  if (told) {
    control.value = told;
    filter(table);
  }
  control.addEventListener("input", () => {
    filter(table);
    if (control.name) keep(control.name, control.value);
  });
}

for (const select of document.querySelectorAll("select[data-submit]")) {
  select.addEventListener("change", () => select.form.submit());
}
