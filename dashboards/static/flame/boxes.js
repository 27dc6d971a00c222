// The boxes of a flame graph: what is in what, which are found by name, what a box says of itself.

export class Boxes {
  constructor(columns) {
    Object.assign(this, columns);
    this.size = columns.look.length;
    this.isDifference = columns.base_total.length > 0;
    this.depth = new Int16Array(this.size);
    this.inner = Array.from({ length: this.size }, () => []);
    this.tops = [];
    columns.parent.forEach((parent, box) => {
      this.depth[box] = parent < 0 ? 0 : this.depth[parent] + 1;
      (parent < 0 ? this.tops : this.inner[parent]).push(box);
    });
    this.deepest = this.depth.reduce((most, each) => Math.max(most, each), 0);
  }

  name(box) {
    return this.names[this.look[box]];
  }

  word(box) {
    return this.words[this.look[box]];
  }

  colour(box) {
    return this.colours[this.look[box]];
  }

  // From the top down to the box.
  path(box) {
    const found = [];
    for (let at = box; at >= 0; at = this.parent[at]) found.unshift(at);
    return found;
  }

  isIn(box, outer) {
    for (let at = box; at >= 0; at = this.parent[at]) if (at === outer) return true;
    return outer < 0;
  }

  // Boxes beside a box, itself among them.
  beside(box) {
    return this.parent[box] < 0 ? this.tops : this.inner[this.parent[box]];
  }

  // The boxes whose names hold the text, and the share of all that they take, each moment counted once.
  find(text) {
    const wanted = text.toLowerCase();
    const matches = this.names.map((name) => wanted !== "" && name.toLowerCase().includes(wanted));
    const found = [];
    const covered = new Uint8Array(this.size);
    let width = 0;
    for (let box = 0; box < this.size; box++) {
      const outer = this.parent[box];
      covered[box] = outer >= 0 ? covered[outer] : 0;
      if (!matches[this.look[box]]) continue;
      found.push(box);
      if (!covered[box]) width += this.width[box];
      covered[box] = 1;
    }
    return { found, matches, share: width / (this.whole || 1) };
  }

  // How much a box changed, from -1 (gone) to 1 (new); 0 where the change is too small to matter.
  change(box) {
    const [base, head] = [this.base_total[box], this.total[box]];
    if (Math.abs(head - base) < this.whole / 1000) return 0;
    return (head - base) / Math.max(head, base);
  }
}
