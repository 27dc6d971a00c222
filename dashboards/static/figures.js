// Draws every figure of the page with plotly, in the reader's light or dark mode, and moves zoomable ones by key and button.

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const templates = JSON.parse(document.getElementById("plot-templates").textContent);
const figures = [...document.querySelectorAll("[data-figure]")].map((div) => ({
  div,
  ...JSON.parse(document.getElementById(div.dataset.figure).textContent),
}));

function layoutOf(figure) {
  return { ...figure.layout, template: dark.matches ? templates.dark : templates.light };
}

async function draw(figure) {
  const config = {
    displayModeBar: false,
    plotlyServerURL: "",
    responsive: true,
    scrollZoom: figure.div.hasAttribute("data-zoom"),
  };
  await Plotly.newPlot(figure.div, figure.data, layoutOf(figure), config);
  figure.div.dataset.drawn = "true";
}

function clamp(range, limits) {
  const width = Math.min(range[1] - range[0], limits[1] - limits[0]);
  const low = Math.min(Math.max(range[0], limits[0]), limits[1] - width);
  return [low, low + width];
}

function move(div, act, limits) {
  const [low, high] = div._fullLayout.xaxis.range;
  const width = high - low;
  const middle = (low + high) / 2;
  const ranges = {
    in: [middle - width / 4, middle + width / 4],
    out: [middle - width, middle + width],
    left: [low - width / 4, high - width / 4],
    right: [low + width / 4, high + width / 4],
    all: limits,
  };
  return Plotly.relayout(div, { "xaxis.range": clamp(ranges[act], limits) });
}

const KEYS = { w: "in", s: "out", a: "left", d: "right", ArrowLeft: "left", ArrowRight: "right", 0: "all" };

function makeZoomable({ div, layout }) {
  const limits = layout.xaxis.range;
  div.addEventListener("keydown", (event) => {
    const act = KEYS[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    move(div, act, limits);
  });
  for (const button of document.querySelectorAll(`[data-for="${div.id}"] [data-act]`)) {
    button.addEventListener("click", () => move(div, button.dataset.act, limits));
  }
}

for (const figure of figures) {
  await draw(figure);
  if (figure.div.hasAttribute("data-zoom")) makeZoomable(figure);
}
dark.addEventListener("change", () => figures.forEach((figure) => Plotly.react(figure.div, figure.data, layoutOf(figure))));
