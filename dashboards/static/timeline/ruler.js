// Above the rows: the whole trace with the stretch that is shown, the times, and the steps.

import { prepared } from "./colours.js";
import { moment, roundStep } from "./units.js";

const STEP_HEIGHT = 18;
const LABEL_ROOM = 92; // px between labels of the ruler

// The whole trace in small: every row a line, redrawn only when it changes.
export class Overview {
  #picture = document.createElement("canvas");
  #drawn = "";

  constructor(canvas, view, tiles, rows) {
    Object.assign(this, { canvas, view, tiles, rows, colours: {} });
  }

  draw() {
    const { context, width, height, ratio } = prepared(this.canvas);
    const pieces = this.tiles.pieces(0, this.view.length, width);
    this.#paint(pieces, width, height, ratio);
    context.drawImage(this.#picture, 0, 0, width, height);
    const scale = width / this.view.length;
    const x0 = this.view.start * scale;
    const wide = Math.max(this.view.span * scale, 2);
    context.globalAlpha = 0.72;
    context.fillStyle = this.colours.page;
    context.fillRect(0, 0, x0, height);
    context.fillRect(x0 + wide, 0, width - x0 - wide, height);
    context.globalAlpha = 1;
    context.strokeStyle = this.colours.accent;
    context.lineWidth = 1.5;
    context.strokeRect(Math.max(x0, 1), 0.75, Math.min(wide, width - 2), height - 1.5);
    context.fillStyle = this.colours.accent;
    for (const { start } of this.view.marks) context.fillRect(Math.round(start * scale) - 1, 0, 2, height);
  }

  #paint(pieces, width, height, ratio) {
    const drawn = [width, ratio, this.colours.panel, ...pieces.map(({ from, tile }) => `${from}:${tile.bin}`)].join();
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    Object.assign(this.#picture, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
    const context = this.#picture.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const line = (height - 4) / Math.max(this.rows, 1);
    const scale = width / this.view.length;
    for (const { tile, from, to } of pieces) {
      for (const [row, [first, last]] of tile.places) {
        for (let at = first; at < last; at++) {
          if (tile.begin[at] < from && from > 0) continue;
          if (tile.begin[at] >= to) break;
          context.globalAlpha = 0.2 + (0.6 * tile.busy[at]) / Math.max(tile.end[at] - tile.begin[at], 1);
          context.fillStyle = tile.colours[tile.look[at]];
          const wide = Math.max((tile.end[at] - tile.begin[at]) * scale, 0.5);
          context.fillRect(tile.begin[at] * scale, 2 + row * line, wide, Math.max(line, 0.5));
        }
      }
    }
  }
}

export class Ruler {
  constructor(canvas, view, steps) {
    Object.assign(this, { canvas, view, steps, colours: {} });
  }

  draw() {
    const { context, width, height } = prepared(this.canvas);
    const { colours, view } = this;
    context.font = `11px ${colours.font}`;
    context.textBaseline = "middle";
    const step = roundStep((view.span * LABEL_ROOM) / Math.max(width, 1));
    const middle = (height - (this.steps.length ? STEP_HEIGHT : 0)) / 2;
    for (let time = Math.ceil(view.start / step) * step; time < view.end; time += step) {
      const x = Math.round(((time - view.start) / view.span) * width);
      context.fillStyle = colours.line;
      context.fillRect(x, 0, 1, middle * 2);
      context.fillStyle = colours.muted;
      context.fillText(moment(time, step, view.end), x + 4, middle + 0.5);
    }
    this.#drawSteps(context, width, height);
    this.#drawFlags(context, width);
  }

  #drawFlags(context, width) {
    const { colours, view } = this;
    view.marks.forEach(({ start }, place) => {
      const x = Math.round(((start - view.start) / view.span) * width);
      if (x < -20 || x > width) return;
      const text = String(place + 1);
      const wide = context.measureText(text).width + 8;
      context.fillStyle = colours.accent;
      context.fillRect(x, 0, wide, 14);
      context.fillStyle = colours.panel;
      context.fillText(text, x + 4, 7.5);
    });
  }

  // The step at a point, null where there is none.
  stepAt(x, y) {
    if (y < this.canvas.clientHeight - STEP_HEIGHT) return null;
    const time = this.view.start + (x / this.canvas.clientWidth) * this.view.span;
    return this.steps.find(([, start, duration]) => time >= start && time <= start + duration) ?? null;
  }

  #drawSteps(context, width, height) {
    const { colours, view } = this;
    const top = height - STEP_HEIGHT;
    this.steps.forEach(([number, start, duration], place) => {
      if (start > view.end || start + duration < view.start) return;
      const x0 = Math.max(((start - view.start) / view.span) * width, -1);
      const x1 = Math.min(((start + duration - view.start) / view.span) * width, width + 1);
      context.fillStyle = place % 2 ? colours.grid : colours.accentSoft;
      context.fillRect(x0, top, Math.max(x1 - x0 - 1, 0.5), STEP_HEIGHT - 2);
      const label = x1 - x0 > 70 ? `step ${number}` : `${number}`;
      if (x1 - x0 < 8 * label.length) return;
      context.fillStyle = colours.ink;
      context.fillText(label, Math.max(x0, 0) + 5, top + STEP_HEIGHT / 2 - 0.5);
    });
  }
}
