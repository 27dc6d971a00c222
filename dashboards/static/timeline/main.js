// The timeline of the trace page: reads what the page says, and ties view, tiles, canvases and panels together.

import { Address, read } from "./address.js";
import { themeColours } from "./colours.js";
import { Details } from "./details.js";
import { listen } from "./keys.js";
import { processOf } from "./layout.js";
import { Marks } from "./marks.js";
import { Pane } from "./pane.js";
import { Overview, Ruler } from "./ruler.js";
import { Search } from "./search.js";
import { Tiles } from "./tiles.js";
import { Totals } from "./totals.js";
import { duration } from "./units.js";
import { View } from "./view.js";

const data = JSON.parse(document.getElementById("timeline-data").textContent);
const panel = document.getElementById("timeline-panel");
const [scroller, kept, tip, status, fault] = [".rows", ".pinned", ".tip", "[role=status]", ".fault"].map((name) =>
  panel.querySelector(name),
);
const canvasOf = (name) => panel.querySelector(`canvas.${name}`);

const asked = read(window.location.search, data.length);
const first = asked.stretch ?? data.window;
const view = new View(data.length, first.start, first.end);
for (const set of ["folded", "pinned", "closed"]) asked[set].forEach((place) => view[set].add(place));
view.marks = asked.marks;
view.find = asked.find;
view.marked = asked.marked;

const tiles = new Tiles(data.address, data.length);
const acting = { select, leave: () => choose(null), mark: (start, end, bands) => mark({ start, end, bands }), changed: redraw };
const [all, pinned] = [scroller, kept].map((element) => new Pane(element, view, tiles, data.bands, tip, acting));
const { rows } = all;
const ruler = new Ruler(canvasOf("ruler"), view, data.steps);
const overview = new Overview(canvasOf("overview"), view, tiles, data.bands.reduce((sum, band) => sum + band.rows, 0));

async function get(address) {
  try {
    const response = await fetch(address);
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error);
    fault.textContent = "";
    return answer;
  } catch (error) {
    fault.textContent = `The server gave no answer (${error.message}); reload the page when it runs again.`;
    return null;
  }
}

// ---- drawing

const address = new Address(view, redraw);
let isScheduled = false;

function redraw() {
  if (isScheduled) return;
  isScheduled = true;
  delete panel.dataset.settled;
  requestAnimationFrame(() => {
    isScheduled = false;
    for (const drawn of [all, ruler, overview]) drawn.draw();
    if (!kept.hidden) pinned.draw();
    const isWhole = !view.moving && tiles.has(view.start, view.end, rows.width);
    if (isWhole && address.isWritten) settle();
  });
}

// For who waits until the timeline is drawn: figures, tests.
function settle() {
  panel.dataset.settled = "true";
  performance.mark("timeline-drawn");
  panel.dispatchEvent(new Event("settled"));
}

function fetchTiles() {
  if (rows.width) tiles.want(view.goal.start, view.goal.end, rows.width);
}

function arrange() {
  all.arrange();
  kept.hidden = !view.pinned.size;
  pinned.arrange(view.pinned);
  redraw();
}

function paint() {
  for (const drawn of [rows, pinned.rows, ruler, overview]) drawn.colours = themeColours();
  redraw();
}

view.addEventListener("move", () => {
  fetchTiles();
  redraw();
});
for (const name of ["select", "mark", "marks", "find"]) view.addEventListener(name, redraw);
view.addEventListener("fold", arrange);
tiles.addEventListener("tile", () => {
  fault.textContent = "";
  redraw();
});
tiles.addEventListener("fault", ({ detail }) => (fault.textContent = `The timeline could not be read (${detail}); move to try again.`));
scroller.addEventListener("scroll", redraw);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
new ResizeObserver(() => {
  rows.measure();
  fetchTiles();
  redraw();
}).observe(rows.canvas);

// ---- the selected slice

const details = new Details(panel.querySelector(".slice"), { go: (slice, near) => select(slice, near) });
let selecting = 0;

// Shows everything about a slice, and moves the view to it unless `near` says that it may stay where it can be seen.
async function select(slice, near = true) {
  const own = ++selecting;
  reveal(slice, near);
  const detail = await get(`${data.address}/slices/${slice.slice}`);
  if (detail && own === selecting) choose(detail);
}

function choose(detail) {
  details.show(detail);
  panel.classList.toggle("has-slice", Boolean(detail));
  view.set("select", "selected", detail);
  if (detail) status.textContent = `${detail.slice.name}, ${duration(detail.slice.duration)}, ${detail.word}, on ${detail.track}`;
}

