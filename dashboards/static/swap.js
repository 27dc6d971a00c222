// A link with data-swap="id" changes that element of the page and the address, and leaves the rest as it stands.

import { drawIn } from "./figures.js";

async function swap(address, id) {
  const response = await fetch(address);
  if (!response.ok) return window.location.assign(address);
  const other = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const script of other.querySelectorAll("script[id^='figure-']")) document.getElementById(script.id)?.replaceWith(script);
  const element = other.getElementById(id);
  document.getElementById(id).replaceWith(element);
  drawIn(element);
  for (const link of document.querySelectorAll(`a[data-swap="${id}"]`)) {
    const isCurrent = link.href === new URL(address, window.location).href;
    link.toggleAttribute("aria-current", isCurrent);
    link.closest("tr")?.classList.toggle("current", isCurrent);
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-swap]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  history.pushState({ swap: link.dataset.swap }, "", link.href);
  swap(link.href, link.dataset.swap);
});

window.addEventListener("popstate", ({ state }) => {
  const id = state?.swap ?? document.querySelector("a[data-swap]")?.dataset.swap;
  if (id) swap(window.location.href, id);
});
