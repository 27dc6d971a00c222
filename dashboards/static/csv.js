// A button with data-csv gives the table of its panel as CSV: times in ns, sizes in bytes, what is hidden left out.

import { csvOf } from "./sql/csv.js";

function cellOf({ dataset, textContent }) {
  return dataset.value ?? textContent.trim().replaceAll(/\s+/g, " ");
}

document.addEventListener("click", ({ target }) => {
  if (!target.matches("[data-csv]")) return;
  const table = target.closest(".panel").querySelector("table");
  const columns = [...table.tHead.rows[0].cells].map(({ textContent }) => textContent.trim());
  const rows = [...table.tBodies[0].rows].filter(({ hidden }) => !hidden).map(({ cells }) => [...cells].map(cellOf));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([csvOf({ columns, rows })], { type: "text/csv" }));
  link.download = `${target.dataset.csv}.csv`;
  link.click();
  URL.revokeObjectURL(link.href);
});