function reveal(slice, near) {
  view.showSlice(slice, near);
  if (!all.layout.rows[slice.row]) {
    const place = data.bands.findIndex(({ first_row: row, rows: count }) => slice.row >= row && slice.row < row + count);
    view.folded.delete(place);
    view.closed.delete(processOf(data.bands, place));
    view.tell("fold");
  }
  all.reveal(slice.row);
}

function forget() {
  selecting++;
  if (view.marked) mark(null);
  else if (view.selected) choose(null);
  else search.clear();
}

const marks = new Marks(panel.querySelector(".marks"), view);

// ---- the marked stretch

const totals = new Totals(panel.querySelector(".totals"), {
  show: () => view.show(view.marked.start, view.marked.end),
  forget: () => mark(null),
});
let summing = 0;

function mark(marked) {
  view.set("mark", "marked", marked);
  clearTimeout(summing);
  panel.classList.toggle("has-totals", Boolean(marked));
  if (marked) summing = setTimeout(sum, 120);
  else totals.show(null);
}

async function sum() {
  const marked = view.marked;
  const query = new URLSearchParams({ start: marked.start, end: marked.end });
  const bands = marked.bands ?? [];
  bands.filter((place) => data.bands[place] && !data.bands[place].counter).forEach((place) => query.append("track", data.bands[place].track));
  const answer = await get(`${data.address}/totals?${query}`);
  if (answer && view.marked === marked) totals.show(answer);
}

const markView = () => mark({ start: Math.round(view.goal.start), end: Math.round(view.goal.end), bands: null });

function markSlice() {
  const slice = view.selected?.slice;
  if (!slice?.duration) return markView();
  mark({ start: slice.start, end: slice.start + slice.duration, bands: null });
}

// ---- pointer, keys, buttons

function dragOn(canvas, act) {
  let from = null;
  const at = (event) => event.offsetX;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    canvas.setPointerCapture(event.pointerId);
    act((from = at(event)), from, event.offsetY);
  });
  canvas.addEventListener("pointermove", (event) => from !== null && act(from, at(event), event.offsetY));
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => (from = null));
}

dragOn(overview.canvas, (_, x) => {
  const middle = (x / overview.canvas.clientWidth) * data.length;
  view.show(middle - view.span / 2, middle + view.span / 2, true);
});
dragOn(ruler.canvas, (from, x) => {
  const [start, end] = [from, x].map((at) => Math.max(Math.round(rows.time(at)), 0)).sort((a, b) => a - b);
  if (Math.abs(x - from) > 3) mark({ start, end, bands: null });
});
ruler.canvas.addEventListener("click", ({ offsetX, offsetY }) => {
  const step = view.marked && panel.classList.contains("has-totals") ? null : ruler.stepAt(offsetX, offsetY);
  if (step) view.show(step[1], step[1] + step[2]);
});

const flow = (side) => view.selected?.[side][0] && select(view.selected[side][0].slice);
const beside = (side) => view.selected?.[side] && select(view.selected[side]);
const acts = {
  f: () => view.selected && select(view.selected.slice, false),
  m: () => marks.toggle(),
  n: () => marks.step(1),
  N: () => marks.step(-1),
  r: markSlice,
  t: markView,
  "[": () => flow("causes"),
  "]": () => flow("effects"),
  ",": () => beside("before"),
  ".": () => beside("after"),
  "/": () => search.input.select(),
  Escape: forget,
  ArrowUp: () => scroller.scrollBy(0, -60),
  ArrowDown: () => scroller.scrollBy(0, 60),
};
listen(panel, view, acts);
const buttons = {
  in: () => view.zoom(0.5),
  out: () => view.zoom(2),
  left: () => view.pan(-0.25),
  right: () => view.pan(0.25),
  all: () => view.show(0, data.length),
  sum: markView,
};
for (const button of panel.querySelectorAll("[data-act]")) button.addEventListener("click", buttons[button.dataset.act]);

// ---- search

const search = new Search(panel.querySelector("form.find"), data.address, view, {
  get,
  found: (slice, step) => select(slice, step === 0),
  leave: () => scroller.focus(),
});

// ---- begin

paint();
arrange();
panel.classList.add("is-arranged");
fetchTiles();
if (view.marked) mark(view.marked);
if (asked.slice !== null) {
  get(`${data.address}/slices/${asked.slice}`).then((detail) => {
    if (!detail) return;
    choose(detail);
    if (!asked.stretch) reveal(detail.slice, false);
  });
}
if (asked.find && asked.slice === null && !asked.stretch) search.start(asked.find);
else search.restore(asked.find);
