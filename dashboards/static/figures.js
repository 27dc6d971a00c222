// Draws every figure of the page with plotly, in the reader's light or dark mode.

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
  const config = { displayModeBar: false, plotlyServerURL: "", responsive: true };
  await Plotly.newPlot(figure.div, figure.data, layoutOf(figure), config);
  figure.div.dataset.drawn = "true";
}

for (const figure of figures) await draw(figure);
dark.addEventListener("change", () => figures.forEach((figure) => Plotly.react(figure.div, figure.data, layoutOf(figure))));
