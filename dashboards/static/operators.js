// A point of the roofline leads to its op.

const plot = document.getElementById("plot-roofline");

function lead() {
  plot.on("plotly_click", ({ points }) => {
    const name = points[0].customdata?.[0];
    if (name) window.location.search = new URLSearchParams({ by: "op+shape", op: name });
  });
}

if (plot?.dataset.drawn) lead();
else plot?.addEventListener("drawn", lead, { once: true });
