// Where tabs are wider than the window, the one that is shown is in sight.

const tabs = document.querySelector(".tabs");
const current = tabs.querySelector("[aria-current]");
tabs.scrollLeft = current.offsetLeft - (tabs.clientWidth - current.offsetWidth) / 2;
