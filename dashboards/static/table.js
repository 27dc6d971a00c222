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

for (const input of document.querySelectorAll("input[data-table]")) {
  const rows = document.getElementById(input.dataset.table).tBodies[0].rows;
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
}

for (const select of document.querySelectorAll("select[data-submit]")) {
  select.addEventListener("change", () => select.form.submit());
}
