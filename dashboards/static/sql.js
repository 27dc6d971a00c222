// Asks what is in the editor, and shows the answer as a table that sorts, as a chart, as CSV and as a link.

import { show } from "./figures.js";
import { SHA, figureOf } from "./sql/chart.js";
import { csvOf } from "./sql/csv.js";

const SHOWN = 500; // rows of the table; CSV has all
const form = document.getElementById("ask");
const [query, run, cancel, answer, told, fault, ways, rows, chart] = [
  "query", "run", "cancel", "answer", "told", "fault", "ways", "rows", "chart",
].map((id) => document.getElementById(id));
const asTable = document.getElementById("as-table");
const asChart = document.getElementById("as-chart");
const link = document.getElementById("link");
let asked = null; // aborts the question that is on its way
let known = null; // the last answer
let wantsChart = false;

function question() {
  const { trace } = form.dataset;
  const named = trace ? { trace: Number(trace) } : Object.fromEntries([...new FormData(form)].filter(([, value]) => value.trim()));
  return { query: query.value, ...named };
}

function address({ query, ...named }) {
  return `/sql?${new URLSearchParams({ ...named, q: query })}`;
}

async function ask() {
  asked?.abort();
  const mine = (asked = new AbortController());
  const sent = question();
  busy(true);
  fault.textContent = "";
  told.textContent = "running";
  try {
    const response = await fetch(form.dataset.address, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify(sent),
      signal: mine.signal,
    });
    const body = await response.json();
    if (!response.ok) throw new Error(body.error);
    history.replaceState(null, "", address(sent));
    link.href = address(sent);
    take(body);
  } catch (error) {
    if (mine !== asked) return; // another question took its place
    clear();
    told.textContent = error.name === "AbortError" ? "cancelled" : "no answer";
    if (error.name !== "AbortError") fault.textContent = error instanceof TypeError ? "The server cannot be reached; look whether it runs, then ask again." : error.message;
  } finally {
    if (mine === asked) busy(false);
  }
}

function busy(is) {
  if (!is) asked = null;
  cancel.hidden = !is;
  if (is) answer.setAttribute("aria-busy", "true");
  else answer.removeAttribute("aria-busy");
}

function clear() {
  known = null;
  ways.hidden = true;
  rows.replaceChildren();
  chart.hidden = true;
}

function take(given) {
  known = { ...given, order: null };
  const count = given.rows.length;
  const cut = given.cut ? `the first ${count.toLocaleString("en")} rows; there are more` : `${count.toLocaleString("en")} row${count === 1 ? "" : "s"}`;
  const hidden = count > SHOWN ? `, ${SHOWN} shown` : "";
  told.textContent = `${cut}${hidden} · ${given.seconds < 1 ? `${Math.round(given.seconds * 1000)} ms` : `${given.seconds.toFixed(1)} s`}`;
  ways.hidden = false;
  const figure = figureOf(given);
  asChart.disabled = !figure;
  tabulate();
  choose(wantsChart && figure);
}

function choose(isChart) {
  asTable.setAttribute("aria-pressed", String(!isChart));
  asChart.setAttribute("aria-pressed", String(Boolean(isChart)));
  rows.hidden = Boolean(isChart);
  chart.hidden = !isChart;
  if (isChart) show(chart, figureOf(known));
}

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function numeric(column) {
  return known.rows.length > 0 && known.rows.every((row) => row[column] === null || typeof row[column] === "number");
}

function text(value) {
  if (value === null) return "null";
  if (typeof value !== "number") return typeof value === "object" ? JSON.stringify(value) : String(value);
  return Number.isInteger(value) ? value.toLocaleString("en") : value.toLocaleString("en", { maximumSignificantDigits: 6 });
}

function shown(value) {
  return SHA.test(value) ? element("code", { textContent: value.slice(0, 12) }) : text(value);
}

function tabulate() {
  const numbers = known.columns.map((_, column) => numeric(column));
  const heads = known.columns.map((name, column) => {
    const head = element("th", { scope: "col", className: numbers[column] ? "num" : "", title: known.types[column] });
    if (known.order?.column === column) head.setAttribute("aria-sort", known.order.up ? "ascending" : "descending");
    const button = element("button", { type: "button", textContent: name });
    button.addEventListener("click", () => sort(column, numbers[column]));
    head.append(button);
    return head;
  });
  const lines = known.rows.slice(0, SHOWN).map((row) =>
    element("tr", {}, ...row.map((value, column) =>
      element("td", { className: value === null ? "null" : numbers[column] ? "num" : "", title: typeof value === "string" ? value : "" }, shown(value)),
    )),
  );
  rows.replaceChildren(element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...lines)));
}

function sort(column, number) {
  const before = known.order?.column === column ? known.order.up : number;
  known.order = { column, up: !before };
  const sign = known.order.up ? 1 : -1;
  known.rows.sort(({ [column]: left }, { [column]: right }) => {
    if (left === null || right === null) return (left === null) - (right === null); // last, whichever way the others go
    return sign * (number ? left - right : text(left).localeCompare(text(right)));
  });
  tabulate();
  rows.querySelectorAll("thead button")[column].focus();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    ask();
  } else if (event.key === "Escape") asked?.abort();
});
cancel.addEventListener("click", () => asked?.abort());
asTable.addEventListener("click", () => choose((wantsChart = false)));
asChart.addEventListener("click", () => choose((wantsChart = true)));
document.getElementById("csv").addEventListener("click", () => {
  const href = URL.createObjectURL(new Blob([csvOf(known)], { type: "text/csv" }));
  element("a", { href, download: "answer.csv" }).click();
  URL.revokeObjectURL(href);
});
link.addEventListener("click", (event) => {
  event.preventDefault();
  const full = new URL(link.href).href;
  navigator.clipboard?.writeText(full).then(() => (link.textContent = "Copied"), () => (location.href = full));
  setTimeout(() => (link.textContent = "Link"), 2000);
});
for (const button of document.querySelectorAll(".ready button")) {
  button.addEventListener("click", () => {
    for (const other of document.querySelectorAll(".ready [aria-current]")) other.removeAttribute("aria-current");
    button.setAttribute("aria-current", "true");
    query.value = button.dataset.sql;
    wantsChart = "chart" in button.dataset;
    ask();
  });
}
if ("runs" in form.dataset) ask();
