// Where the rows of the timeline stand, in pixels from the top of the first.

export const ROW = 18;
const CURVE = 38;
const GAP = 7;
const PROCESS = 22;

// Bands with their top and height, rows by number with { y, height, band }, processes with a heading where several.
export function layOut(bands, folded) {
  const rows = [];
  const placed = [];
  const headings = [];
  const several = new Set(bands.map((band) => band.process)).size > 1;
  let y = 4;
  bands.forEach((band, place) => {
    if (several && band.process !== bands[place - 1]?.process) {
      headings.push({ y, label: band.process });
      y += PROCESS;
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
