// Sorts a table by the column whose heading is pressed, filters one by the text of its rows, submits a form on choice.

function key(row, column) {
  const cell = row.cells[column];
  return cell.dataset.value ?? cell.textContent.trim();
}

function compare(left, right) {
  const difference = Number(left) - Number(right);
  return Number.isNaN(difference) ? left.localeCompare(right) : difference;
}

function sort(heading) {
  const table = heading.closest("table");
  const body = table.tBodies[0];
  const numeric = heading.classList.contains("num");
  const before = heading.getAttribute("aria-sort");
  const order = before ? (before === "ascending" ? "descending" : "ascending") : numeric ? "descending" : "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", order);
  const sign = order === "ascending" ? 1 : -1;
  const rows = [...body.rows].map((row) => [key(row, heading.cellIndex), row]);
  // Rows without a value stay last, whichever way the others go.
  rows.sort(([a], [b]) => (a === "" || b === "" ? (a === "") - (b === "") : sign * compare(a, b)));
  body.append(...rows.map(([, row]) => row));
}

document.addEventListener("click", ({ target }) => {
  if (target.matches("table.sortable thead button")) sort(target.closest("th"));
});

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

// What a control with a name says stands in the address, so that others see the table as it is seen here.
function keep({ name, value }) {
  const address = new URL(window.location);
  if (value) address.searchParams.set(name, value);
  else address.searchParams.delete(name);
  history.replaceState(history.state, "", address);
}

for (const control of document.querySelectorAll("[data-table]")) {
  const table = document.getElementById(control.dataset.table);
  const told = control.name && new URLSearchParams(window.location.search).get(control.name);
  if (told) {
    control.value = told;
    filter(table);
  }
  control.addEventListener("input", () => {
    filter(table);
    if (control.name) keep(control);
  });
}

for (const select of document.querySelectorAll("select[data-submit]")) {
  select.addEventListener("change", () => select.form.submit());
}
