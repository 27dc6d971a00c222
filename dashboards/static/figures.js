// Draws each figure with plotly when it comes near to the window, in the reader's light or dark mode.

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const given = document.getElementById("plot-templates");
const templates = JSON.parse(given.textContent);
let figures = [];
const NEAR = "400px";

function layoutOf(figure) {
  return { ...figure.layout, template: dark.matches ? templates.dark : templates.light };
}

async function draw(figure) {
  await plotly();
  const config = { displayModeBar: false, plotlyServerURL: "", responsive: true };
  if (figure.div.dataset.said) config.doubleClickDelay = 0; // each click chooses a point
  await Plotly.react(figure.div, figure.data, layoutOf(figure), config);
  figure.div.dataset.drawn = "true";
  performance.mark("figure-drawn");
  figure.div.dispatchEvent(new Event("drawn", { bubbles: true }));
}

let started = null;

function plotly() {
  started ??= window.Plotly ? Promise.resolve() : loaded(given.dataset.plotly);
  return started;
}

function loaded(address) {
  return new Promise((resolve, reject) => {
    const script = Object.assign(document.createElement("script"), { src: address, onload: resolve, onerror: reject });
    document.head.append(script);
  });
}

const nearing = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      nearing.unobserve(target);
      draw(figures.find(({ div }) => div === target));
    }
  },
  { rootMargin: NEAR },
);

// Draws the figures in an element.
export function drawIn(element) {
  figures = figures.filter(({ div }) => div.isConnected);
  for (const div of element.querySelectorAll("[data-figure]")) {
    const figure = { div, ...JSON.parse(document.getElementById(div.dataset.figure).textContent) };
    figures.push(figure);
    nearing.observe(div);
  }
}

drawIn(document);

// Draws a figure that came later, in the place of what was drawn there.
export async function show(div, figure) {
  const known = figures.find((each) => each.div === div);
  if (known) Object.assign(known, figure);
  else figures.push({ div, ...figure });
  await draw(known ?? figures.at(-1));
}

dark.addEventListener("change", () => {
  const drawn = figures.filter(({ div }) => div.dataset.drawn);
  for (const figure of drawn) Plotly.react(figure.div, figure.data, layoutOf(figure));
});
