// Draws the rows of the timeline on a canvas, and says which slice is at a point of it.

import { inkOn, prepared } from "./colours.js";
import { rowAt } from "./layout.js";
import { packed, Strips } from "./strips.js";
import { amount } from "./units.js";

const LETTER = 6.1; // px, on average
const SMALLEST_TEXT = 28;
const WIDE = 3; // px, beyond which a slice is a rectangle of its own
const NEAR = 3; // px beside a slice that still hit it

export class Rows {
  constructor(canvas, view, tiles, bands) {
    this.canvas = canvas;
    this.bands = bands;
    this.view = view;
    this.tiles = tiles;
    this.layout = { bands: [], rows: [], headings: [], height: 0 };
    this.width = 0; // px
    this.top = 0; // how far the rows are scrolled
    this.hovered = null;
    this.strips = new Strips();
    this.colours = {};
  }

  // Takes the width of the canvas, which is not asked for with each slice: that takes longer than to draw one.
  measure() {
    this.width = this.canvas.clientWidth;
  }

  x(time) {
    return ((time - this.view.start) / this.view.span) * this.width;
  }

  time(x) {
    return this.view.start + (x / this.width) * this.view.span;
  }

  draw() {
    const { context, width, height, ratio } = prepared(this.canvas);
    Object.assign(this, { context, width, ratio });
    context.font = `11px ${this.colours.font}`;
    context.textBaseline = "middle";
    this.#drawGround(width, height);
    const shown = this.layout.rows.map((row, number) => ({ ...row, number })).filter((row) => row && this.#isIn(row, height));
    const pieces = this.tiles.pieces(this.view.start, this.view.end, width);
    this.strips.begin(this.canvas.width, shown.length);
    pieces.forEach((piece, place) => {
      shown.forEach((row, line) => {
        if (piece.tile.curves.has(row.number)) this.#drawCurve(piece, row);
        const entries = this.#entries(piece, row.number, place === 0);
        if (entries) this.#drawRow(piece.tile, row, line, ...entries);
      });
    });
    this.strips.draw(context, width);
    this.#drawCurveHeads(shown, pieces);
    this.#drawMarks(height);
    this.#drawMark(height);
    this.#drawOutline(this.hovered, this.colours.muted, 1);
    if (this.view.selected) {
      this.#drawArrows();
      this.#drawOutline(this.view.selected.slice, this.colours.ink, 2);
    }
  }

  // The slice at a point: { name, word, start, end, count, busy, slice }, null where there is none.
  at(x, y) {
    const row = rowAt(this.layout, y + this.top);
    if (row < 0) return null;
    const time = this.time(x);
    const reach = (NEAR / this.width) * this.view.span;
    let best = null;
    this.tiles.pieces(this.view.start, this.view.end, this.width).forEach((piece, place) => {
      const { tile } = piece;
      const [first, last] = this.#entries(piece, row, place === 0) ?? [0, 0];
      for (let at = Math.max(lowerBound(tile.begin, time, first, last) - 1, first); at < last; at++) {
        const distance = Math.max(tile.begin[at] - time, time - tile.end[at], 0);
        if (distance <= reach && (!best || distance < best.distance)) best = { distance, tile, at };
        if (tile.begin[at] > time + reach) break;
      }
    });
    if (!best) return null;
    const { tile, at } = best;
    const look = tile.look[at];
    return {
      row,
      name: tile.names[look],
      word: tile.words[look],
      start: tile.begin[at],
      duration: tile.end[at] - tile.begin[at],
      count: tile.count[at],
      busy: tile.busy[at],
      slice: tile.slice[at],
    };
  }

  // The value of a counter at a point: { value }, null where there is none.
  valueAt(x, y) {
    const row = rowAt(this.layout, y + this.top);
    const time = this.time(x);
    let value = null;
    for (const { tile, from } of this.tiles.pieces(this.view.start, this.view.end, this.width)) {
      const curve = tile.curves.get(row);
      if (!curve || from > time) continue;
      const point = lowerBound(curve.time, time, 0, curve.time.length) - 1;
      if (point >= 0) value = curve.last[point];
    }
    return value === null ? null : { row, value };
  }

  #isIn(row, height) {
    return row.y + row.height >= this.top && row.y <= this.top + height;
  }

