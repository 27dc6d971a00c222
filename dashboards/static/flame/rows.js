// Draws the boxes of a flame graph on a canvas, and says which of them is at a point.

import { inkOn, prepared, themeColours } from "../timeline/colours.js";

export const ROW = 20;
const LETTER = 6.2; // px, on average
const SMALLEST_TEXT = 30;
const SMALLEST = 0.35; // px

export class Rows {
  constructor(canvas, boxes) {
    Object.assign(this, { canvas, boxes, colours: themeColours(), zoomed: -1, selected: -1, hovered: -1, matches: null });
    this.from = 0; // what is shown, in ns
    this.to = boxes.whole;
  }

  get goal() {
    const { boxes, zoomed } = this;
    return zoomed < 0 ? [0, boxes.whole] : [boxes.start[zoomed], boxes.start[zoomed] + boxes.width[zoomed]];
  }

  get scale() {
    return this.canvas.clientWidth / Math.max(this.to - this.from, 1e-9);
  }

  draw() {
    const { context, width } = prepared(this.canvas);
    context.font = `11px ${this.colours.font}`;
    context.textBaseline = "middle";
    const { boxes } = this;
    const waiting = [...boxes.tops].reverse();
    while (waiting.length) {
      const box = waiting.pop();
      const [x0, x1] = this.#extent(box);
      if (x1 < 0 || x0 > width || x1 - x0 < SMALLEST) continue;
      this.#drawBox(context, box, Math.max(x0, 0), Math.min(x1, width));
      for (let at = boxes.inner[box].length - 1; at >= 0; at--) waiting.push(boxes.inner[box][at]);
    }
    if (this.hovered >= 0) this.#outline(context, this.hovered, this.colours.muted, 1);
    if (this.selected >= 0) this.#outline(context, this.selected, this.colours.ink, 2);
  }

  // The box at a point, -1 where there is none.
  at(x, y) {
    const { boxes } = this;
    const row = Math.floor(y / ROW);
    let beside = boxes.tops;
    for (let depth = 0; ; depth++) {
      const box = beside.find((each) => {
        const [x0, x1] = this.#extent(each);
        return x >= x0 && x < x1;
      });
      if (box === undefined || depth === row) return box ?? -1;
      beside = boxes.inner[box];
    }
  }

  #extent(box) {
    const { boxes, from, scale } = this;
    return [(boxes.start[box] - from) * scale, (boxes.start[box] + boxes.width[box] - from) * scale];
  }

  #drawBox(context, box, x0, x1) {
    const { boxes, colours, matches } = this;
    const y = boxes.depth[box] * ROW;
    const fill = boxes.isDifference ? this.#ofChange(boxes.change(box)) : boxes.colour(box);
    const isOuter = this.zoomed >= 0 && box !== this.zoomed && boxes.depth[box] < boxes.depth[this.zoomed];
    const isFaint = matches ? !matches[boxes.look[box]] : isOuter;
    context.globalAlpha = isFaint ? 0.28 : 1;
    context.fillStyle = fill;
    context.fillRect(x0, y, Math.max(x1 - x0 - (x1 - x0 > 3 ? 1 : 0), 0.5), ROW - 1);
    context.globalAlpha = 1;
    const room = Math.floor((x1 - x0 - 8) / LETTER);
    if (x1 - x0 < SMALLEST_TEXT || room < 3) return;
    const name = boxes.name(box);
    context.fillStyle = isFaint ? colours.ink : inkOn(fill);
    context.fillText(name.length > room ? `${name.slice(0, room - 1)}…` : name, x0 + 4, y + ROW / 2, x1 - x0 - 6);
  }

  // Worse and better of the theme, the paler the smaller the change.
  #ofChange(change) {
    const [end, middle] = [change > 0 ? this.colours.worse : this.colours.better, this.colours.unchanged];
    const part = change === 0 ? 0 : 0.25 + 0.75 * Math.min(Math.abs(change), 1);
    const mixed = [1, 3, 5].map((at) => {
      const [low, high] = [middle, end].map((colour) => parseInt(colour.slice(at, at + 2), 16));
      return Math.round(low + (high - low) * part).toString(16).padStart(2, "0");
    });
    return `#${mixed.join("")}`;
  }

  #outline(context, box, colour, wide) {
    const [x0, x1] = this.#extent(box);
    context.strokeStyle = colour;
    context.lineWidth = wide;
    const left = Math.max(x0, 0) + wide / 2;
    context.strokeRect(left, this.boxes.depth[box] * ROW + wide / 2, Math.max(Math.min(x1, this.canvas.clientWidth) - left - wide / 2 - 1, 1), ROW - 1 - wide);
  }
}
