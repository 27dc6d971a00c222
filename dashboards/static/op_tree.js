// The tree of ops side by side: its rows open and close by a click or by keyboard, as those of every treegrid do.

const table = document.querySelector(".tree");
const rows = [...(table?.tBodies[0].rows ?? [])];
const level = (row) => Number(row.ariaLevel);
const changed = new Set(rows.filter((row) => row.ariaExpanded === "true"));

// What is in closed rows is hidden.
function show() {
  let closed = Infinity; // the level of the closed row that those after it are in
  for (const row of rows) {
    if (level(row) <= closed) closed = Infinity;
    row.hidden = closed < Infinity;
    if (row.ariaExpanded === "false") closed = Math.min(closed, level(row));
  }
  if (document.activeElement.hidden) focus(rows.find(({ hidden }) => !hidden));
}

function open(row, isOpen) {
  if (row.ariaExpanded === null) return;
  row.ariaExpanded = String(isOpen);
  show();
}

function focus(row) {
  if (!row) return;
  for (const other of rows) other.tabIndex = -1;
  row.tabIndex = 0;
  row.focus();
}

function around(row) {
  const before = rows.slice(0, rows.indexOf(row));
  return before.findLast((each) => level(each) < level(row));
}

function press(row, key) {
  const shown = rows.filter(({ hidden }) => !hidden);
  const at = shown.indexOf(row);
  if (key === "ArrowDown") focus(shown[at + 1]);
  else if (key === "ArrowUp") focus(shown[at - 1]);
  else if (key === "Home") focus(shown[0]);
  else if (key === "End") focus(shown.at(-1));
  else if (key === "ArrowRight") row.ariaExpanded === "true" ? focus(shown[at + 1]) : open(row, true);
  else if (key === "ArrowLeft") row.ariaExpanded === "true" ? open(row, false) : focus(around(row));
  else if (key === "Enter" || key === " ") open(row, row.ariaExpanded !== "true");
  else return false;
  return true;
}

table?.tBodies[0].addEventListener("click", ({ target }) => {
  const row = target.closest("tr");
  focus(row);
  open(row, row.ariaExpanded !== "true");
});
table?.addEventListener("keydown", (event) => {
  if (rows.includes(event.target) && press(event.target, event.key)) event.preventDefault();
});
for (const button of document.querySelectorAll("[data-open]")) {
  button.addEventListener("click", () => {
    const which = { all: () => true, none: () => false, changed: (row) => changed.has(row) }[button.dataset.open];
    for (const row of rows) if (row.ariaExpanded !== null) row.ariaExpanded = String(which(row));
    show();
  });
}
