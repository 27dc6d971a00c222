// Means of windows of planes, and their gradients. Windows are spans of rows by spans of columns.
#ifndef LEVEL

#include <algorithm>
#include <vector>

#include "kernels/packed.h"
#include "kernels/walk.h"

namespace perflab {

namespace {

struct Span {
  int64_t begin, end, divisor;  // the divisor of a window is its spans' product
};
using Spans = std::vector<Span>;

struct WindowSpans {
  Spans rows, columns;
};

// Attributes: kernel, stride, padding, ceil_mode, count_include_pad, divisor.
WindowSpans pooled_spans(const Layout& planes, const Layout& pooled, const Attrs& at) {
  constexpr int kWords = 1 + kMaxDim;
  WindowSpans found;
  for (int axis = 0; axis < 2; ++axis) {
    const int64_t *first = at.v + 1 + axis, *flags = at.v + 3 * kWords;
    const int64_t kernel = first[0], stride = first[kWords], padding = first[2 * kWords], size = planes.shape[2 + axis];
    const bool counts_padding = flags[1];
    for (int64_t i = 0; i < pooled.shape[2 + axis]; ++i) {
      const int64_t start = i * stride - padding, stop = std::min(start + kernel, size + padding);
      Span span{std::max<int64_t>(start, 0), std::min(stop, size), 0};
      span.divisor = flags[2] != kNone ? (axis ? 1 : flags[2]) : counts_padding ? stop - start : span.end - span.begin;
      (axis ? found.columns : found.rows).push_back(span);
    }
  }
  return found;
}

// Spans that divide each axis evenly.
WindowSpans even_spans(const Layout& planes, const Layout& pooled) {
  WindowSpans found;
  for (int axis = 0; axis < 2; ++axis) {
    const int64_t size = planes.shape[2 + axis], count = pooled.shape[2 + axis];
    for (int64_t i = 0; i < count; ++i) {
      const int64_t begin = i * size / count, end = ((i + 1) * size + count - 1) / count;
      (axis ? found.columns : found.rows).push_back({begin, end, end - begin});
    }
  }
  return found;
}

}  // namespace

}  // namespace perflab

#define LEVEL_BODY "kernels/avg_pool.cpp"
#include "kernels/foreach_level.h"

namespace perflab {

void add_avg_pool_kernels(KernelTable& table) { LEVELS(add_kernels)(table); }

}  // namespace perflab

#else

namespace perflab::LEVEL {

namespace {

// The rows of a span are summed to one, which the spans of columns then cut.
template <class T>
void average(const Array& a, Array& out, const WindowSpans& windows) {
  if (out.numel == 0) return;
  const Packed packed(a);
  const int64_t width = a.shape[3], plane = a.shape[2] * width, places = out.shape[2] * out.shape[3];
  share(out.numel / places, kShare / (plane + 1) + 1, [&](int64_t begin, int64_t end) {
    std::vector<T> sums(static_cast<size_t>(width));
    T* __restrict sum = sums.data();
    T* to = out.as<T>() + begin * places;
    for (const T* p = packed.as<T>() + begin * plane; p != packed.as<T>() + end * plane; p += plane) {
      for (const Span& row : windows.rows) {
        std::fill_n(sum, width, T(0));
        for (int64_t i = row.begin; i < row.end; ++i) {
          for (int64_t j = 0; j < width; ++j) sum[j] += p[i * width + j];
        }
        for (const Span& column : windows.columns) {
          T total = 0;
          for (int64_t j = column.begin; j < column.end; ++j) total += sum[j];
          *to++ = total / static_cast<T>(row.divisor * column.divisor);
        }
      }
    }
  });
}

// What the windows of one row of them give is spread over the columns once, then added to each row of the span.
template <class T>
void spread(const Array& g, Array& out, const WindowSpans& windows) {
  std::fill_n(out.as<T>(), out.numel, T(0));
  if (g.numel == 0) return;
  const Packed packed(g);
  const int64_t width = out.shape[3], plane = out.shape[2] * width, places = g.shape[2] * g.shape[3];
  share(g.numel / places, kShare / (plane + 1) + 1, [&](int64_t begin, int64_t end) {
    std::vector<T> parts(static_cast<size_t>(width));
    T* __restrict part = parts.data();
    const T* from = packed.as<T>() + begin * places;
    for (T* q = out.as<T>() + begin * plane; q != out.as<T>() + end * plane; q += plane) {
      for (const Span& row : windows.rows) {
        std::fill_n(part, width, T(0));
        for (const Span& column : windows.columns) {
          const T each = *from++ / static_cast<T>(row.divisor * column.divisor);
          for (int64_t j = column.begin; j < column.end; ++j) part[j] += each;
        }
        for (int64_t i = row.begin; i < row.end; ++i) {
          for (int64_t j = 0; j < width; ++j) q[i * width + j] += part[j];
        }
      }
    }
  });
}

template <class T>
void avg_pool2d(In in, int, const Attrs& at, Array* out, int) {
  average<T>(*in[0], out[0], pooled_spans(*in[0], out[0], at));
}

// Inputs: the gradient of the means, the planes (their shape).
template <class T>
void avg_pool2d_grad(In in, int, const Attrs& at, Array* out, int) {
  spread<T>(*in[0], out[0], pooled_spans(out[0], *in[0], at));
}

template <class T>
void adaptive_avg_pool2d(In in, int, const Attrs&, Array* out, int) {
  average<T>(*in[0], out[0], even_spans(*in[0], out[0]));
}

template <class T>
void adaptive_avg_pool2d_grad(In in, int, const Attrs&, Array* out, int) {
  spread<T>(*in[0], out[0], even_spans(out[0], *in[0]));
}

template <class... Ts>
void add_for(KernelTable& table, Types<Ts...>) {
  (table.add("avg_pool2d", DTypeOf<Ts>::value, avg_pool2d<Ts>), ...);
  (table.add("avg_pool2d_grad", DTypeOf<Ts>::value, avg_pool2d_grad<Ts>), ...);
  (table.add("adaptive_avg_pool2d", DTypeOf<Ts>::value, adaptive_avg_pool2d<Ts>), ...);
  (table.add("adaptive_avg_pool2d_grad", DTypeOf<Ts>::value, adaptive_avg_pool2d_grad<Ts>), ...);
}

void add_kernels(KernelTable& table) { add_for(table, Floats{}); }

}  // namespace

}  // namespace perflab::LEVEL

#endif
