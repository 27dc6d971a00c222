// The view in the page's address: ?start&end&slice&find&marked&marks&folded&pinned&closed, so that a copied address shows the same.

const PAUSE = 250; // ms; browsers refuse to write addresses often

export function read(search, length) {
  const query = new URLSearchParams(search);
  const start = numberOf(query.get("start"));
  const end = numberOf(query.get("end"));
  const [from, to, bands] = (query.get("marked") ?? "").split("~");
  return {
    stretch: start !== null && end > start && start < length ? { start, end } : null,
    slice: numberOf(query.get("slice")),
    find: query.get("find") ?? "",
    folded: numbers(query.get("folded")),
    pinned: numbers(query.get("pinned")),
    closed: numbers(query.get("closed")),
    marks: stretches(query.get("marks")),
    marked: numberOf(to) > numberOf(from) ? { start: Number(from), end: Number(to), bands: bands ? numbers(bands) : null } : null,
  };
}

// `onWritten` is called when the address has caught up with the view.
export class Address {
  isWritten = true;

  constructor(view, onWritten) {
    this.view = view;
    this.onWritten = onWritten;
    for (const name of ["move", "select", "mark", "marks", "find", "fold"]) view.addEventListener(name, () => this.#later());
  }

  #later() {
    this.isWritten = false;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#write(), PAUSE);
  }

  #write() {
    const { goal, selected, marked, marks, find, folded, pinned, closed } = this.view;
    const query = new URLSearchParams(window.location.search);
    const parts = {
      start: Number(goal.start.toFixed(2)),
      end: Number(goal.end.toFixed(2)),
      slice: selected?.slice.slice,
      find: find || undefined,
      marked: marked && [marked.start, marked.end, ...(marked.bands ? [marked.bands.join(".")] : [])].join("~"),
      marks: marks.map(({ start, end }) => (end > start ? `${start}~${end}` : start)).join(".") || undefined,
      folded: [...folded].join(".") || undefined,
      pinned: [...pinned].join(".") || undefined,
      closed: [...closed].join(".") || undefined,
    };
    for (const [name, value] of Object.entries(parts)) {
      if (value === undefined || value === null) query.delete(name);
      else query.set(name, value);
    }
    history.replaceState(null, "", `${window.location.pathname}?${query}${window.location.hash}`);
    this.isWritten = true;
    this.onWritten();
  }
}

function numberOf(text) {
  return text !== null && text !== undefined && /^\d+(\.\d+)?$/.test(text) ? Number(text) : null;
}

function numbers(text) {
  return (text ?? "").split(".").filter((each) => /^\d+$/.test(each)).map(Number);
}

function stretches(text) {
  return (text ?? "").split(".").flatMap((each) => {
    const [start, end] = each.split("~").map((part) => (/^\d+$/.test(part) ? Number(part) : null));
    return start === null || end === null ? [] : [{ start, end: end ?? start }];
  });
}
