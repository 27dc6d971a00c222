// Softmax and its logarithm along an axis.
#ifndef LEVEL

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/walk.h"
#include "rules.h"

#define LEVEL_BODY "kernels/softmax.cpp"
#include "kernels/foreach_level.h"

namespace perflab {

void add_softmax_kernels(KernelTable& table) { LEVELS(add_kernels)(table); }

}  // namespace perflab

#else

#include "kernels/math.h"
#include "kernels/rows.h"

namespace perflab::LEVEL {

namespace {

// The largest number but not-a-number, which reaches the results by the sum anyhow.
struct Largest {
  template <class T>
  using Total = T;
  template <class T>
  static constexpr T first() {
    return -std::numeric_limits<T>::infinity();
  }
  template <class V>
  static void join(V& a, const V& b) {
    a = b > a ? b : a;
  }
};

// m <= kRows rows of n numbers. Step by step over several rows, so that a row need not wait for the one before it.
constexpr int64_t kRows = 8;
template <bool kLog, class T>
[[gnu::noinline]] void softmax_rows(const T* __restrict p, T* __restrict q, int64_t m, int64_t n) {
  T most[kRows], total[kRows];
  for (int64_t i = 0; i < m; ++i) most[i] = join_row<Largest>(p + i * n, n, 1);
  for (int64_t i = 0; i < m; ++i) {
    const T x = most[i];
    for (int64_t j = i * n; j < (i + 1) * n; ++j) q[j] = exp_of(p[j] - x);
  }
  for (int64_t i = 0; i < m; ++i) total[i] = static_cast<T>(join_row<Sum>(q + i * n, n, 1));
  for (int64_t i = 0; i < m; ++i) total[i] = kLog ? log_of(total[i]) : T(1) / total[i];
  for (int64_t i = 0; i < m; ++i) {
    const T x = most[i], y = total[i];
    for (int64_t j = i * n; j < (i + 1) * n; ++j) q[j] = kLog ? (p[j] - x) - y : q[j] * y;
  }
}

// m <= kColumns neighbouring columns of n numbers, which are `row` apart.
constexpr int64_t kColumns = 128;
template <bool kLog, class T>
[[gnu::noinline]] void softmax_columns(const T* __restrict p, T* __restrict q, int64_t m, int64_t n, int64_t row) {
  T most[kColumns], total[kColumns];
  for (int64_t j = 0; j < m; ++j) most[j] = p[j], total[j] = 0;
  for (int64_t i = 1; i < n; ++i) {
    for (int64_t j = 0; j < m; ++j) Largest::join(most[j], p[i * row + j]);
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < m; ++j) {
      const T e = exp_of(p[i * row + j] - most[j]);
      q[i * row + j] = e;
      total[j] += e;
    }
  }
  for (int64_t j = 0; j < m; ++j) total[j] = kLog ? log_of(total[j]) : T(1) / total[j];
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < m; ++j) {
      const int64_t at = i * row + j;
      q[at] = kLog ? (p[at] - most[j]) - total[j] : q[at] * total[j];
    }
  }
}

template <bool kLog, class T>
void softmax(In in, int, const Attrs& at, Array* out, int) {
  const Array* a = in[0];
  if (a->numel <= 1) {
    if (a->numel == 1) {
      const T x = *a->template as<T>(), zero = x - x;  // or not-a-number
      *out[0].as<T>() = kLog ? zero : zero + 1;
    }
    return;
  }
  Array packed;
  if (!a->contig) packed = cast(*a, a->dtype), a = &packed;
  const int axis = axis_of(*a, at.v[0]);
  int64_t n = 1, inner = 1;
  if (a->ndim > 0) n = a->shape[axis];
  for (int i = axis + 1; i < a->ndim; ++i) inner *= a->shape[i];
  const T* p = a->template as<T>();
  T* q = out[0].as<T>();
  if (inner == 1) {
    const int64_t rows = a->numel / n, together = n <= 256 ? kRows : 1;  // what stays in the first cache
    share(rows, kShare / n + 1, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i += together) {
        softmax_rows<kLog>(p + i * n, q + i * n, end - i < together ? end - i : together, n);
      }
    });
    return;
  }
  share(a->numel / (n * inner), kShare / (n * inner) + 1, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin * n * inner; i < end * n * inner; i += n * inner) {
      for (int64_t j = 0; j < inner; j += kColumns) {
        softmax_columns<kLog>(p + i + j, q + i + j, inner - j < kColumns ? inner - j : kColumns, n, inner);
      }
    }
  });
}

void add_kernels(KernelTable& table) {
  table.add("softmax", DType::kFloat32, softmax<false, float>);
  table.add("softmax", DType::kFloat64, softmax<false, double>);
  table.add("log_softmax", DType::kFloat32, softmax<true, float>);
  table.add("log_softmax", DType::kFloat64, softmax<true, double>);
}

}  // namespace

}  // namespace perflab::LEVEL

#endif
