// Convolutions over two axes and their gradients, as matrix products: what a window covers is a column of a matrix that
// is made tile by tile, so that it stays in the cache.
#include <algorithm>
#include <cstring>
#include <memory>

#include "kernels/gemm.h"
#include "kernels/packed.h"
#include "kernels/table.h"
#include "threads.h"

namespace perflab {

namespace {

// The convolution of a (n, channels, height, width) by a weight (filters, channels / groups, ...), with its attributes.
struct Conv {
  int64_t n, channels, height, width, filters, kh, kw, rows, columns;
  int64_t sh, sw, ph, pw, dh, dw, groups;
  int64_t depth, per_group, k;  // channels and filters of a group; elements that a window covers
  int64_t wide;                 // a row with its padding

  Conv(const Layout& a, const Layout& weight, const Layout& out, const Attrs& at)
      : n(a.shape[0]),
        channels(a.shape[1]),
        height(a.shape[2]),
        width(a.shape[3]),
        filters(weight.shape[0]),
        kh(weight.shape[2]),
        kw(weight.shape[3]),
        rows(out.shape[2]),
        columns(out.shape[3]),
        sh(pair(at, 0)[0]),
        sw(pair(at, 0)[1]),
        ph(pair(at, 1)[0]),
        pw(pair(at, 1)[1]),
        dh(pair(at, 2)[0]),
        dw(pair(at, 2)[1]),
        groups(at.v[3 * (1 + kMaxDim)]),
        depth(weight.shape[1]),
        per_group(filters / groups),
        k(depth * kh * kw),
        wide(width + 2 * pw) {}
  static const int64_t* pair(const Attrs& at, int which) { return at.v + which * (1 + kMaxDim) + 1; }
  int64_t places() const { return rows * columns; }
  bool none() const { return n == 0 || filters == 0 || k == 0; }
  // A window is one element, and windows are as the elements are: the matrix is there already.
  bool direct() const { return kh * kw == 1 && sh * sw == 1 && ph + pw == 0; }
};

// Some images, or some rows of places of one image.
struct Tile {
  int64_t image, images, row, rows;
};

// Tiles depend on shapes alone, so that results do not depend on threads.
class Tiling {
 public:
  explicit Tiling(const Conv& c) : n_(c.n), rows_(c.rows) {
    constexpr int64_t kBytes = 512 << 10, kLeast = 256;  // of the matrix; its columns, fewer make slow products
    const int64_t most = std::max(kLeast, kBytes / (4 * c.k));
    if (c.places() > most) {
      const int64_t parts = (c.rows * c.columns + most - 1) / most;
      step_ = std::max<int64_t>(1, (c.rows + parts - 1) / parts);
      per_image_ = (c.rows + step_ - 1) / step_;
    } else {
      const int64_t parts = (c.n * c.places() + most - 1) / most;
      images_ = (c.n + parts - 1) / parts;
      step_ = c.rows;
    }
  }
  int64_t count() const { return (n_ + images_ - 1) / images_ * per_image_; }
  int64_t per_image() const { return per_image_; }
  int64_t images() const { return images_; }
  int64_t places(const Conv& c) const { return images_ * step_ * c.columns; }  // of the largest tile
  Tile operator[](int64_t i) const {
    const int64_t image = i / per_image_ * images_, row = i % per_image_ * step_;
    return {image, std::min(images_, n_ - image), row, std::min(step_, rows_ - row)};
  }

