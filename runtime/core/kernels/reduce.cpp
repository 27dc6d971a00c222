// Sums and maxima over any axes, positions of maxima, and the sum that undoes a broadcast.
#ifndef LEVEL

#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>

#include "kernels/walk.h"
#include "rules.h"

namespace perflab {

namespace {

// The output of a reduction with the reduced axes of its input in place, as size 1: it broadcasts to the input.
Layout with_axes(const Layout& out, const Layout& a, const Attrs& at) {
  Layout kept = out;
  const unsigned gone = axes_of(a, at.v);
  kept.ndim = a.ndim;
  for (int i = 0; i < a.ndim; ++i) kept.shape[i] = gone >> i & 1 ? 1 : a.shape[i];
  kept.pack();
  return kept;
}

// Memory for the totals of a reduction that meets an output many times.
template <class T>
class Totals {
 public:
  Totals(int64_t n, T first)
      : many_(n > kFew ? new T[static_cast<size_t>(n)] : nullptr), p_(n > kFew ? many_.get() : few_) {
    for (int64_t i = 0; i < n; ++i) p_[i] = first;
  }
  T* get() { return p_; }

 private:
  static constexpr int64_t kFew = 128;
  T few_[kFew];
  std::unique_ptr<T[]> many_;
  T* p_;
};

}  // namespace

}  // namespace perflab

#define LEVEL_BODY "kernels/reduce.cpp"
#include "kernels/foreach_level.h"

namespace perflab {

void add_reduce_kernels(KernelTable& table) { LEVELS(add_kernels)(table); }

}  // namespace perflab

#else

#include "kernels/rows.h"

namespace perflab::LEVEL {

namespace {

constexpr int64_t kColumns = 256;  // joined at a time

// Joins n rows of m <= kColumns numbers, column by column, into `totals`. Strides in elements.
template <class R, class T, class Total>
void join_columns(const T* p, int64_t m, int64_t column, int64_t n, int64_t row, Total* totals) {
  constexpr int64_t kBlock = 64;  // rows summed before the total, which is wider, is met
  using Lane = std::conditional_t<std::is_floating_point_v<T>, T, Total>;
  Lane lane[kColumns];
  for (int64_t j = 0; j < m; ++j) totals[j] = R::template first<Total>();
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t end = n - at < kBlock ? n : at + kBlock;
    for (int64_t j = 0; j < m; ++j) lane[j] = R::template first<Lane>();
    for (int64_t i = at; i < end; ++i) {
      const T* from = p + i * row;
      if (column == 1) {
        for (int64_t j = 0; j < m; ++j) R::join(lane[j], static_cast<Lane>(from[j]));
      } else {
        for (int64_t j = 0; j < m; ++j) R::join(lane[j], static_cast<Lane>(from[j * column]));
      }
    }
    for (int64_t j = 0; j < m; ++j) R::join(totals[j], static_cast<Total>(lane[j]));
  }
}

// Rows that are short and without gaps are taken several at once, so that the loop along them stays long.
template <class R, class T, class Total>
void join_short_columns(const T* p, int64_t m, int64_t n, Total* totals) {
  const int64_t together = kColumns / m, wide = n / together;
  Total sums[kColumns];
  join_columns<R>(p, together * m, 1, wide, together * m, sums);
  for (int64_t j = 0; j < m; ++j) totals[j] = R::template first<Total>();
  for (int64_t k = 0; wide > 0 && k < together; ++k) {
    for (int64_t j = 0; j < m; ++j) R::join(totals[j], sums[k * m + j]);
  }
  for (int64_t i = wide * together; i < n; ++i) {
    for (int64_t j = 0; j < m; ++j) R::join(totals[j], static_cast<Total>(p[i * m + j]));
  }
}

// All of n numbers. Threads share blocks that depend on n alone, and so does the result.
template <class R, class T>
auto join_all(const T* p, int64_t n) {
  if (n < 2 * kShare) return join_row<R>(p, n, 1);
  constexpr int64_t kMost = 64;
  const int64_t block = n / kMost < kShare ? kShare : n / kMost, blocks = n / block;
  typename R::template Total<T> parts[2 * kMost];
  share(blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      parts[i] = join_row<R>(p + i * block, i + 1 == blocks ? n - i * block : block, 1);
    }
  });
  for (int64_t i = 1; i < blocks; ++i) R::join(parts[0], parts[i]);
  return parts[0];
}

