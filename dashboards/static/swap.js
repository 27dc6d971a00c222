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
  const chosen = other.querySelector(`a[data-swap="${id}"][aria-current]`)?.getAttribute("href");
  for (const link of document.querySelectorAll(`a[data-swap="${id}"]`)) {
    const isCurrent = link.getAttribute("href") === chosen;
    if (isCurrent) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
    link.closest("tr")?.classList.toggle("current", isCurrent);
  }
}

// An address with what the page's own address says beside it, the order of a table and the like.
function withOwn(href) {
  const address = new URL(href);
  for (const [name, value] of new URLSearchParams(window.location.search)) {
    if (!address.searchParams.has(name)) address.searchParams.set(name, value);
  }
  return address;
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-swap]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  history.pushState({ swap: link.dataset.swap }, "", withOwn(link.href));
  swap(link.href, link.dataset.swap);
});

window.addEventListener("popstate", ({ state }) => {
  const id = state?.swap ?? document.querySelector("a[data-swap]")?.dataset.swap;
  if (id) swap(window.location.href, id);
});
