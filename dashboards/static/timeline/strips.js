// Slices too narrow for a rectangle of their own: those of a row are a line of pixels, which is drawn as high as the row.
// A frame then is a few images instead of tens of thousands of rectangles.

export class Strips {
  #canvas = document.createElement("canvas");
  #image = null;
  #pixels = null; // alpha, blue, green, red from the highest byte down
  #used = new Map(); // line to { y, height }

  // Begins a frame of `lines` rows of `width` device pixels.
  begin(width, lines) {
    this.#used.clear();
    const [wide, high] = [Math.max(width, 1), Math.max(lines, 1)];
    if (this.#canvas.width !== wide || this.#canvas.height !== high) {
      Object.assign(this.#canvas, { width: wide, height: high });
      this.#image = this.#canvas.getContext("2d").createImageData(wide, high);
      this.#pixels = new Uint32Array(this.#image.data.buffer);
    } else this.#pixels.fill(0);
  }

  // Fills the device pixels [from, to) of a line whose row is at `place` = { y, height }; at least one of them.
  fill(line, place, from, to, colour, alpha) {
    const { width } = this.#image;
    const first = Math.min(Math.max(from, 0), width - 1);
    const start = line * width + first;
    this.#pixels.fill(((Math.round(alpha * 255) << 24) | colour) >>> 0, start, start + Math.max(Math.min(to, width) - first, 1));
    this.#used.set(line, place);
  }

  // Draws the frame, `width` wide.
  draw(context, width) {
    if (!this.#used.size) return;
    this.#canvas.getContext("2d").putImageData(this.#image, 0, 0);
    context.imageSmoothingEnabled = false;
    for (const [line, { y, height }] of this.#used) {
      context.drawImage(this.#canvas, 0, line, this.#canvas.width, 1, 0, y, width, height);
    }
  }
}

// A colour "#rrggbb" as pixels have it.
export function packed(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return (blue << 16) | (green << 8) | red;
}
