// Puts a flame graph into every element of class "flame": fetches its boxes, ties canvas, keys, search and address.
// The address keeps what is zoomed into (?flame), selected (?flame-box) and looked for (?flame-find).

import { themeColours } from "../timeline/colours.js";
import { Boxes } from "./boxes.js";
import { line, percent, show } from "./detail.js";
import { ROW, Rows } from "./rows.js";

const EASE = 60; // ms
const PAUSE = 200; // ms between writes of the address
const still = window.matchMedia("(prefers-reduced-motion: reduce)");

class FlameGraph {
  #isScheduled = false;
  #last = 0;

  constructor(panel, boxes, name) {
    Object.assign(this, { panel, boxes, name });
    [this.scroller, this.tip, this.status, this.detail, this.note] = [".flame-rows", ".tip", "[role=status]", ".flame-detail", ".flame-note"].map((each) => panel.querySelector(each));
    [this.form, this.input, this.output] = ["form", "input", "output"].map((each) => panel.querySelector(each));
    this.rows = new Rows(panel.querySelector("canvas"), boxes);
    this.found = [];
    this.#paint();
    this.#restore();
    this.#listen();
    new ResizeObserver(() => this.redraw()).observe(this.rows.canvas);
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#paint());
    this.note.textContent = this.#said();
    this.rows.canvas.style.height = `${(boxes.deepest + 1) * ROW}px`;
    this.redraw();
  }

