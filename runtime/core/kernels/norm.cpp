// Normalisation over the last axes, and its gradients.
#ifndef LEVEL

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>

#include "kernels/packed.h"
#include "kernels/walk.h"

namespace perflab {

namespace {

// A row has mean 0 and variance 1 after (x - mean) * scale.
template <class T>
struct RowScale {
  T mean, scale;
};

// As rows of n = weight's elements.
struct Rows {
  int64_t n, count, grain;

  Rows(const Layout& a, const Layout& weight)
      : n(weight.numel), count(n ? a.numel / n : 0), grain(n ? kShare / n + 1 : 1) {}
};

}  // namespace

}  // namespace perflab

#define LEVEL_BODY "kernels/norm.cpp"
#include "kernels/foreach_level.h"

namespace perflab {

void add_norm_kernels(KernelTable& table) { LEVELS(add_kernels)(table); }

}  // namespace perflab

#else

#include "kernels/rows.h"

namespace perflab::LEVEL {

namespace {

template <class T>
RowScale<T> row_scale(const T* p, int64_t n, T eps) {
  const T size = static_cast<T>(n), mean = sum_of<T>(n, [=](int64_t i) { return p[i]; }) / size;
  const T variance = sum_of<T>(n, [=](int64_t i) { return (p[i] - mean) * (p[i] - mean); }) / size;
  return {mean, T(1) / std::sqrt(variance + eps)};
}

template <class T>
T epsilon(const Attrs& at) {
  return static_cast<T>(std::bit_cast<double>(at.v[0]));
}

// Inputs: the rows, weight, bias.
template <class T>
void layer_norm(In in, int, const Attrs& at, Array* out, int) {
  const Rows rows(out[0], *in[1]);
  const Packed a(*in[0]), weight(*in[1]), bias(*in[2]);
  const T *p = a.as<T>(), *w = weight.as<T>(), *b = bias.as<T>(), eps = epsilon<T>(at);
  T* q = out[0].as<T>();
  share(rows.count, rows.grain, [=, n = rows.n](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* __restrict from = p + i * n;
      T* __restrict to = q + i * n;
      const RowScale<T> s = row_scale(from, n, eps);
      for (int64_t j = 0; j < n; ++j) to[j] = (from[j] - s.mean) * s.scale * w[j] + b[j];
    }
  });
}

// Inputs: the gradient of the result, the rows, weight.
template <class T>
void layer_norm_input_grad(In in, int, const Attrs& at, Array* out, int) {
  const Rows rows(out[0], *in[2]);
  const Packed gradient(*in[0]), a(*in[1]), weight(*in[2]);
  const T *g0 = gradient.as<T>(), *p = a.as<T>(), *w = weight.as<T>(), eps = epsilon<T>(at);
  T* q = out[0].as<T>();
  share(rows.count, rows.grain, [=, n = rows.n](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* __restrict from = p + i * n, * __restrict g = g0 + i * n;
      T* __restrict to = q + i * n;
      const RowScale<T> s = row_scale(from, n, eps);
      const T even = sum_of<T>(n, [=](int64_t j) { return g[j] * w[j]; }) / static_cast<T>(n);
      const T along = sum_of<T>(n, [=](int64_t j) { return g[j] * w[j] * ((from[j] - s.mean) * s.scale); });
      const T slope = along / static_cast<T>(n);
      for (int64_t j = 0; j < n; ++j) to[j] = s.scale * (g[j] * w[j] - even - (from[j] - s.mean) * s.scale * slope);
    }
  });
}

// Inputs: the gradient of the result, the rows, weight (its shape).
template <class T>
void layer_norm_weight_grad(In in, int, const Attrs& at, Array* out, int) {
  constexpr int64_t kColumns = 256, kBlock = 64;  // summed at a time; rows until the wider total is met
  const Rows rows(*in[1], out[0]);
  const Packed gradient(*in[0]), a(*in[1]);
  const T *g0 = gradient.as<T>(), *p = a.as<T>(), eps = epsilon<T>(at);
  T* q = out[0].as<T>();
  const int64_t n = rows.n, count = rows.count;
  const std::unique_ptr<RowScale<T>[]> scales(new RowScale<T>[static_cast<size_t>(count)]);
  RowScale<T>* s = scales.get();
  share(count, rows.grain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) s[i] = row_scale(p + i * n, n, eps);
  });
  const int64_t parts = (n + kColumns - 1) / kColumns;
  share(parts, kShare / (count * kColumns + 1) + 1, [=](int64_t begin, int64_t end) {
    for (int64_t from = begin * kColumns; from < end * kColumns && from < n; from += kColumns) {
      const int64_t m = n - from < kColumns ? n - from : kColumns;
      double totals[kColumns] = {};
      for (int64_t block = 0; block < count; block += kBlock) {
        T sums[kColumns] = {};
        for (int64_t i = block; i < count && i < block + kBlock; ++i) {
          const T *x = p + i * n + from, *g = g0 + i * n + from, mean = s[i].mean, scale = s[i].scale;
          for (int64_t j = 0; j < m; ++j) sums[j] += g[j] * ((x[j] - mean) * scale);
        }
        for (int64_t j = 0; j < m; ++j) totals[j] += sums[j];
      }
      for (int64_t j = 0; j < m; ++j) q[from + j] = static_cast<T>(totals[j]);
    }
  });
}

template <class... Ts>
void add_for(KernelTable& table, Types<Ts...>) {
  (table.add("layer_norm", DTypeOf<Ts>::value, layer_norm<Ts>), ...);
  (table.add("layer_norm_input_grad", DTypeOf<Ts>::value, layer_norm_input_grad<Ts>), ...);
  (table.add("layer_norm_weight_grad", DTypeOf<Ts>::value, layer_norm_weight_grad<Ts>), ...);
}

void add_kernels(KernelTable& table) { add_for(table, Floats{}); }

}  // namespace

}  // namespace perflab::LEVEL

#endif
