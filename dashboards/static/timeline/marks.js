// Marks: moments and stretches that are kept in the address, listed below the ruler and drawn over the rows.

import { made } from "./details.js";
import { duration, moment } from "./units.js";

export class Marks {
  constructor(list, view) {
    Object.assign(this, { list, view });
    view.addEventListener("marks", () => this.#show());
    this.#show();
  }

  // Marks the selected slice, else where the pointer is, else the middle; what is marked already is not any more.
  toggle() {
    const { view } = this;
    const slice = view.selected?.slice;
    const start = Math.round(slice ? slice.start : (view.pointed ?? (view.goal.start + view.goal.end) / 2));
    const mark = { start, end: slice ? start + slice.duration : start };
    const others = view.marks.filter((each) => each.start !== mark.start || each.end !== mark.end);
    const isNew = others.length === view.marks.length;
    view.set("marks", "marks", isNew ? [...others, mark].sort((a, b) => a.start - b.start) : others);
  }

  // Goes to the next (1) or previous (-1) mark from the middle of what is shown.
  step(by) {
    const { view } = this;
    if (!view.marks.length) return;
    const middle = (view.goal.start + view.goal.end) / 2;
    const at = ({ start, end }) => (start + end) / 2;
    const slack = (view.goal.end - view.goal.start) / 1000;
    const beyond = view.marks.filter((mark) => by * (at(mark) - middle) > slack);
    this.go(by > 0 ? (beyond[0] ?? view.marks[0]) : (beyond.at(-1) ?? view.marks.at(-1)));
  }

  go({ start, end }) {
    const { view } = this;
    const span = end > start ? Math.max(2 * (end - start), 20) : view.goal.end - view.goal.start;
    view.show((start + end - span) / 2, (start + end + span) / 2);
  }

  #show() {
    const { view } = this;
    this.list.hidden = !view.marks.length;
    this.list.replaceChildren(
      ...view.marks.map((mark, place) => {
        const since = place ? `, ${duration(mark.start - view.marks[place - 1].start)} after ${place}` : "";
        const lasts = mark.end > mark.start ? `, lasts ${duration(mark.end - mark.start)}` : "";
        const go = made("button", { type: "button", title: `Show mark ${place + 1}` }, [made("b", { textContent: place + 1 }), ` ${moment(mark.start, Math.max(view.length / 1e5, 1))}${lasts}${since}`]);
        go.addEventListener("click", () => this.go(mark));
        const drop = made("button", { type: "button", textContent: "\u00d7", ariaLabel: `Forget mark ${place + 1}` });
        drop.addEventListener("click", () => view.set("marks", "marks", view.marks.filter((each) => each !== mark)));
        return made("li", {}, [go, drop]);
      }),
    );
  }
}
