// Running sums, products and extrema along an axis.
#ifndef LEVEL

#include <limits>
#include <type_traits>

#include "kernels/packed.h"
#include "kernels/walk.h"
#include "rules.h"

namespace perflab {

namespace {

// An array cut at one axis: `outer` times n slices of `inner` elements.
struct Slices {
  int64_t outer = 1, n = 1, inner = 1;

  Slices(const Layout& a, int64_t which) {
    const int axis = axis_of(a, which);
    for (int i = 0; i < axis; ++i) outer *= a.shape[i];
    if (a.ndim > 0) n = a.shape[axis];
    for (int i = axis + 1; i < a.ndim; ++i) inner *= a.shape[i];
  }
};

}  // namespace

}  // namespace perflab

#define LEVEL_BODY "kernels/running.cpp"
#include "kernels/foreach_level.h"

namespace perflab {

void add_running_kernels(KernelTable& table) { LEVELS(add_kernels)(table); }

}  // namespace perflab

#else

namespace perflab::LEVEL {

namespace {

constexpr int64_t kColumns = 128;  // next to each other, taken at a time

// Floats are gathered in doubles, integers wrap around.
template <class T>
using Total = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;

// `meet(state, x, i)` takes the i-th element of a row into its state and gives what stands there in the output.
template <class State, class T, class O, class Meet>
void run_columns(const T* __restrict p, O* __restrict q, int64_t m, int64_t n, int64_t step, const Meet& meet) {
  State state[kColumns];
  for (int64_t i = 0; i < n; ++i, p += step, q += step) {
    for (int64_t j = 0; j < m; ++j) q[j] = meet(state[j], p[j], i);
  }
}

template <class State, int kCount, class T, class O, class Meet>
void run_rows(const T* __restrict p, O* __restrict q, int64_t apart, int64_t n, int64_t step, const Meet& meet) {
  State state[kCount];
  for (int64_t i = 0; i < n; ++i, p += step, q += step) {
    for (int k = 0; k < kCount; ++k) q[k * apart] = meet(state[k], p[k * apart], i);
  }
}

template <class State, class T, class O, class Meet>
void run_along(const Array& a, int64_t axis, bool reverse, Array& out, const Meet& meet) {
  if (out.numel == 0) return;
  const Slices cut(a, axis);
  const Packed packed(a);
  const int64_t n = cut.n, inner = cut.inner, step = reverse ? -inner : inner, first = reverse ? (n - 1) * inner : 0;
  const T* p = packed.as<T>() + first;
  O* q = out.as<O>() + first;
  constexpr int kRows = State::kRows;
  if (inner == 1) {
    share(cut.outer, kShare / n + 1, [=](int64_t begin, int64_t end) {
      int64_t i = begin;
      for (; i + kRows <= end; i += kRows) run_rows<State, kRows>(p + i * n, q + i * n, n, n, step, meet);
      for (; i < end; ++i) run_rows<State, 1>(p + i * n, q + i * n, n, n, step, meet);
    });
    return;
  }
  const int64_t blocks = (inner + kColumns - 1) / kColumns;
  share(cut.outer * blocks, kShare / (n * kColumns) + 1, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = i % blocks * kColumns, at = i / blocks * n * inner + column;
      const int64_t m = inner - column < kColumns ? inner - column : kColumns;
      run_columns<State>(p + at, q + at, m, n, step, meet);
    }
  });
}

template <class T>
struct SumState {
  static constexpr int kRows = 4;  // taken at a time: each waits for its own last result
  Total<T> total = 0;
  void take(T x) { total += static_cast<Total<T> >(x); }
};

template <class T>
struct ProductState {
  static constexpr int kRows = 4;
  Total<T> total = 1;
  void take(T x) { total *= static_cast<Total<T> >(x); }
};

// Attributes: axis, reverse, exclusive: without the element itself.
template <class State, class T>
void running_total(In in, int, const Attrs& at, Array* out, int) {
  if (at.v[2]) {
    return run_along<State, T, T>(*in[0], at.v[0], at.v[1], out[0], [](State& s, T x, int64_t) {
      const T before = static_cast<T>(s.total);
      s.take(x);
      return before;
    });
  }
  run_along<State, T, T>(*in[0], at.v[0], at.v[1], out[0], [](State& s, T x, int64_t) {
    s.take(x);
    return static_cast<T>(s.total);
  });
}

template <class T>
struct ExtremumState {
  static constexpr int kRows = 1;
  T best = 0;
  int64_t place = 0;
};

// The last of equal ones; not-a-number wins, and later ones of it.
template <bool kLargest, class T>
void running_extremum(const Array& a, int64_t axis, Array& out) {
  run_along<ExtremumState<T>, T, int64_t>(a, axis, false, out, [](ExtremumState<T>& s, T x, int64_t i) {
    const bool better = (kLargest ? x >= s.best : x <= s.best) | (x != x) | (i == 0);
    if (better) s.best = x, s.place = i;
    return s.place;
  });
}

template <class T>
void running_extremum(In in, int, const Attrs& at, Array* out, int) {
  if (at.v[1]) return running_extremum<true, T>(*in[0], at.v[0], out[0]);
  running_extremum<false, T>(*in[0], at.v[0], out[0]);
}

template <class... Ts>
void add_totals(KernelTable& table, Types<Ts...>) {
  (table.add("running_sum", DTypeOf<Ts>::value, running_total<SumState<Ts>, Ts>), ...);
  (table.add("running_product", DTypeOf<Ts>::value, running_total<ProductState<Ts>, Ts>), ...);
}

template <class... Ts>
void add_extrema(KernelTable& table, Types<Ts...>) {
  (table.add("running_extremum", DTypeOf<Ts>::value, running_extremum<Ts>), ...);
}

void add_kernels(KernelTable& table) {
  add_totals(table, Types<int64_t, float, double>{});
  add_extrema(table, Numbers{});
}

}  // namespace

}  // namespace perflab::LEVEL

#endif
