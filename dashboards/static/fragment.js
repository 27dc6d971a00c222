// Fetches the parts of a page that take long: each element with data-fragment gets what that address gives.

for (const element of document.querySelectorAll("[data-fragment]")) {
  fetch(element.dataset.fragment)
    .then((response) => (response.ok ? response.text() : Promise.reject(new Error(response.statusText))))
    .then((html) => (element.innerHTML = html))
    .catch((error) => (element.textContent = `This part could not be made (${error.message}); reload the page to try again.`))
    .finally(() => element.removeAttribute("aria-busy"));
}
