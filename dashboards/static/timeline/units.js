// Durations and counts as the server's pages write them.

const DURATIONS = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];
const SIZES = [
  [2 ** 40, "TiB"],
  [2 ** 30, "GiB"],
  [2 ** 20, "MiB"],
  [2 ** 10, "KiB"],
  [1, "B"],
];

function scaleOf(largest, steps) {
  return steps.find(([divisor]) => largest >= divisor * 0.9995) ?? steps[steps.length - 1];
}

function threeDigits(value) {
  if (value >= 999.5) return value.toLocaleString("en", { maximumFractionDigits: 0 });
  return value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);
}

export function duration(ns) {
  const [divisor, unit] = scaleOf(ns, DURATIONS);
  return `${divisor === 1 ? Math.round(ns) : threeDigits(ns / divisor)} ${unit}`;
}

function size(bytes) {
  const [divisor, unit] = scaleOf(Math.abs(bytes), SIZES);
  return `${divisor === 1 ? Math.round(bytes) : threeDigits(bytes / divisor)} ${unit}`;
}

// A value of a counter, of bytes or of something else.
export function amount(value, isBytes) {
  return isBytes ? size(value) : value.toLocaleString("en", { maximumSignificantDigits: 4 });
}

export function whole(count) {
  return count.toLocaleString("en");
}

// A moment to the precision of `step`, in the unit that `largest` is read best in: "1.234 ms".
export function moment(ns, step, largest = ns) {
  const [divisor, unit] = scaleOf(Math.max(largest, step), DURATIONS);
  const digits = Math.max(0, Math.ceil(Math.log10(divisor / step) - 1e-9));
  return `${(ns / divisor).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })} ${unit}`;
}

// The round number (1, 2 or 5 times a power of ten) next above `least`.
export function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((times) => times * power).find((step) => step >= least * 0.999999);
}
