// Rows of the timeline with their names: the pane of all bands, and that of the pinned ones above it.

import { nameBands } from "./bands.js";
import { layOut, rowAt } from "./layout.js";
import { Pointer } from "./pointer.js";
import { Rows } from "./rows.js";
import { amount, duration, whole } from "./units.js";

// `on` = { select(slice, near), leave(), mark(start, end, bands), changed() }.
export class Pane {
  constructor(scroller, view, tiles, bands, tip, on) {
    Object.assign(this, { scroller, view, bands, tip, on });
    this.gutter = scroller.querySelector(".gutter");
    this.rows = new Rows(scroller.querySelector("canvas"), view, tiles, bands);
    new Pointer(this.rows, scroller, view, {
      hover: (at) => this.#hover(at),
      leave: () => this.leave(),
      mark: (one, other) => this.#mark(one, other),
      isFree: ({ x, y }) => !this.rows.at(x, y),
      click: ({ x, y }) => this.#click(x, y),
      open: ({ x, y }) => {
        const found = this.rows.at(x, y);
        if (found) on.select(found, false);
      },
    });
  }

  get layout() {
    return this.rows.layout;
  }

  // Lays the bands out anew; with `only`, these alone.
  arrange(only = null) {
    const { folded, closed } = this.view;
    this.rows.layout = layOut(this.bands, { folded, closed, only });
    this.scroller.firstElementChild.style.height = `${this.layout.height}px`;
    this.scroller.style.setProperty("--content", `${this.layout.height}px`);
    this.rows.measure();
    nameBands(this.gutter, this.bands, this.layout, this.view);
  }

  draw() {
    this.rows.top = this.scroller.scrollTop;
    this.rows.draw();
  }

  // Scrolls to a row.
  reveal(row) {
    const { scroller } = this;
    const { y, height } = this.layout.rows[row];
    if (y < scroller.scrollTop) scroller.scrollTop = y - 30;
    else if (y + height > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = y + height + 30 - scroller.clientHeight;
  }

  leave() {
    this.rows.hovered = this.view.pointed = null;
    this.tip.hidden = true;
    this.on.changed();
  }

  #click(x, y) {
    const found = this.rows.at(x, y);
    if (found) this.on.select(found, true);
    else if (rowAt(this.layout, y + this.rows.top) < 0 || this.view.selected) this.on.leave();
  }

  #mark(one, other) {
    const { rows, layout } = this;
    const times = [rows.time(one.x), rows.time(other.x)].sort((a, b) => a - b).map(Math.round);
    const [low, high] = [one.y, other.y].map((y) => y + rows.top).sort((a, b) => a - b);
    const bands = layout.bands.flatMap((band, place) => (band && band.y <= high && band.y + band.height >= low ? [place] : []));
    if (times[1] > times[0]) this.on.mark(Math.max(times[0], 0), times[1], bands.length ? bands : null);
  }

  #hover(at) {
    const { rows, tip, scroller } = this;
    const found = rows.at(at.x, at.y);
    const value = found ? null : rows.valueAt(at.x, at.y);
    rows.hovered = found;
    rows.canvas.style.cursor = found ? "pointer" : "";
    this.view.pointed = rows.time(at.x);
    tip.hidden = !found && !value;
    if (found) {
      const merged = found.count > 1;
      tip.textContent = merged
        ? `${whole(found.count)} slices, ${duration(found.busy)} in all; the longest: ${found.name}`
        : `${found.name} · ${duration(found.duration)} · ${found.word}`;
    } else if (value) {
      const { label, bytes } = this.bands[this.layout.rows[value.row].band];
      tip.textContent = `${label}: ${amount(value.value, bytes)}`;
    }
    if (!tip.hidden) {
      const room = rows.width - tip.offsetWidth - 4;
      tip.style.left = `${rows.canvas.offsetLeft + Math.max(Math.min(at.x + 12, room), 0)}px`;
      tip.style.top = `${scroller.offsetTop + at.y + (at.y > scroller.clientHeight - 60 ? -34 : 16)}px`;
    }
    this.on.changed();
  }
}