  #said() {
    const { boxes } = this;
    const left = boxes.left_out ? `; ${boxes.left_out.toLocaleString("en")} too narrow to be drawn` : "";
    const colours = boxes.isDifference ? "; as wide as the mean of both, orange took more, green less" : "";
    return `${boxes.size.toLocaleString("en")} boxes${left}${colours}`;
  }

  #paint() {
    const style = getComputedStyle(document.documentElement);
    const [worse, better, unchanged] = ["--flame-worse", "--flame-better", "--flame-unchanged"].map((each) => style.getPropertyValue(each).trim());
    this.rows.colours = { ...themeColours(), worse, better, unchanged };
    this.redraw();
  }

  redraw() {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    delete this.panel.dataset.settled;
    this.#last ||= performance.now();
    requestAnimationFrame((now) => this.#frame(now));
  }

  #frame(now) {
    this.#isScheduled = false;
    const { rows } = this;
    const [from, to] = rows.goal;
    const part = still.matches ? 1 : 1 - Math.exp(-Math.max(now - this.#last, 0) / EASE);
    this.#last = now;
    rows.from += (from - rows.from) * part;
    rows.to += (to - rows.to) * part;
    if (Math.abs(from - rows.from) + Math.abs(to - rows.to) < (to - from) / 1000) [rows.from, rows.to] = [from, to];
    rows.draw();
    if (rows.from !== from || rows.to !== to) return this.redraw();
    this.#last = 0;
    this.panel.dataset.settled = "true";
    performance.mark("flame-drawn");
    this.panel.dispatchEvent(new Event("settled"));
  }

  // Zooms into a box, -1 for all.
  zoom(box) {
    this.rows.zoomed = box;
    if (box >= 0 && !this.boxes.isIn(this.rows.selected, box)) this.select(box);
    this.#keep();
    this.redraw();
  }

  select(box) {
    const { boxes, rows } = this;
    rows.selected = box;
    if (box >= 0 && !boxes.isIn(box, rows.zoomed) && !boxes.isIn(rows.zoomed, box)) rows.zoomed = -1;
    show(this.detail, boxes, box, this.panel.dataset.timeline ?? "", { zoom: (each) => this.zoom(each), select: (each) => this.select(each) });
    if (box >= 0) {
      this.status.textContent = line(boxes, box);
      const y = boxes.depth[box] * ROW;
      const { scrollTop, clientHeight } = this.scroller;
      if (y < scrollTop) this.scroller.scrollTop = y;
      else if (y + ROW > scrollTop + clientHeight) this.scroller.scrollTop = y + ROW - clientHeight;
    }
    this.#keep();
    this.redraw();
  }

  find(text) {
    const { found, matches, share } = this.boxes.find(text);
    this.found = found;
    this.rows.matches = text ? matches : null;
    this.output.textContent = !text ? "" : found.length ? `${found.length.toLocaleString("en")}, ${percent(share)}` : "none";
    this.#keep();
    this.redraw();
  }

  // The next (1) or previous (-1) box that was found.
  step(by) {
    if (!this.found.length) return;
    const place = this.found.indexOf(this.rows.selected);
    const next = place < 0 ? (by > 0 ? 0 : this.found.length - 1) : (place + by + this.found.length) % this.found.length;
    this.select(this.found[next]);
  }

  #listen() {
    const { rows, input } = this;
    const at = (event) => rows.at(event.offsetX, event.offsetY);
    rows.canvas.addEventListener("pointermove", (event) => this.#hover(at(event), event));
    rows.canvas.addEventListener("pointerleave", () => this.#hover(-1));
    rows.canvas.addEventListener("click", (event) => this.select(at(event)));
    rows.canvas.addEventListener("dblclick", (event) => this.zoom(at(event)));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.step(1);
    });
    input.addEventListener("input", () => this.find(input.value.trim()));
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.shiftKey) {
        event.preventDefault();
        this.step(-1);
      } else if (event.key === "Escape") {
        event.preventDefault();
        this.scroller.focus();
      }
    });
    this.form.querySelector("[data-step='-1']").addEventListener("click", () => this.step(-1));
    const acts = { out: () => this.#out(), all: () => this.zoom(-1) };
    for (const button of this.panel.querySelectorAll("[data-act]")) button.addEventListener("click", acts[button.dataset.act]);
    this.panel.addEventListener("keydown", (event) => this.#key(event));
  }

  #out() {
    const { zoomed } = this.rows;
    if (zoomed >= 0) this.zoom(this.boxes.parent[zoomed]);
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, button, a, select")) return;
    const { boxes, rows } = this;
    const box = rows.selected;
    const beside = box < 0 ? boxes.tops : boxes.beside(box);
    const place = beside.indexOf(box);
    const goes = {
      ArrowDown: () => this.select(box < 0 ? (boxes.tops[0] ?? -1) : (boxes.inner[box][0] ?? box)),
      ArrowUp: () => box >= 0 && boxes.parent[box] >= 0 && this.select(boxes.parent[box]),
      ArrowRight: () => this.select(beside[Math.min(place + 1, beside.length - 1)] ?? -1),
      ArrowLeft: () => this.select(beside[Math.max(place - 1, 0)] ?? -1),
      Enter: () => box >= 0 && this.zoom(box),
      Backspace: () => this.#out(),
      0: () => this.zoom(-1),
      "/": () => this.input.select(),
      n: () => this.step(1),
      N: () => this.step(-1),
      Escape: () => (rows.selected >= 0 ? this.select(-1) : this.#clear()),
    };
    if (!goes[event.key]) return;
    event.preventDefault();
    goes[event.key]();
  }

  #clear() {
    this.input.value = "";
    this.find("");
  }

  #hover(box, event) {
    const { rows, tip, scroller } = this;
    rows.canvas.style.cursor = box < 0 ? "" : "pointer";
    tip.hidden = box < 0;
    if (box >= 0) {
      tip.textContent = line(this.boxes, box);
      tip.style.left = `${Math.max(Math.min(event.offsetX + 14, scroller.clientWidth - tip.offsetWidth - 4), 0)}px`;
      tip.style.top = `${scroller.offsetTop + event.offsetY - scroller.scrollTop + 18}px`;
    }
    if (box === rows.hovered) return;
    rows.hovered = box;
    this.redraw();
  }

  // ---- the address

  #keep() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#write(), PAUSE);
  }

  #write() {
    const query = new URLSearchParams(window.location.search);
    const { zoomed, selected } = this.rows;
    const parts = { "": zoomed < 0 ? "" : zoomed, "-box": selected < 0 ? "" : selected, "-find": this.input.value.trim() };
    for (const [end, value] of Object.entries(parts)) {
      if (value === "") query.delete(this.name + end);
      else query.set(this.name + end, value);
    }
    const text = query.toString();
    history.replaceState(history.state, "", `${window.location.pathname}${text && `?${text}`}${window.location.hash}`);
    this.panel.dataset.kept = text;
  }

  #restore() {
    const query = new URLSearchParams(window.location.search);
    const number = (end) => {
      const text = query.get(this.name + end) ?? "";
      return /^\d+$/.test(text) && Number(text) < this.boxes.size ? Number(text) : -1;
    };
    const [zoomed, selected] = [number(""), number("-box")];
    this.input.value = query.get(`${this.name}-find`) ?? "";
    if (this.input.value) this.find(this.input.value);
    if (selected >= 0) this.select(selected);
    this.rows.zoomed = zoomed;
    [this.rows.from, this.rows.to] = this.rows.goal;
  }
}

function sayEmpty(panel) {
  const said = document.createElement("p");
  Object.assign(said, { className: "empty", textContent: panel.dataset.empty });
  panel.replaceChildren(said);
  panel.dataset.settled = "true";
  panel.dispatchEvent(new Event("settled"));
}

async function begin(panel, place) {
  const note = panel.querySelector(".flame-note");
  try {
    const response = await fetch(panel.dataset.address);
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error);
    const boxes = new Boxes(answer);
    panel.classList.add("is-read");
    if (boxes.size) new FlameGraph(panel, boxes, place ? `flame${place + 1}` : "flame");
    else sayEmpty(panel);
  } catch (error) {
    note.textContent = `The flame graph could not be read (${error.message}); reload the page to try again.`;
  }
}

document.querySelectorAll(".flame[data-address]").forEach(begin);
