// The names of the bands beside their rows: pressing one folds the band to its first row, the pin keeps it above the others,
// pressing the name of a process hides its bands.

import { made } from "./details.js";

export function nameBands(gutter, bands, layout, view) {
  const focused = gutter.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  const headings = layout.headings.map(({ y, label, place, isClosed }) => {
    const title = `${label}: ${isClosed ? "show its tracks" : "hide its tracks"}`;
    return placed(toggle(view, "closed", place, { className: "process", textContent: label, title, ariaExpanded: String(!isClosed) }), y, 22);
  });
  const names = bands.flatMap((band, place) => {
    if (!layout.bands[place]) return [];
    const { y, height } = layout.bands[place];
    const isPinned = view.pinned.has(place);
    const said = isPinned ? "let go of" : "keep above the others";
    const pin = toggle(view, "pinned", place, { className: "pin", title: `${said}: ${band.label}`, ariaLabel: `Pin ${band.label}`, ariaPressed: String(isPinned) });
    return [placed(nameOf(band, place, view), y, height), placed(pin, y, 18)];
  });
  gutter.replaceChildren(...headings, ...names);
  if (focused) gutter.querySelector(`[data-key="${focused}"]`)?.focus();
}

function nameOf(band, place, view) {
  if (band.rows === 1) return made("div", { className: "band", textContent: band.label, title: band.label });
  const isFolded = view.folded.has(place);
  const title = `${band.label}: ${isFolded ? "show all of its rows" : "show only its first row"}`;
  const button = toggle(view, "folded", place, { className: "band", title, ariaExpanded: String(!isFolded) });
  button.append(made("span", { className: "band-name", textContent: band.label })); // stays in sight while its rows are
  return button;
}

// A button that puts a place into one of the view's sets, or takes it out.
function toggle(view, set, place, properties) {
  const button = made("button", { type: "button", ...properties });
  button.dataset.key = `${set}-${place}`;
  button.addEventListener("click", () => {
    if (!view[set].delete(place)) view[set].add(place);
    view.tell("fold");
  });
  return button;
}

function placed(element, y, height) {
  element.style.top = `${y}px`;
  element.style.height = `${height}px`;
  return element;
}