 private:
  int64_t n_, rows_, images_ = 1, per_image_ = 1, step_;
};

template <class T>
using Memory = std::unique_ptr<T[]>;
template <class T>
Memory<T> memory(int64_t n) {
  return Memory<T>(new T[static_cast<size_t>(n)]);
}

// Rows are most often short, and of few lengths: a call of memcpy would cost more than they do.
template <class T>
inline void copy_short(T* to, const T* from, int64_t n) {
  if (n >= 32) {
    std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
    return;
  }
  for (; n >= 4; n -= 4, to += 4, from += 4) std::memcpy(to, from, 4 * sizeof(T));
  for (int64_t i = 0; i < n; ++i) to[i] = from[i];
}

// The channels of one group in a tile's images, with their padding: (images, depth, tall, wide).
template <class T>
class Planes {
 public:
  Planes(const Conv& c, const Tiling& tiling)
      : c_(c),
        most_((tiling[0].rows - 1) * c.sh + c.dh * (c.kh - 1) + 1),
        p_(memory<T>(tiling.images() * c.depth * most_ * c.wide)) {}
  int64_t plane() const { return tall_ * c_.wide; }
  T* channel(int64_t image, int64_t channel) { return p_.get() + (image * c_.depth + channel) * plane(); }

  void fill(const Tile& t) { tall_ = (t.rows - 1) * c_.sh + c_.dh * (c_.kh - 1) + 1; }
  void read(const Tile& t, const T* a, int64_t group) {
    fill(t);
    each_row(t, a, group, [&](T* padded, const T* row, bool inside) {
      if (!inside) {
        std::fill_n(padded, c_.wide, T(0));
        return;
      }
      for (int64_t i = 0; i < c_.pw; ++i) padded[i] = padded[c_.pw + c_.width + i] = 0;
      copy_short(padded + c_.pw, row, c_.width);
    });
  }
  void clear(const Tile& t) {
    fill(t);
    std::fill_n(p_.get(), t.images * c_.depth * plane(), T(0));
  }
  void add_to(const Tile& t, T* a, int64_t group) {
    each_row(t, a, group, [&](const T* padded, T* row, bool inside) {
      for (int64_t i = 0; inside && i < c_.width; ++i) row[i] += padded[c_.pw + i];
    });
  }

 private:
  template <class U, class F>
  void each_row(const Tile& t, U* a, int64_t group, const F& work) {
    for (int64_t i = 0; i < t.images; ++i) {
      for (int64_t d = 0; d < c_.depth; ++d) {
        U* from = a + ((t.image + i) * c_.channels + group * c_.depth + d) * c_.height * c_.width;
        T* to = channel(i, d);
        for (int64_t y = 0; y < tall_; ++y) {
          const int64_t row = t.row * c_.sh - c_.ph + y;
          work(to + y * c_.wide, from + row * c_.width, row >= 0 && row < c_.height);
        }
      }
    }
  }

  const Conv& c_;
  int64_t most_, tall_ = 0;
  Memory<T> p_;
};

// Calls visit(padded row, matrix row, its place in it) for each row of places and each element of a window.
template <class T, class F>
void each_window_row(const Conv& c, const Tile& t, Planes<T>& planes, T* matrix, const F& visit) {
  const int64_t places = t.images * t.rows * c.columns;
  for (int64_t d = 0; d < c.depth; ++d) {
    for (int64_t i = 0; i < c.kh; ++i) {
      for (int64_t j = 0; j < c.kw; ++j, matrix += places) {
        T* to = matrix;
        for (int64_t image = 0; image < t.images; ++image) {
          T* from = planes.channel(image, d) + i * c.dh * c.wide + j * c.dw;
          for (int64_t r = 0; r < t.rows; ++r, from += c.sh * c.wide, to += c.columns) visit(from, to);
        }
      }
    }
  }
}

// matrix (k, places): the windows of the planes.
template <class T>
void gather(const Conv& c, const Tile& t, Planes<T>& planes, T* matrix) {
  if (c.sw == 1) {
    each_window_row(c, t, planes, matrix, [&](const T* from, T* to) { copy_short(to, from, c.columns); });
  } else {
    each_window_row(c, t, planes, matrix, [&](const T* from, T* to) {
      for (int64_t x = 0; x < c.columns; ++x) to[x] = from[x * c.sw];
    });
  }
}

// Its transpose: every element is added to where it would be gathered from.
template <class T>
void scatter(const Conv& c, const Tile& t, Planes<T>& planes, T* matrix) {
  each_window_row(c, t, planes, matrix, [&](T* to, const T* from) {
    if (c.sw == 1) {
#pragma GCC ivdep
      for (int64_t x = 0; x < c.columns; ++x) to[x] += from[x];
    } else {
      for (int64_t x = 0; x < c.columns; ++x) to[x * c.sw] += from[x];
    }
  });
}

// A group's filters of a convolution's result, in one tile, as a matrix (per_group, places). Where the tile is of one
// image it lies in the result; else it is copied.
template <class T>
class Results {
 public:
  Results(const Conv& c, const Tiling& tiling)
      : c_(c), copied_(tiling.images() > 1), p_(copied_ ? memory<T>(c.per_group * tiling.places(c)) : nullptr) {}
  // Where to write, and read.
  Side<T> at(const Tile& t, const T* result, int64_t group) const {
    if (copied_) return {p_.get(), t.images * c_.places()};
    return {result + (t.image * c_.filters + group * c_.per_group) * c_.places() + t.row * c_.columns, c_.places()};
  }
  void load(const Tile& t, const T* result, int64_t group) {
    each(t, group, [&](T* copy, int64_t at) { copy_short(copy, result + at, c_.places()); });
  }
  void store(const Tile& t, T* result, int64_t group) {
    each(t, group, [&](const T* copy, int64_t at) { copy_short(result + at, copy, c_.places()); });
  }

