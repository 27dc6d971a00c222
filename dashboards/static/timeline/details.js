// The panel of the selected slice: its times, what it lies in and between, what it is tied to, its arguments.

import { duration, moment, whole } from "./units.js";

// What stands at the two ends of flows, by the names that recorders give them.
const FLOWS = {
  fwdbwd: ["forward", "backward"],
  ac2g: ["launched by", "launches"],
  async_cpu_to_gpu: ["launched by", "launches"],
  next_functions: ["gradient from", "gradient to"],
  gil: ["held the GIL", "waited for the GIL"],
};
const SHOWN_FLOWS = 8;

// `on.go(slice, near)` follows a link to another slice.
export class Details {
  constructor(panel, on) {
    this.panel = panel;
    this.on = on;
  }

  show(detail) {
    if (!detail) {
      this.panel.replaceChildren();
      return;
    }
    const { slice } = detail;
    const share = slice.duration ? ` (${((100 * detail.self_time) / slice.duration).toFixed(0)} %)` : "";
    const times = slice.duration && detail.count > 1 && detail.median ? `, ${(slice.duration / detail.median).toFixed(2)}× the median` : "";
    const facts = [
      ["duration", duration(slice.duration)],
      ["self", `${duration(Math.max(detail.self_time, 0))}${share}`],
      ["begins at", moment(slice.start, Math.max(slice.duration / 100, 1))],
      ["kind", detail.word],
      ["track", detail.track],
      ["of this name", `${whole(detail.count)}, ${duration(detail.total)} in all${times}`],
    ];
    this.panel.replaceChildren(
      made("header", { className: "slice-name" }, [
        made("i", { style: `background:${slice.colour}` }),
        made("h3", { textContent: slice.name, title: slice.name }),
        this.#button("show", "Show the slice (F)", slice, false),
        ...(detail.before ? [this.#button("‹", "Slice before on this row (,)", detail.before)] : []),
        ...(detail.after ? [this.#button("›", "Slice after on this row (.)", detail.after)] : []),
      ]),
      made("div", { className: "slice-facts" }, [
        made("dl", {}, [...facts, ...Object.entries(detail.args)].flatMap(([key, value]) => [
          made("dt", { textContent: key }),
          made("dd", { textContent: value }),
        ])),
        made("div", { className: "slice-ties" }, [
          ...this.#ties("Caused by", detail.causes, 0, "["),
          ...this.#ties("Leads to", detail.effects, 1, "]"),
          ...this.#around(detail.around),
        ]),
      ]),
    );
  }

  #ties(heading, arrows, side, key) {
    if (!arrows.length) return [];
    const items = arrows.slice(0, SHOWN_FLOWS).map(({ name, slice }, place) => {
      const said = FLOWS[name]?.[side] ?? name;
      return made("li", {}, [this.#link(slice, place ? "" : `Key ${key}`), made("span", { className: "soft", textContent: said })]);
    });
    const more = arrows.length - SHOWN_FLOWS;
    if (more > 0) items.push(made("li", { className: "soft", textContent: `and ${whole(more)} more` }));
    return [made("h4", { textContent: heading }), made("ul", {}, items)];
  }

  #around(slices) {
    if (!slices.length) return [];
    const items = slices.map((slice) => made("li", {}, [this.#link(slice, "")]));
    return [made("h4", { textContent: "Inside of" }), made("ol", {}, items)];
  }

  #link(slice, title) {
    const link = this.#button(slice.name, title, slice, true);
    link.className = "to-slice";
    link.prepend(made("i", { style: `background:${slice.colour}` }));
    link.append(made("span", { className: "soft", textContent: ` ${duration(slice.duration)}` }));
    return link;
  }

  #button(text, title, slice, near = true) {
    const button = made("button", { type: "button", textContent: text, title });
    button.addEventListener("click", () => this.on.go(slice, near));
    return button;
  }
}

export function made(name, properties = {}, children = []) {
  const element = document.createElement(name);
  Object.assign(element, properties);
  element.append(...children);
  return element;
}
