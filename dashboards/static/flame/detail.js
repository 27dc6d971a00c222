// What is said of a box: in a line beside the pointer, and in the panel below the graph.

import { made } from "../timeline/details.js";
import { duration, whole } from "../timeline/units.js";

const MINUS = "\u2212";

export function line(boxes, box) {
  if (boxes.isDifference) return `${boxes.name(box)} · ${duration(boxes.base_total[box])} → ${duration(boxes.total[box])} (${signed(boxes.total[box] - boxes.base_total[box])})`;
  return `${boxes.name(box)} · ${duration(boxes.total[box])} · ${percent(boxes.total[box] / boxes.whole)}`;
}

// `on.zoom(box)` and `on.select(box)`; `timeline` is the address of the trace's page, empty without one.
export function show(panel, boxes, box, timeline, on) {
  if (box < 0) {
    panel.replaceChildren();
    return;
  }
  const path = boxes.path(box);
  const links = made("p", { className: "flame-path" }, path.flatMap((each, place) => {
    const button = made("button", { type: "button", className: "to-slice", textContent: boxes.name(each), title: boxes.name(each) });
    button.addEventListener("click", () => on.select(each));
    return place ? [" › ", button] : [button];
  }));
  const zoom = made("button", { type: "button", textContent: "zoom in", title: "Enter" });
  zoom.addEventListener("click", () => on.zoom(box));
  const head = [
    made("i", { style: `background:${boxes.colour(box)}` }),
    made("h3", { textContent: boxes.name(box), title: boxes.name(box) }),
    zoom,
  ];
  if (timeline) head.push(made("a", { href: `${timeline}?find=${encodeURIComponent(boxes.name(box))}`, textContent: "on the timeline" }));
  panel.replaceChildren(
    made("header", { className: "slice-name" }, head),
    made("dl", { className: "flame-facts" }, facts(boxes, box).map(([key, value]) => made("div", {}, [made("dt", { textContent: key }), made("dd", { textContent: value })]))),
    links,
  );
}

function facts(boxes, box) {
  if (boxes.isDifference) {
    return [
      ["total", change(boxes.base_total[box], boxes.total[box])],
      ["self", change(boxes.base_own[box], boxes.own[box])],
      ["times a step", `${plain(boxes.base_count[box])} → ${plain(boxes.count[box])}`],
      ["kind", boxes.word(box)],
    ];
  }
  const count = boxes.count[box];
  return [
    ["total", `${duration(boxes.total[box])}, ${percent(boxes.total[box] / boxes.whole)} of all`],
    ["self", `${duration(boxes.own[box])}, ${percent(boxes.own[box] / (boxes.total[box] || 1))} of it`],
    ["times a step", count ? `${plain(count)}, ${duration(boxes.total[box] / count)} each` : "begun before"],
    ["kind", boxes.word(box)],
  ];
}

function change(base, head) {
  const share = base && head ? `, ${signedPercent(head / base - 1)}` : "";
  return `${duration(base)} → ${duration(head)} (${signed(head - base)}${share})`;
}

function signed(ns) {
  return `${ns < 0 ? MINUS : "+"}${duration(Math.abs(ns))}`;
}

function signedPercent(share) {
  return `${share < 0 ? MINUS : "+"}${Math.abs(share * 100).toFixed(1)} %`;
}

export function percent(share) {
  return `${(share * 100).toFixed(1)} %`;
}

function plain(count) {
  return Number.isInteger(count) ? whole(count) : count.toFixed(count < 10 ? 2 : 1);
}
