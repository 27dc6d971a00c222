// A point of a figure leads to the address that is its id.

function lead({ target }) {
  target.on?.("plotly_click", ({ points }) => {
    const { id } = points[0];
    if (id) window.location.assign(id);
  });
}

document.addEventListener("drawn", lead);
for (const figure of document.querySelectorAll("[data-figure][data-drawn]")) lead({ target: figure });
