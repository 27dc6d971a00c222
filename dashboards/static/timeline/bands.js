// The names of the bands beside their rows; pressing one folds the band to its first row.

import { made } from "./details.js";

export function nameBands(gutter, bands, layout, view) {
  const several = new Map();
  for (const { label } of bands) several.set(label, (several.get(label) ?? 0) + 1);
  gutter.replaceChildren(
    ...layout.headings.map(({ y, label }) => placed(made("div", { className: "process", textContent: label }), y, 22)),
    ...bands.map((band, place) => {
      const { y, height } = layout.bands[place];
      if (band.rows === 1) return placed(made("div", { className: "band", textContent: band.label, title: band.label }), y, height);
      const isFolded = view.folded.has(place);
      const title = `${band.label}: ${isFolded ? "show all of its rows" : "show only its first row"}`;
      const button = made("button", { type: "button", className: "band", textContent: band.label, title, ariaExpanded: String(!isFolded) });
      button.addEventListener("click", () => {
        if (isFolded) view.folded.delete(place);
        else view.folded.add(place);
        view.tell("fold");
        gutter.querySelectorAll(".band")[place].focus();
      });
      return placed(button, y, height);
    }),
  );
}

function placed(element, y, height) {
  element.style.top = `${y}px`;
  element.style.height = `${height}px`;
  return element;
}
