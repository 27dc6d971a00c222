// Uploads what is dropped or chosen, one file after the other, and shows what the doctor says of each.

const form = document.getElementById("upload");
const input = document.getElementById("files");
const list = document.getElementById("list");
const count = document.getElementById("count");
const comparison = document.getElementById("compare");
const traces = [];
let queue = Promise.resolve();
let waiting = 0;

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function size(bytes) {
  const units = ["B", "KiB", "MiB", "GiB"];
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), units.length - 1);
  const value = bytes / 1024 ** power;
  return `${power && value < 99.95 ? value.toPrecision(3) : Math.round(value)} ${units[power]}`;
}

function tell(change) {
  waiting += change;
  const files = list.children.length;
  count.textContent = waiting ? `${waiting} of ${files} to go` : `${files} done`;
}

// The row of a file, whose bar moves while it is sent.
function row(file) {
  const state = element("span", { className: "verdict", textContent: "waiting" });
  const bar = element("progress", { max: 1, value: 0, ariaLabel: `Upload of ${file.name}` });
  const name = element("span", { className: "name", textContent: file.name });
  const line = element("div", { className: "line" }, name, element("span", { className: "soft", textContent: size(file.size) }), state);
  const item = element("li", {}, line, bar);
  list.append(item);
  return { item, line, state, bar };
}

function send(file, { state, bar }) {
  const body = new FormData();
  for (const [name, value] of new FormData(form)) if (value.trim()) body.append(name, value.trim());
  if (!body.has("fallback_commit")) body.append("fallback_commit", form.dataset.none);
  body.append("file", file);
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open("POST", form.dataset.address);
    request.responseType = "json";
    request.upload.onprogress = ({ loaded, total }) => {
      bar.value = loaded / total;
      state.textContent = loaded < total ? `${Math.round((100 * loaded) / total)} %` : "reading";
    };
    request.onload = () => resolve({ ok: request.status < 300, answer: request.response ?? {} });
    request.onerror = () => resolve({ ok: false, answer: { error: "The server cannot be reached; look whether it runs, then drop the file again." } });
    request.send(body);
  });
}

function verdict(state, word) {
  state.textContent = word;
  state.className = `verdict ${word.replaceAll(" ", "-")}`;
}

function refused({ item, state }, error) {
  verdict(state, "refused");
  item.append(element("p", { className: "says", textContent: error ?? "The server failed; its log says why." }));
}

async function taken(shown, answer) {
  const { item, line, state } = shown;
  const where = answer.trace ? `/traces/${answer.trace}` : `/runs/${answer.run}`;
  const what = answer.trace ? `trace #${answer.trace}` : `${answer.results} result${answer.results === 1 ? "" : "s"}, run #${answer.run}`;
  verdict(state, answer.new ? "taken" : "known already");
  line.append(element("a", { href: where, textContent: what }), element("span", { className: "soft", textContent: `of ${answer.project}` }));
  if (!answer.trace) return;
  traces.push(answer.trace);
  compare();
  const found = await fetch(`/api/v1/traces/${answer.trace}`).then((response) => response.json());
  const health = found.summary?.health;
  if (!health) return;
  verdict(state, health.verdict);
  item.append(element("p", { className: "says soft", textContent: health.sentence }));
  const findings = health.findings.map(({ severity, what, advice }) =>
    element("li", {}, element("b", { textContent: severity }), ` ${what} `, element("span", { className: "note", textContent: advice })),
  );
  if (findings.length) item.append(element("ul", {}, ...findings));
}

function compare() {
  const [base, head] = traces.slice(-2);
  comparison.hidden = head === undefined;
  comparison.href = `/compare?base=trace:${base}&head=trace:${head}`;
}

function add(files) {
  if (!form.reportValidity()) return;
  for (const file of files) {
    const shown = row(file);
    tell(1);
    queue = queue.then(async () => {
      const { ok, answer } = await send(file, shown);
      shown.bar.remove();
      if (ok) await taken(shown, answer);
      else refused(shown, answer.error);
      tell(-1);
    });
  }
}

document.getElementById("choose").addEventListener("click", () => input.click());
input.addEventListener("change", () => {
  add(input.files);
  input.value = "";
});
form.addEventListener("submit", (event) => event.preventDefault());

// A file dropped beside the field is meant for it, too: the browser would leave the page to show it.
let inside = 0;
document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("dragenter", () => form.classList.toggle("over", ++inside > 0));
document.addEventListener("dragleave", () => form.classList.toggle("over", --inside > 0));
document.addEventListener("drop", (event) => {
  event.preventDefault();
  inside = 0;
  form.classList.remove("over");
  add(event.dataTransfer.files);
});
