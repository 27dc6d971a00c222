// Fetches what lies in a stretch at the resolution of the screen, in tiles of BINS bins of a power of two of ns, and keeps
// the last ones. Events: "tile" when one came, "fault" when the server did not give one.

const BINS = 1024;
const KEPT = 3e6; // entries

export function levelOf(span, width) {
  return Math.max(0, Math.floor(Math.log2(span / Math.max(width, 1))));
}

export class Tiles extends EventTarget {
  #address;
  #length;
  #tiles = new Map(); // by key, the last used last
  #pending = new Map(); // key to AbortController
  #entries = 0;
  #ahead = []; // keys to fetch when nothing else is to be

  constructor(address, length) {
    super();
    this.#address = address;
    this.#length = length;
  }

  // Whether a stretch can be drawn as it should be.
  has(start, end, width) {
    return this.#keys(start, end, levelOf(end - start, width)).every((key) => this.#tiles.has(key));
  }

  // Fetches what is missing of a stretch and gives up what is no longer wanted.
  want(start, end, width) {
    const level = levelOf(end - start, width);
    const keys = this.#keys(start, end, level);
    const [first, last] = [keys[0], keys[keys.length - 1]].map((key) => this.#parse(key).place);
    const beside = [last + 1, first - 1].map((place) => `${level}:${place}`).filter((key) => this.#exists(key));
    const around = this.#keys(start - (end - start) / 2, end + (end - start) / 2, level + 1);
    this.#ahead = [...beside, ...around, ...this.#keys(0, this.#length, levelOf(this.#length, width))];
    for (const [key, request] of this.#pending) {
      if (!keys.includes(key) && !this.#ahead.includes(key)) {
        request.abort();
        this.#pending.delete(key);
      }
    }
    keys.forEach((key) => this.#fetch(key));
    this.#fetchAhead();
  }

  // What to draw of a stretch: [{ tile, from, to }] in time; where a tile is missing, the best that there is.
  pieces(start, end, width) {
    const found = [];
    for (const key of this.#keys(start, end, levelOf(end - start, width))) {
      const { from, to } = this.#parse(key);
      found.push(...this.#best(key, from, to));
    }
    return found;
  }

  #best(key, from, to) {
    const own = this.#use(key);
    if (own) return [{ tile: own, from, to }];
    const { level } = this.#parse(key);
    for (let above = level + 1; above < level + 40; above++) {
      const place = Math.floor(from / (BINS * 2 ** above));
      const tile = this.#use(`${above}:${place}`);
      if (tile) return [{ tile, from, to }];
      if (place === 0 && BINS * 2 ** above >= this.#length) break;
    }
    if (!level) return [];
    const middle = (from + to) / 2;
    const { place } = this.#parse(key);
    const below = [this.#use(`${level - 1}:${2 * place}`), this.#use(`${level - 1}:${2 * place + 1}`)];
    const halves = [
      { tile: below[0], from, to: middle },
      { tile: below[1], from: middle, to },
    ];
    return halves.filter(({ tile }) => tile);
  }

  #parse(key) {
    const [level, place] = key.split(":").map(Number);
    const span = BINS * 2 ** level;
    return { level, place, from: place * span, to: (place + 1) * span };
  }

  #exists(key) {
    const { place, from } = this.#parse(key);
    return place >= 0 && from < this.#length;
  }

  #keys(start, end, level) {
    const span = BINS * 2 ** level;
    const first = Math.max(Math.floor(start / span), 0);
    const last = Math.max(Math.ceil(Math.min(end, this.#length) / span) - 1, first);
    return Array.from({ length: last - first + 1 }, (_, place) => `${level}:${first + place}`);
  }

  #use(key) {
    const tile = this.#tiles.get(key);
    if (tile) {
      this.#tiles.delete(key);
      this.#tiles.set(key, tile);
    }
    return tile;
  }

  #fetchAhead() {
    if (this.#pending.size) return;
    const key = this.#ahead.find((each) => !this.#tiles.has(each));
    if (key) this.#fetch(key);
  }

  async #fetch(key) {
    if (this.#tiles.has(key) || this.#pending.has(key)) return;
    const request = new AbortController();
    this.#pending.set(key, request);
    const { from, to } = this.#parse(key);
    try {
      const address = `${this.#address}?start=${from}&end=${to}&width=${BINS}`;
      const response = await fetch(address, { signal: request.signal });
      if (!response.ok) throw new Error((await response.json()).error);
      this.#keep(key, decoded(await response.json()));
    } catch (error) {
      if (error.name === "AbortError") return;
      this.#ahead = [];
      this.#pending.delete(key);
      this.dispatchEvent(new CustomEvent("fault", { detail: error.message }));
      return;
    }
    this.#pending.delete(key);
    this.dispatchEvent(new Event("tile"));
    this.#fetchAhead();
  }

  #keep(key, tile) {
    this.#tiles.set(key, tile);
    this.#entries += tile.begin.length;
    for (const [old, { begin }] of this.#tiles) {
      if (this.#entries <= KEPT) break;
      this.#tiles.delete(old);
      this.#entries -= begin.length;
    }
  }
}

// The columns of an answer with differences summed up, and where each row's entries are.
function decoded(answer) {
  const count = answer.begin.length;
  const tile = {
    ...answer,
    begin: new Float64Array(count),
    end: new Float64Array(count),
    slice: new Int32Array(count),
    places: new Map(), // row to [first, last)
    curves: new Map(), // row of a counter to its points
  };
  let at = 0;
  answer.rows.forEach((row, place) => {
    const last = at + answer.lengths[place];
    tile.places.set(row, [at, last]);
    for (let time = answer.start, slice = 0; at < last; at++) {
      tile.begin[at] = time += answer.begin[at];
      tile.end[at] = time + answer.length[at];
      tile.slice[at] = slice += answer.slice[at];
    }
  });
  const { rows, lengths, bin, high, last } = answer.counters;
  let point = 0;
  rows.forEach((row, place) => {
    const end = point + lengths[place];
    const curve = { time: [], high: high.slice(point, end), last: last.slice(point, end) };
    for (let bins = 0; point < end; point++) curve.time.push(answer.start + (bins += bin[point]) * answer.bin);
    tile.curves.set(row, curve);
  });
  return tile;
}
