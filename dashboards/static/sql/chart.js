// An answer as a figure: the first column against the columns of numbers behind it.

const MOST = 2000; // points
const FLAT = 50; // times as large
export const SHA = /^[0-9a-f]{40}$/;

function short(value) {
  const text = String(value);
  return SHA.test(text) ? text.slice(0, 8) : text.length > 40 ? `${text.slice(0, 38)}…` : text;
}

function isNumbers(rows, column) {
  return rows.some((row) => row[column] !== null) && rows.every((row) => row[column] === null || typeof row[column] === "number");
}

// None where there is nothing to draw.
export function figureOf({ columns, rows }) {
  const drawn = rows.slice(0, MOST);
  const numbers = columns.map((_, column) => column).filter((column) => column > 0 && isNumbers(drawn, column));
  if (!numbers.length) return null;
  const x = drawn.map((row) => row[0]);
  const isNumber = isNumbers(drawn, 0);
  const isLine = isNumber || x.every((value) => SHA.test(value));
  const labels = isNumber ? x : x.map(short);
  const largest = numbers.map((column) => Math.max(...drawn.map((row) => Math.abs(row[column]))));
  const data = numbers.map((column, place) => {
    const y = drawn.map((row) => row[column]);
    // What would be flat beside the first is drawn when its name is pressed.
    const isFlat = Math.max(largest[place], largest[0]) > FLAT * Math.min(largest[place], largest[0]);
    const trace = { name: columns[column], visible: isFlat ? "legendonly" : true };
    if (isLine) return { ...trace, type: "scatter", mode: "lines+markers", x: labels, y };
    return { ...trace, type: "bar", orientation: "h", x: y, y: labels };
  });
  const title = numbers.length === 1 ? columns[numbers[0]] : "";
  const names = { title: { text: columns[0] } };
  const values = { title: { text: title } };
  if (!isNumber) names.type = "category";
  if (isLine) return { data, layout: { height: 380, xaxis: names, yaxis: { ...values, rangemode: "tozero" }, showlegend: numbers.length > 1 } };
  const height = Math.min(2400, Math.max(200, 90 + 22 * drawn.length * Math.min(numbers.length, 2)));
  return { data, layout: { height, xaxis: values, yaxis: { ...names, autorange: "reversed" }, showlegend: numbers.length > 1 } };
}
