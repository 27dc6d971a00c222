// The sums of the marked stretch by name, as a table.

import { made } from "./details.js";
import { duration, whole } from "./units.js";

const COLUMNS = ["name", "count", "total", "self", "self share"];

export class Totals {
  constructor(panel, on) {
    this.panel = panel;
    this.on = on;
  }

  show(totals) {
    if (!totals) {
      this.panel.replaceChildren();
      return;
    }
    const span = totals.end - totals.start;
    const left = totals.names - totals.rows.length;
    const said = `${whole(totals.count)} slices of ${whole(totals.names)} names in ${duration(span)}`;
    this.panel.replaceChildren(
      made("header", { className: "slice-name" }, [
        made("h3", { textContent: left ? `${said}; the ${totals.rows.length} largest` : said }),
        this.#button("show", "Show the stretch", () => this.on.show()),
        this.#button("×", "Forget the stretch (Esc)", () => this.on.forget()),
      ]),
      made("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: "Sums of the stretch by name" }, [this.#table(totals)]),
    );
  }

  #table({ rows, self_time: all }) {
    const headings = COLUMNS.map((text, place) => {
      const heading = made("th", { scope: "col", className: place ? "num" : "" }, [made("button", { type: "button", textContent: text })]);
      if (text === "self") heading.ariaSort = "descending";
      return heading;
    });
    const lines = rows.map((row) => {
      const name = made("td", { className: "name", title: `${row.name}, ${row.word}` }, [made("i", { style: `background:${row.colour}` }), row.name]);
      const share = row.self_time / Math.max(all, 1);
      return made("tr", {}, [
        name,
        number(row.count, whole(row.count)),
        number(row.total, duration(row.total)),
        number(row.self_time, duration(Math.max(row.self_time, 0))),
        number(share, `${(share * 100).toFixed(1)} %`),
      ]);
    });
    return made("table", { className: "sortable fit" }, [made("thead", {}, [made("tr", {}, headings)]), made("tbody", {}, lines)]);
  }

  #button(text, title, act) {
    const button = made("button", { type: "button", textContent: text, title, ariaLabel: title });
    button.addEventListener("click", act);
    return button;
  }
}

function number(value, text) {
  const cell = made("td", { className: "num", textContent: text });
  cell.dataset.value = value;
  return cell;
}
