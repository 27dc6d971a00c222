// Where the rows of the timeline stand, in pixels from the top of the first.

export const ROW = 18;
const CURVE = 38;
const GAP = 7;
const PROCESS = 22;

// Bands with their top and height (null where they are not shown), rows by number with { y, height, band }, processes with
// a heading where several. `folded` bands show one row, of `closed` processes (by the place of their first band) is the
// heading alone. With `only`, these bands alone are laid out, without headings.
export function layOut(bands, { folded, closed, only = null }) {
  const rows = [];
  const placed = [];
  const headings = [];
  const several = !only && new Set(bands.map((band) => band.process)).size > 1;
  let y = 4;
  let isClosed = false;
  bands.forEach((band, place) => {
    if (several && band.process !== bands[place - 1]?.process) {
      isClosed = closed.has(place);
      headings.push({ y, label: band.process, place, isClosed });
      y += PROCESS;
    }
    if (only ? !only.has(place) : isClosed) {
      placed.push(null);
      return;
    }
    const height = band.counter ? CURVE : ROW;
    const shown = folded.has(place) ? 1 : band.rows;
    for (let row = 0; row < shown; row++) rows[band.first_row + row] = { y: y + row * height, height: height - 1, band: place };
    placed.push({ y, height: shown * height });
    y += shown * height + GAP;
  });
  return { bands: placed, rows, headings, height: y };
}

// The number of the row at a height, -1 between rows.
export function rowAt(layout, y) {
  return layout.rows.findIndex((row) => row && y >= row.y && y <= row.y + row.height);
}

// The place of the first band of a band's process.
export function processOf(bands, place) {
  while (place > 0 && bands[place - 1].process === bands[place].process) place--;
  return place;
}
