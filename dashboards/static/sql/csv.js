// An answer as CSV (RFC 4180), as the server writes it.

function cell(value) {
  if (value === null) return "";
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csvOf({ columns, rows }) {
  return [columns, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}
