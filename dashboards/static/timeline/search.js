// Finds slices by name: the server says which is next, the rows dim the others.

export class Search {
  #asked = 0;

  // `on.found` is called with the slice that was found.
  constructor(form, address, view, on) {
    Object.assign(this, { form, address, view, on });
    this.input = form.querySelector("input");
    this.output = form.querySelector("output");
    this.last = null; // the slice found last or selected since
    view.addEventListener("select", () => (this.last = view.selected?.slice ?? null));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.go(1);
    });
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.shiftKey) {
        event.preventDefault();
        this.go(-1);
      } else if (event.key === "Escape") {
        event.preventDefault(); // it would clear the name, which Escape on the rows does
        on.leave();
      }
    });
    this.input.addEventListener("input", () => {
      this.view.set("find", "find", this.input.value.trim());
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.go(0), 150);
    });
    form.querySelector("[data-step='-1']").addEventListener("click", () => this.go(-1));
  }

  clear() {
    this.input.value = this.output.textContent = "";
    this.view.set("find", "find", "");
  }

  // Looks for a name that was not typed.
  start(name) {
    this.input.value = name;
    this.view.set("find", "find", name);
    this.go(0);
  }

  // Takes up a name from an address: counts it without moving.
  async restore(name) {
    this.input.value = name;
    if (name) this.#say(await this.#ask(0));
  }

  // Goes to the next (1), the previous (-1) or the nearest (0) slice of the name.
  async go(step) {
    clearTimeout(this.timer);
    const asked = ++this.#asked;
    if (!this.view.find) {
      this.output.textContent = "";
      return;
    }
    const found = await this.#ask(step);
    if (asked !== this.#asked || !found) return;
    this.#say(found);
    this.last = found.slice;
    if (found.slice) this.on.found(found.slice, step);
  }

  async #ask(step) {
    const query = new URLSearchParams({ name: this.view.find });
    const isMatch = this.last?.name.toLowerCase().includes(this.view.find.toLowerCase());
    if (isMatch) query.set("near", this.last.slice);
    else query.set("after", Math.round(this.view.goal.start));
    if (isMatch || step < 0) query.set("step", step);
    return this.on.get(`${this.address}/search?${query}`);
  }

  #say(found) {
    if (!found) return;
    const { count, place } = found;
    this.output.textContent = count ? `${place.toLocaleString("en")} of ${count.toLocaleString("en")}` : "none";
  }
}
