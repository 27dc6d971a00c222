// What the timeline shows: a stretch of time, the selected slice, the marked stretch, marks, the name looked for, what is
// folded. Times are ns since the trace's first moment. Events: "move", "select", "mark", "marks", "find", "fold".

const SHORTEST = 20;
const EASE = 55; // ms
const still = window.matchMedia("(prefers-reduced-motion: reduce)");

export class View extends EventTarget {
  #last = 0; // when the last frame of a movement was drawn

  constructor(length, start, end) {
    super();
    this.length = length;
    this.goal = { start, end };
    this.start = start;
    this.end = end;
    this.selected = null; // the detail of a slice
    this.marked = null; // { start, end, tracks: null or numbers }
    this.find = "";
    this.marks = []; // { start, end } in time
    this.folded = new Set(); // places of bands
    this.pinned = new Set(); // places of bands
    this.closed = new Set(); // places of the first bands of processes
    this.pointed = null; // the moment under the pointer, if it is over the rows
  }

  get span() {
    return this.end - this.start;
  }

  get moving() {
    return this.start !== this.goal.start || this.end !== this.goal.end;
  }

  show(start, end, atOnce = false) {
    const span = Math.min(Math.max(end - start, SHORTEST), Math.max(this.length, SHORTEST));
    const low = Math.min(Math.max((start + end - span) / 2, 0), Math.max(this.length - span, 0));
    const wasMoving = this.moving;
    this.goal = { start: low, end: low + span };
    if (atOnce || still.matches) this.#arrive();
    else if (!wasMoving && this.moving) {
      this.#last = performance.now();
      requestAnimationFrame((now) => this.#step(now));
    }
    this.tell("move");
  }

  // Makes the stretch `factor` times as long; the moment `at` stays where it is.
  zoom(factor, at = (this.goal.start + this.goal.end) / 2, atOnce = false) {
    const before = this.goal.end - this.goal.start;
    const span = Math.min(Math.max(before * factor, SHORTEST), Math.max(this.length, SHORTEST));
    const start = at - ((at - this.goal.start) * span) / before;
    this.show(start, start + span, atOnce);
  }

  // Moves by a share of the stretch.
  pan(share, atOnce = false) {
    const by = share * (this.goal.end - this.goal.start);
    this.show(this.goal.start + by, this.goal.end + by, atOnce);
  }

  // Shows a slice with as much around it again; with `near`, only where it is out of sight or too small to see.
  showSlice({ start, duration }, near = false) {
    const span = this.goal.end - this.goal.start;
    const end = start + duration;
    if (near && duration > span / 400 && start < this.goal.end && end > this.goal.start) return;
    const wanted = near && duration > span / 400 && duration < span ? span : Math.max(duration * 2, SHORTEST);
    const middle = start + duration / 2;
    this.show(middle - wanted / 2, middle + wanted / 2);
  }

  set(name, what, value) {
    this[what] = value;
    this.tell(name);
  }

  tell(name) {
    this.dispatchEvent(new Event(name));
  }

  #arrive() {
    this.start = this.goal.start;
    this.end = this.goal.end;
  }

  #step(now) {
    const part = 1 - Math.exp(-Math.max(now - this.#last, 0) / EASE);
    this.#last = now;
    this.start += (this.goal.start - this.start) * part;
    this.end += (this.goal.end - this.end) * part;
    const left = Math.max(Math.abs(this.goal.start - this.start), Math.abs(this.goal.end - this.end));
    if (left < (this.goal.end - this.goal.start) / 2000) this.#arrive();
    else requestAnimationFrame((next) => this.#step(next));
    this.tell("move");
  }
}
