// Fetches the parts of a page that take long: each element with data-fragment gets what that address gives. What the page is
// for comes first: the server would make both at once.

const LONGEST_WAIT = 3000; // ms

function drawn(element) {
  if (element.dataset.settled) return Promise.resolve();
  return new Promise((resolve) => {
    element.addEventListener("settled", resolve, { once: true });
    setTimeout(resolve, LONGEST_WAIT);
  });
}

await Promise.all([...document.querySelectorAll(".timeline:has(canvas), .flame")].map(drawn));
for (const element of document.querySelectorAll("[data-fragment]")) {
  fetch(element.dataset.fragment)
    .then((response) => (response.ok ? response.text() : Promise.reject(new Error(response.statusText))))
    .then((html) => (element.innerHTML = html))
    .catch((error) => (element.textContent = `This part could not be made (${error.message}); reload the page to try again.`))
    .finally(() => element.removeAttribute("aria-busy"));
}
