// The keys of the timeline, as in Perfetto.

const MOVES = {
  w: (view) => view.zoom(0.5),
  s: (view) => view.zoom(2),
  a: (view) => view.pan(-0.25),
  d: (view) => view.pan(0.25),
  "+": (view) => view.zoom(0.5),
  "-": (view) => view.zoom(2),
  ArrowLeft: (view) => view.pan(-0.25),
  ArrowRight: (view) => view.pan(0.25),
  0: (view) => view.show(0, view.length),
};

// `acts` are functions by key: f, m, comma and the like.
export function listen(panel, view, acts) {
  panel.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
    const key = event.key.length === 1 && !acts[event.key] ? event.key.toLowerCase() : event.key;
    const isPressing = event.target.matches("button, a") && (key === "Enter" || key === " ");
    if (isPressing || !(MOVES[key] ?? acts[key])) return;
    event.preventDefault();
    if (MOVES[key]) MOVES[key](view);
    else acts[key]();
  });
}
