// Colours of the page's theme for canvases, and what text stands out on a slice.

const NAMES = ["ink", "muted", "line", "grid", "panel", "raised", "page", "accent", "accent-soft"];
const inks = new Map();

export function themeColours() {
  const style = getComputedStyle(document.documentElement);
  const found = Object.fromEntries(NAMES.map((name) => [name.replace("-s", "S"), style.getPropertyValue(`--${name}`).trim()]));
  return { ...found, font: style.getPropertyValue("--sans") };
}

// Black or white, whichever contrasts more (WCAG 2's relative luminance).
export function inkOn(colour) {
  if (!inks.has(colour)) {
    const [red, green, blue] = [1, 3, 5].map((at) => (parseInt(colour.slice(at, at + 2), 16) / 255) ** 2.2);
    const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    inks.set(colour, luminance > 0.19 ? "#10151a" : "#ffffff");
  }
  return inks.get(colour);
}

// A canvas of its element's size in device pixels, drawn on in CSS pixels.
export function prepared(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, { width: wide, height: high });
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height, ratio };
}
