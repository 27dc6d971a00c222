// Draws each figure with plotly when it comes near to the window, in the reader's light or dark mode; a timeline comes first.

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const given = document.getElementById("plot-templates");
const templates = JSON.parse(given.textContent);
const figures = [...document.querySelectorAll("[data-figure]")].map((div) => ({
  div,
  ...JSON.parse(document.getElementById(div.dataset.figure).textContent),
}));
const LONGEST_WAIT = 3000; // ms
const NEAR = "400px";

function layoutOf(figure) {
  return { ...figure.layout, template: dark.matches ? templates.dark : templates.light };
}

async function draw(figure) {
  await plotly();
  const config = { displayModeBar: false, plotlyServerURL: "", responsive: true };
  await Plotly.newPlot(figure.div, figure.data, layoutOf(figure), config);
  figure.div.dataset.drawn = "true";
}

// plotly.js takes a second to start, in which nothing else is drawn.
let started = null;

function plotly() {
  started ??= window.Plotly ? Promise.resolve() : timelineDrawn().then(() => loaded(given.dataset.plotly));
  return started;
}

function timelineDrawn() {
  const timeline = document.querySelector(".timeline canvas")?.closest(".timeline");
  if (!timeline || timeline.dataset.settled) return Promise.resolve();
  return new Promise((resolve) => {
    timeline.addEventListener("settled", resolve, { once: true });
    setTimeout(resolve, LONGEST_WAIT);
  });
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

for (const { div, layout } of figures) {
  div.style.minHeight = `${layout.height ?? 0}px`; // nothing moves when it is drawn
  nearing.observe(div);
}
dark.addEventListener("change", () => {
  const drawn = figures.filter(({ div }) => div.dataset.drawn);
  for (const figure of drawn) Plotly.react(figure.div, figure.data, layoutOf(figure));
});
