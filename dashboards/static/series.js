// Two points of a series that are clicked lead to the comparison of their commits; Escape forgets the first, and shows
// the whole series again.

const listening = new WeakSet(); // figures, which may be drawn more than once
let first = null;

function forget() {
  if (!first) return;
  Plotly.relayout(first.div, { shapes: first.shapes });
  first.said.textContent = first.hint;
  first = null;
}

// A line through the first of the two, and what to do next.
function remember(div, { x, sha }) {
  const said = document.getElementById(div.dataset.said);
  first = { div, x, sha, said, hint: said.textContent, shapes: div.layout.shapes ?? [] };
  const line = { type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1, line: { width: 2, dash: "dot" } };
  Plotly.relayout(div, { shapes: [...first.shapes, line] });
  said.textContent = `${sha.slice(0, 8)} is chosen: click another commit to compare the two, or press Escape.`;
}

function chosen(div, { points }) {
  const point = points.find(({ customdata }) => customdata);
  if (!point) return;
  const second = { x: point.x, sha: point.customdata[1] };
  if (!first || first.div !== div) {
    forget();
    return remember(div, second);
  }
  if (first.sha === second.sha) return forget();
  const [base, head] = first.x < second.x ? [first, second] : [second, first];
  const { project } = div.closest("[data-project]").dataset;
  location.assign(`/compare?${new URLSearchParams({ project, base: base.sha, head: head.sha })}`);
}

document.addEventListener("drawn", ({ target }) => {
  if (!target.dataset.said || listening.has(target)) return;
  listening.add(target);
  const { xaxis, yaxis } = target.layout;
  const whole = { "xaxis.range": [...xaxis.range], "yaxis.range": [...yaxis.range] };
  target.on("plotly_click", (event) => chosen(target, event));
  document.addEventListener("keydown", ({ key }) => key === "Escape" && Plotly.relayout(target, whole));
});
document.addEventListener("keydown", ({ key }) => key === "Escape" && forget());
