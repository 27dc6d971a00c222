// Mouse, pen and touch: a drag moves; with Shift, or with the mouse from a free place, it marks; Ctrl and wheel or two
// fingers zoom, a click selects.

const CLICK = 4; // px that a click may move
const WHEEL = 0.0022;

// Calls `on` = { hover, leave, click, open, mark, isFree } with points of the canvas.
export class Pointer {
  #down = new Map(); // by pointer: { x, y } where it is, and where it was pressed
  #act = null; // what a drag does: "move", "mark", "pinch"

  constructor(rows, scroller, view, on) {
    Object.assign(this, { rows, scroller, view, on });
    const { canvas } = rows;
    canvas.addEventListener("pointerdown", (event) => this.#press(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    canvas.addEventListener("pointerup", (event) => this.#release(event));
    canvas.addEventListener("pointercancel", (event) => this.#forget(event));
    canvas.addEventListener("pointerleave", () => on.leave());
    canvas.addEventListener("dblclick", (event) => on.open(this.#at(event)));
    canvas.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
  }

  #at(event) {
    const box = this.rows.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  #press(event) {
    if (event.button) return;
    const at = this.#at(event);
    this.rows.canvas.setPointerCapture(event.pointerId);
    this.#down.set(event.pointerId, { ...at, pressed: at });
    const marks = event.shiftKey || (event.pointerType === "mouse" && this.on.isFree(at));
    this.#act = this.#down.size > 1 ? "pinch" : marks ? "mark" : "move";
    if (event.shiftKey) event.preventDefault(); // no text is selected
  }

  #move(event) {
    const at = this.#at(event);
    const own = this.#down.get(event.pointerId);
    if (!own) return this.on.hover(at);
    const others = [...this.#down.values()].filter((other) => other !== own);
    if (this.#act === "pinch" && others.length) this.#pinch(own, at, others[0]);
    else if (this.#act === "mark") this.#mark(own, at);
    else if (this.#act === "move") this.#drag(own, at, event.pointerType);
    Object.assign(own, at);
  }

  #isDragged(own, at) {
    own.dragged ||= Math.hypot(at.x - own.pressed.x, at.y - own.pressed.y) >= CLICK;
    return own.dragged;
  }

  #mark(own, at) {
    if (this.#isDragged(own, at)) this.on.mark(own.pressed, at);
  }

  #drag(own, at, kind) {
    if (!this.#isDragged(own, at)) return;
    this.on.leave();
    this.view.pan((own.x - at.x) / this.rows.width, true);
    if (kind === "mouse") this.scroller.scrollTop += own.y - at.y;
  }

  #pinch(own, at, other) {
    const before = Math.max(Math.abs(own.x - other.x), 8);
    const after = Math.max(Math.abs(at.x - other.x), 8);
    const middle = this.rows.time((own.x + other.x) / 2);
    this.view.zoom(before / after, middle, true);
    this.view.pan((own.x - at.x) / 2 / this.rows.width, true);
    own.dragged = other.dragged = true;
  }

  #release(event) {
    const own = this.#down.get(event.pointerId);
    const at = this.#at(event);
    const isClick = own && !own.dragged && Math.hypot(at.x - own.pressed.x, at.y - own.pressed.y) < CLICK;
    if (isClick && this.#act !== "pinch") this.on.click(at);
    this.#forget(event);
  }

  #forget(event) {
    this.#down.delete(event.pointerId);
    if (!this.#down.size) this.#act = null;
  }

  #wheel(event) {
    const zooms = event.ctrlKey || event.metaKey;
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (!zooms && Math.abs(sideways) <= Math.abs(event.shiftKey ? 0 : event.deltaY)) return; // the rows scroll
    event.preventDefault();
    const scale = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    if (zooms) this.view.zoom(Math.exp(event.deltaY * scale * WHEEL), this.rows.time(this.#at(event).x), true);
    else this.view.pan((sideways * scale) / this.rows.width, true);
  }
}