// `out` broadcasts to a. Where an output is met once its total is final; else totals are kept until the end.
template <class R, class T, class O>
void reduce_to(const Array& a, const Layout& out) {
  using Total = typename R::template Total<T>;
  if (a.numel == 1) {
    *out.as<O>() = static_cast<O>(*a.as<T>());
    return;
  }
  if (a.contig && out.numel == 1 && a.numel > 0) {
    *out.as<O>() = static_cast<O>(join_all<R>(a.as<T>(), a.numel));
    return;
  }
  O* const to = out.as<O>();
  if (a.numel == 0) {
    for (int64_t i = 0; i < out.numel; ++i) to[i] = R::template first<O>();
    return;
  }
  const Layout* operands[] = {&a, &out};
  Walk w(operands, 2);
  const bool row = w.step[1] == 0;
  // Columns are joined along the axis next to the row. When that one is kept too, each row is joined by itself.
  int64_t n = 1, between = 0;
  if (!row && w.ndim > 0 && w.strides[w.ndim - 1][1] == 0) {
    --w.ndim;
    n = w.shape[w.ndim], w.rows /= n, between = w.strides[w.ndim][0] / static_cast<int64_t>(sizeof(T));
  }
  bool once = true;
  for (int d = 0; d < w.ndim; ++d) once &= w.strides[d][1] != 0;
  Totals<Total> totals(once ? 0 : out.numel, R::template first<Total>());
  const int64_t step = w.step[0] / static_cast<int64_t>(sizeof(T)), apart = w.step[1] / static_cast<int64_t>(sizeof(O));
  auto put = [&](int64_t at, Total total) {
    if (once) {
      to[at] = static_cast<O>(total);
    } else {
      R::join(totals.get()[at], total);
    }
  };
  auto join = [&](const Walk& w) {
    const int64_t at = w.as<O>(1) - to;
    const T* from = w.as<T>(0);
    if (row) return put(at, join_row<R>(from, w.n, step));
    share((w.n + kColumns - 1) / kColumns, kShare / (kColumns * n) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t j = begin * kColumns; j < end * kColumns && j < w.n; j += kColumns) {
        Total sums[kColumns];
        const int64_t m = w.n - j < kColumns ? w.n - j : kColumns;
        if (step == 1 && between == w.n && w.n <= kColumns / 2) {
          join_short_columns<R>(from, m, n, sums);
        } else {
          join_columns<R>(from + j * step, m, step, n, between, sums);
        }
        for (int64_t k = 0; k < m; ++k) put(at + (j + k) * apart, sums[k]);
      }
    });
  };
  if (once) {
    each_row(w, w.n * n, join);
  } else {
    do join(w);
    while (w.next());
  }
  for (int64_t i = 0; !once && i < out.numel; ++i) to[i] = static_cast<O>(totals.get()[i]);
}

template <class T, class O>
void sum(In in, int, const Attrs& at, Array* out, int) {
  if (out[0].numel == 1) return reduce_to<Sum, T, O>(*in[0], out[0]);
  reduce_to<Sum, T, O>(*in[0], with_axes(out[0], *in[0], at));
}

template <class T>
void max(In in, int, const Attrs& at, Array* out, int) {
  reduce_to<Max, T, T>(*in[0], with_axes(out[0], *in[0], at));
}

template <class T>
void unbroadcast(In in, int, const Attrs&, Array* out, int) {
  reduce_to<Sum, T, T>(*in[0], out[0]);
}

// The first maximum of n numbers; not-a-number counts as one.
template <class T>
int64_t first_maximum(const T* p, int64_t n, int64_t step) {
  const T most = join_row<Max>(p, n, step);
  int64_t i = 0;
  if (most == most) {
    while (p[i * step] != most) ++i;
  } else {
    while (p[i * step] == p[i * step]) ++i;
  }
  return i;
}

template <class T>
void argmax(In in, int, const Attrs& at, Array* out, int) {
  int64_t* to = out[0].as<int64_t>();
  if (in[0]->numel == 0) return;
  Array packed;
  const Array* a = in[0];
  const unsigned gone = axes_of(*a, at.v);
  const bool all = out[0].numel == 1 && gone + 1 == 1u << a->ndim;
  if (!a->contig) packed = cast(*a, a->dtype), a = &packed;
  if (all || a->ndim == 0) {
    *to = first_maximum(a->as<T>(), a->numel, 1);
    return;
  }
  if (__builtin_popcount(gone) != 1) {
    throw Error(ErrorKind::kValue, "a position counts along one axis, or all of them: give one of shape " + show(*a));
  }
  const int axis = __builtin_ctz(gone);
  int64_t inner = 1;
  for (int i = axis + 1; i < a->ndim; ++i) inner *= a->shape[i];
  const int64_t n = a->shape[axis], outer = a->numel / (n * inner);
  for (int64_t i = 0; i < outer; ++i) {
    for (int64_t j = 0; j < inner; ++j) *to++ = first_maximum(a->as<T>() + i * n * inner + j, n, inner);
  }
}

template <class T>
void add_float_kernels(KernelTable& table) {
  table.add("sum", DTypeOf<T>::value, sum<T, T>);
  table.add("amax", DTypeOf<T>::value, max<T>);
  table.add("argmax", DTypeOf<T>::value, argmax<T>);
  table.add("unbroadcast", DTypeOf<T>::value, unbroadcast<T>);
}

void add_kernels(KernelTable& table) {
  add_float_kernels<float>(table);
  add_float_kernels<double>(table);
  table.add("sum", DType::kBool, sum<bool, int64_t>);
  table.add("sum", DType::kInt32, sum<int32_t, int64_t>);
  table.add("sum", DType::kInt64, sum<int64_t, int64_t>);
}

}  // namespace

}  // namespace perflab::LEVEL

#endif