  // Which entries of a row of a piece are drawn: those that begin in it, and in the first piece those that reach into it.
  #entries({ tile, from, to }, row, isFirst) {
    const places = tile.places.get(row);
    if (!places) return null;
    let first = lowerBound(tile.begin, Math.max(from, this.view.start), ...places);
    const last = lowerBound(tile.begin, Math.min(to, this.view.end), first, places[1]);
    const before = first - 1;
    if (before >= places[0] && tile.end[before] > this.view.start && (isFirst || tile.begin[before] >= from)) first--;
    return first < last ? [first, last] : null;
  }

  #drawGround(width, height) {
    const { context, colours, layout, top } = this;
    layout.bands.filter(Boolean).forEach((band, place) => {
      if (place % 2) return;
      context.fillStyle = colours.raised;
      context.fillRect(0, band.y - top - 3, width, band.height + 6);
    });
    context.fillStyle = colours.grid;
    for (const { y } of layout.headings) context.fillRect(0, y - top, width, 1);
    if (height > layout.height - top) context.clearRect(0, layout.height - top, width, height);
  }

  // The entries of a row: wide ones at once, the others into the strip of that line.
  #drawRow(tile, row, line, first, last) {
    const { context, view, width, ratio, strips } = this;
    const matches = this.#matches(tile);
    tile.packed ??= tile.colours.map(packed);
    const scale = width / view.span;
    const pixel = 1 / ratio;
    const place = { y: row.y - this.top, height: row.height };
    for (let at = first; at < last; at++) {
      const look = tile.look[at];
      const x0 = Math.max((tile.begin[at] - view.start) * scale, -2);
      const x1 = Math.min((tile.end[at] - view.start) * scale, width + 2);
      const share = tile.count[at] > 1 ? tile.busy[at] / Math.max(tile.end[at] - tile.begin[at], 1) : 1;
      const alpha = (0.25 + 0.75 * (Math.ceil(share * 4) / 4)) * (matches && !matches[look] ? 0.22 : 1);
      if (x1 - x0 <= WIDE) {
        strips.fill(line, place, Math.round(x0 * ratio), Math.round(x1 * ratio), tile.packed[look], alpha);
        continue;
      }
      const left = Math.round(x0 * ratio) / ratio;
      context.globalAlpha = alpha;
      context.fillStyle = tile.colours[look];
      context.fillRect(left, place.y, Math.max(Math.round(x1 * ratio) / ratio - pixel - left, pixel), place.height);
      const ink = alpha < 0.3 ? this.colours.muted : inkOn(tile.colours[look]);
      if (x1 - x0 > SMALLEST_TEXT) this.#drawText(tile.names[look], ink, Math.max(x0, 0), x1, place.y + place.height / 2);
    }
    context.globalAlpha = 1;
  }

  #drawText(text, ink, x0, x1, y) {
    const room = Math.floor((Math.min(x1, this.width) - x0 - 8) / LETTER);
    if (room < 3) return;
    this.context.globalAlpha = 1;
    this.context.fillStyle = ink;
    const short = text.length > room ? `${text.slice(0, room - 1)}…` : text;
    this.context.fillText(short, x0 + 4, y + 0.5, x1 - x0 - 6);
  }

  #drawCurve({ tile, from, to }, { y, height, number, band }) {
    const { context, colours } = this;
    const { time, high, last } = tile.curves.get(number);
    const floor = y - this.top + height;
    const top = (value) => floor - (Math.max(value, 0) / (this.bands[band].highest || 1)) * (height - 4);
    const [low, end] = [Math.max(from, this.view.start), Math.min(to, this.view.end)];
    const first = Math.max(lowerBound(time, low, 0, time.length) - 1, 0);
    context.beginPath();
    context.moveTo(this.x(Math.max(time[first], low)), floor);
    for (let at = first; at < time.length && time[at] < end; at++) {
      const x0 = this.x(Math.max(time[at], low));
      const x1 = Math.max(this.x(Math.min(time[at + 1] ?? end, end)), x0);
      context.lineTo(x0, top(high[at]));
      context.lineTo(Math.min(this.x(time[at] + tile.bin), x1), top(high[at]));
      context.lineTo(Math.min(this.x(time[at] + tile.bin), x1), top(last[at]));
      context.lineTo(x1, top(last[at]));
    }
    context.lineTo(this.x(end), floor);
    context.fillStyle = colours.accent;
    context.globalAlpha = 0.35;
    context.fill();
    context.globalAlpha = 1;
  }

  #drawCurveHeads(shown, pieces) {
    const { context, colours } = this;
    for (const { y, number, band } of shown) {
      if (!pieces.some(({ tile }) => tile.curves.has(number))) continue;
      const text = `up to ${amount(this.bands[band].highest, this.bands[band].bytes)}`;
      context.globalAlpha = 0.7;
      context.fillStyle = colours.panel;
      context.fillRect(2, y - this.top + 1, context.measureText(text).width + 6, 15);
      context.globalAlpha = 1;
      context.fillStyle = colours.ink;
      context.fillText(text, 5, y - this.top + 9);
    }
  }

  #drawMarks(height) {
    const { context, colours } = this;
    context.fillStyle = colours.accent;
    for (const { start, end } of this.view.marks) {
      const [x0, x1] = [this.x(start), this.x(end)];
      if (x1 < 0 || x0 > this.width) continue;
      context.globalAlpha = 0.08;
      context.fillRect(x0, 0, x1 - x0, height);
      context.globalAlpha = 0.7;
      for (const x of new Set([Math.round(x0), Math.round(x1)])) context.fillRect(x, 0, 1, height);
    }
    context.globalAlpha = 1;
  }

  #drawMark(height) {
    const { marked } = this.view;
    if (!marked) return;
    const { context, colours } = this;
    const [x0, x1] = [this.x(marked.start), this.x(marked.end)];
    const bands = this.layout.bands.filter((band, place) => band && (!marked.bands || marked.bands.includes(place)));
    context.globalAlpha = 0.16;
    context.fillStyle = colours.accent;
    for (const band of bands) context.fillRect(x0, band.y - this.top - 3, Math.max(x1 - x0, 1), band.height + 6);
    context.globalAlpha = 1;
    for (const x of [x0, x1]) context.fillRect(Math.round(x), 0, 1, height);
  }

  #drawOutline(slice, colour, wide) {
    const row = slice && this.layout.rows[slice.row];
    if (!row) return;
    const x0 = Math.max(this.x(slice.start), -4);
    const x1 = Math.min(Math.max(this.x(slice.start + slice.duration), x0 + 2), this.width + 4);
    this.context.strokeStyle = colour;
    this.context.lineWidth = wide;
    this.context.strokeRect(x0 - wide / 2, row.y - this.top - wide / 2, x1 - x0 + wide - 1, row.height + wide);
  }

  #drawArrows() {
    const { slice, causes, effects } = this.view.selected;
    causes.forEach((arrow) => this.#drawArrow(arrow.slice, slice));
    effects.forEach((arrow) => this.#drawArrow(slice, arrow.slice));
  }

  // From the end of a slice, or where the other begins if that is earlier, to the begin of the other.
  #drawArrow(source, target) {
    const [from, to] = [this.layout.rows[source.row], this.layout.rows[target.row]];
    if (!from || !to) return;
    const { context, colours } = this;
    const x0 = this.x(Math.min(source.start + source.duration, Math.max(target.start, source.start)));
    const x1 = this.x(target.start);
    const [y0, y1] = [from.y - this.top + from.height / 2, to.y - this.top + to.height / 2];
    const bend = Math.min(Math.max(Math.abs(x1 - x0) / 2, 24), 160);
    context.strokeStyle = context.fillStyle = colours.accent;
    context.lineWidth = 3.5;
    context.strokeStyle = colours.panel;
    for (let pass = 0; pass < 2; pass++) {
      context.beginPath();
      context.moveTo(x0, y0);
      context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 5, y1);
      context.stroke();
      context.lineWidth = 1.6;
      context.strokeStyle = colours.accent;
    }
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x1 - 7, y1 - 4);
    context.lineTo(x1 - 7, y1 + 4);
    context.fill();
  }

  // Which looks of a tile have the name that is looked for; null where none is.
  #matches(tile) {
    const wanted = this.view.find.toLowerCase();
    if (!wanted) return null;
    if (tile.matchedFor !== wanted) {
      tile.matches = tile.names.map((name) => name.toLowerCase().includes(wanted));
      tile.matchedFor = wanted;
    }
    return tile.matches;
  }
}

// The first place in [first, last) of ascending `values` that holds at least `wanted`.
function lowerBound(values, wanted, first, last) {
  while (first < last) {
    const middle = (first + last) >> 1;
    if (values[middle] < wanted) first = middle + 1;
    else last = middle;
  }
  return first;
}