 private:
  template <class F>
  void each(const Tile& t, int64_t group, const F& work) {
    if (!copied_) return;
    T* copy = p_.get();
    for (int64_t f = 0; f < c_.per_group; ++f) {
      for (int64_t i = 0; i < t.images; ++i, copy += c_.places()) {
        work(copy, ((t.image + i) * c_.filters + group * c_.per_group + f) * c_.places());
      }
    }
  }

  const Conv& c_;
  bool copied_;
  Memory<T> p_;
};

int64_t share_grain(const Conv& c, const Tiling& tiling) {
  constexpr int64_t kProducts = int64_t{1} << 22;  // from which threads are worth it: a part of the work
  return kProducts / (c.filters * c.k * tiling.places(c)) + 1;
}

template <class T>
void conv2d(In in, int, const Attrs& at, Array* out, int) {
  const Conv c(*in[0], *in[1], out[0], at);
  T* q = out[0].as<T>();
  if (out[0].numel == 0) return;
  if (c.none()) {
    std::fill_n(q, out[0].numel, T(0));
    return;
  }
  const Packed input(*in[0]), weight(*in[1]);
  const T *a = input.as<T>(), *w = weight.as<T>();
  const Tiling tiling(c);
  share(tiling.count(), share_grain(c, tiling), [&](int64_t begin, int64_t end) {
    const bool direct = c.direct() && tiling.images() == 1;
    Planes<T> planes(c, tiling);
    Results<T> results(c, tiling);
    const Memory<T> matrix = memory<T>(c.k * tiling.places(c));
    for (int64_t i = begin; i < end; ++i) {
      const Tile t = tiling[i];
      const int64_t places = t.images * t.rows * c.columns;
      for (int64_t g = 0; g < c.groups; ++g) {
        Side<T> windows{matrix.get(), places};
        if (direct) {
          const int64_t first = t.image * c.channels + g * c.depth;
          windows = {a + first * c.places() + t.row * c.columns, c.places()};
        } else {
          planes.read(t, a, g);
          gather(c, t, planes, matrix.get());
        }
        const Side<T> to = results.at(t, q, g);
        gemm<T>(c.per_group, places, c.k, {w + g * c.per_group * c.k, c.k}, windows, false, const_cast<T*>(to.p),
                to.row);
        results.store(t, q, g);
      }
    }
  });
}

// Inputs: what is like the convolution's result, weight, what is like its input (its shape).
template <class T>
void conv_transpose2d(In in, int, const Attrs& at, Array* out, int) {
  const Conv c(out[0], *in[1], *in[0], at);
  T* q = out[0].as<T>();
  std::fill_n(q, out[0].numel, T(0));
  if (c.none()) return;
  const Packed input(*in[0]), weight(*in[1]);
  const T *a = input.as<T>(), *w = weight.as<T>();
  const Tiling tiling(c);
  const int64_t together = tiling.per_image();  // tiles of one image add to the same rows
  share(tiling.count() / together, share_grain(c, tiling) / together + 1, [&](int64_t begin, int64_t end) {
    Planes<T> planes(c, tiling);
    Results<T> results(c, tiling);
    const Memory<T> matrix = memory<T>(c.k * tiling.places(c));
    for (int64_t i = begin * together; i < end * together; ++i) {
      const Tile t = tiling[i];
      const int64_t places = t.images * t.rows * c.columns;
      for (int64_t g = 0; g < c.groups; ++g) {
        results.load(t, a, g);
        gemm<T>(c.k, places, c.per_group, {w + g * c.per_group * c.k, c.k, true}, results.at(t, a, g), false,
                matrix.get(), places);
        planes.clear(t);
        scatter(c, t, planes, matrix.get());
        planes.add_to(t, q, g);
      }
    }
  });
}

// Inputs: what is like the convolution's result, its input, weight (its shape).
template <class T>
void conv2d_weight_grad(In in, int, const Attrs& at, Array* out, int) {
  constexpr int64_t kSums = 8;  // added at last; their number must not depend on the threads
  const Conv c(*in[1], out[0], *in[0], at);
  T* q = out[0].as<T>();
  std::fill_n(q, out[0].numel, T(0));
  if (c.none()) return;
  const Packed gradient(*in[0]), input(*in[1]);
  const T *d = gradient.as<T>(), *a = input.as<T>();
  const Tiling tiling(c);
  const int64_t size = out[0].numel, tiles = tiling.count(), grain = share_grain(c, tiling);
  const int64_t sums = tiles < 2 * grain ? 1 : std::min(kSums, tiles);
  const Memory<T> partial = memory<T>((sums - 1) * size);
  std::fill_n(partial.get(), (sums - 1) * size, T(0));
  share(sums, 1, [&](int64_t begin, int64_t end) {
    Planes<T> planes(c, tiling);
    Results<T> results(c, tiling);
    const Memory<T> matrix = memory<T>(c.k * tiling.places(c));
    for (int64_t s = begin; s < end; ++s) {
      T* sum = s ? partial.get() + (s - 1) * size : q;
      for (int64_t i = s * tiles / sums; i < (s + 1) * tiles / sums; ++i) {
        const Tile t = tiling[i];
        const int64_t places = t.images * t.rows * c.columns;
        for (int64_t g = 0; g < c.groups; ++g) {
          planes.read(t, a, g);
          gather(c, t, planes, matrix.get());
          results.load(t, d, g);
          gemm<T>(c.per_group, c.k, places, results.at(t, d, g), {matrix.get(), places, true}, true,
                  sum + g * c.per_group * c.k, c.k);
        }
      }
    }
  });
  for (int64_t s = 1; s < sums; ++s) {
    const T* more = partial.get() + (s - 1) * size;
    for (int64_t i = 0; i < size; ++i) q[i] += more[i];
  }
}

template <class... Ts>
void add_for(KernelTable& table, Types<Ts...>) {
  (table.add("conv2d", DTypeOf<Ts>::value, conv2d<Ts>), ...);
  (table.add("conv_transpose2d", DTypeOf<Ts>::value, conv_transpose2d<Ts>), ...);
  (table.add("conv2d_weight_grad", DTypeOf<Ts>::value, conv2d_weight_grad<Ts>), ...);
}

}  // namespace

void add_conv_kernels(KernelTable& table) { add_for(table, Floats{}); }

}  // namespace perflab
