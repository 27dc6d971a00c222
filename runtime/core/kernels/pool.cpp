// Maxima of windows, their places, and elements by their places in a plane.
#include <algorithm>
#include <cstring>

#include "kernels/packed.h"
#include "kernels/table.h"
#include "rules.h"
#include "threads.h"

namespace perflab {

namespace {

constexpr int64_t kShareElements = int64_t{1} << 16;  // from which threads are worth it: a part of the work

// The windows of a plane. Attributes: kernel, stride, padding, dilation.
struct Windows {
  int64_t height, width, rows, columns, kh, kw, sh, sw, ph, pw, dh, dw;

  Windows(const Layout& a, const Layout& out, const Attrs& at)
      : height(a.shape[2]), width(a.shape[3]), rows(out.shape[2]), columns(out.shape[3]) {
    int64_t* const pairs[] = {&kh, &kw, &sh, &sw, &ph, &pw, &dh, &dw};
    for (int i = 0; i < 8; ++i) *pairs[i] = at.v[i / 2 * (1 + kMaxDim) + 1 + i % 2];
  }
  // No window hangs over an edge, and none has gaps.
  bool inside() const {
    return dh * dw == 1 && ph + pw == 0 && (rows - 1) * sh + kh <= height && (columns - 1) * sw + kw <= width;
  }
};

// Not-a-number wins, and the first of equals.
template <class T>
inline bool beats(T x, T most) {
  return x > most || (x != x && most == most);
}

// Calls put(place, value) with the maximum of each window of the plane p. kSide: of the kernel, 0 if it is any.
template <int kSide, class T, class F>
inline void plane_maxima(const Windows& w, const T* p, const F& put) {
  const int64_t kh = kSide ? kSide : w.kh, kw = kSide ? kSide : w.kw;
  for (int64_t r = 0; r < w.rows; ++r) {
    for (int64_t c = 0; c < w.columns; ++c) {
      int64_t place = r * w.sh * w.width + c * w.sw;
      T most = p[place];
      const int64_t first = place;
      for (int64_t i = 0; i < kh; ++i) {
        for (int64_t j = 0; j < kw; ++j) {
          const int64_t at = first + i * w.width + j;
          const T x = p[at];
          const bool better = beats(x, most);
          most = better ? x : most, place = better ? at : place;
        }
      }
      put(place, most);
    }
  }
}

// The same for windows that hang over an edge or have gaps.
template <class T, class F>
void plane_maxima_clipped(const Windows& w, const T* p, const F& put) {
  auto first = [](int64_t start, int64_t step) {
    return start >= 0 ? start : start + (-start + step - 1) / step * step;
  };
  for (int64_t r = 0; r < w.rows; ++r) {
    const int64_t top = r * w.sh - w.ph, bottom = std::min(w.height, top + w.dh * (w.kh - 1) + 1);
    for (int64_t c = 0; c < w.columns; ++c) {
      const int64_t left = c * w.sw - w.pw, right = std::min(w.width, left + w.dw * (w.kw - 1) + 1);
      int64_t place = first(top, w.dh) * w.width + first(left, w.dw);
      T most = p[place];
      for (int64_t y = first(top, w.dh); y < bottom; y += w.dh) {
        for (int64_t x = first(left, w.dw); x < right; x += w.dw) {
          const T value = p[y * w.width + x];
          if (beats(value, most)) most = value, place = y * w.width + x;
        }
      }
      put(place, most);
    }
  }
}

// `choose` of (place, value) is what the output holds.
template <class T, class O, class F>
void pool(In in, const Attrs& at, Array& out, const F& choose) {
  const Windows w(*in[0], out, at);
  const Packed input(*in[0]);
  const T* a = input.as<T>();
  O* q = out.as<O>();
  const int64_t plane = w.height * w.width, places = w.rows * w.columns;
  if (out.numel == 0) return;
  share(out.numel / places, kShareElements / plane + 1, [&](int64_t begin, int64_t end) {
    O* to = q + begin * places;
    auto put = [&](int64_t place, T value) { *to++ = choose(place, value); };
    for (const T* p = a + begin * plane; p != a + end * plane; p += plane) {
      if (!w.inside()) {
        plane_maxima_clipped(w, p, put);
      } else if (w.kh == 2 && w.kw == 2) {
        plane_maxima<2>(w, p, put);
      } else if (w.kh == 3 && w.kw == 3) {
        plane_maxima<3>(w, p, put);
      } else {
        plane_maxima<0>(w, p, put);
      }
    }
  });
}

template <class T>
void max_pool2d(In in, int, const Attrs& at, Array* out, int) {
  pool<T, T>(in, at, out[0], [](int64_t, T value) { return value; });
}

template <class T>
void max_pool2d_indices(In in, int, const Attrs& at, Array* out, int) {
  pool<T, int64_t>(in, at, out[0], [](int64_t place, T) { return place; });
}

// Calls visit(element of the planes, element of the indices) for each index; planes is (n, channels, rows, columns).
template <class F>
void each_place(const Layout& planes, const Array& indices, const F& visit) {
  const Packed packed(indices, DType::kInt64);
  const int64_t* found = packed.as<int64_t>();
  if (indices.numel == 0) return;
  const int64_t plane = planes.shape[2] * planes.shape[3], count = indices.shape[0] * indices.shape[1];
  const int64_t each = indices.numel / count;
  for (int64_t i = 0; i < indices.numel; ++i) {
    if (found[i] < 0 || found[i] >= plane)
      throw Error(ErrorKind::kIndex,
                  "index " + std::to_string(found[i]) + " is not in a plane of " + std::to_string(plane) + " elements");
  }
  share(count, kShareElements / each + 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      for (int64_t i = p * each; i < (p + 1) * each; ++i) visit(p * plane + found[i], i);
    }
  });
}

template <class T>
void take_from_planes(In in, int, const Attrs&, Array* out, int) {
  const Packed input(*in[0]);
  const T* from = input.as<T>();
  T* to = out[0].as<T>();
  each_place(*in[0], *in[1], [=](int64_t element, int64_t i) { to[i] = from[element]; });
}

// Inputs: the elements, the planes (their shape), the indices.
template <class T>
void put_in_planes(In in, int, const Attrs&, Array* out, int) {
  if (!same_shape(*in[0], *in[2])) fail_shape("the places have shape " + show(*in[2]) + ", not " + show(*in[0]));
  const Packed input(*in[0]);
  const T* from = input.as<T>();
  T* to = out[0].as<T>();
  std::memset(out[0].data, 0, out[0].bytes());
  each_place(out[0], *in[2], [=](int64_t element, int64_t i) { to[element] += from[i]; });
}

template <class... Ts>
void add_for(KernelTable& table, Types<Ts...>) {
  (table.add("max_pool2d", DTypeOf<Ts>::value, max_pool2d<Ts>), ...);
  (table.add("max_pool2d_indices", DTypeOf<Ts>::value, max_pool2d_indices<Ts>), ...);
  (table.add("take_from_planes", DTypeOf<Ts>::value, take_from_planes<Ts>), ...);
  (table.add("put_in_planes", DTypeOf<Ts>::value, put_in_planes<Ts>), ...);
}

}  // namespace

void add_pool_kernels(KernelTable& table) { add_for(table, Floats{}); }

}  // namespace perflab
