// Normalisation in each channel, axis 1, and its gradients.
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

// An array as n times `count` channels of `inner` elements.
struct Channels {
  int64_t n, count, inner = 1;

  explicit Channels(const Layout& a) : n(a.shape[0]), count(a.shape[1]) {
    for (int i = 2; i < a.ndim; ++i) inner *= a.shape[i];
  }
  double size() const { return static_cast<double>(n * inner); }
};

// Two numbers for each channel, in memory of one piece.
template <class T>
class Pairs {
 public:
  explicit Pairs(int64_t count)
      : memory_(new T[static_cast<size_t>(2 * count)]), first(memory_.get()), second(first + count) {}

 private:
  std::unique_ptr<T[]> memory_;

 public:
  T *first, *second;
};

}  // namespace

}  // namespace perflab

#define LEVEL_BODY "kernels/batch_norm.cpp"
#include "kernels/foreach_level.h"

namespace perflab {

void add_batch_norm_kernels(KernelTable& table) { LEVELS(add_kernels)(table); }

}  // namespace perflab

#else

#include "kernels/rows.h"

namespace perflab::LEVEL {

namespace {

constexpr int64_t kColumns = 256, kRows = 32;  // of a block, where channels lie side by side
constexpr int64_t kPiece = 4096;               // elements of a channel that stay in the first cache

// Adds m numbers, of which mean and sum of squares about it are known, to others (Chan and others, 1983).
inline void merge(double& count, double& mean, double& squares, double m, double other_mean, double other_squares) {
  const double both = count + m, apart = other_mean - mean;
  mean += apart * m / both;
  squares += other_squares + apart * apart * count * m / both;
  count = both;
}

// Calls visit(channel, first element, elements) with each piece of the channels from `begin` to `end`.
template <class F>
void each_piece(const Channels& c, int64_t begin, int64_t end, const F& visit) {
  for (int64_t channel = begin; channel < end; ++channel) {
    for (int64_t i = 0; i < c.n; ++i) {
      const int64_t plane = (i * c.count + channel) * c.inner;
      for (int64_t at = 0; at < c.inner; at += kPiece)
        visit(channel, plane + at, c.inner - at < kPiece ? c.inner - at : kPiece);
    }
  }
}

// Shares the channels between threads, or blocks of them where they lie side by side.
template <class F>
void share_channels(const Channels& c, const F& work) {
  const int64_t together = c.inner == 1 ? kColumns : 1;
  share(
      (c.count + together - 1) / together, kShare / (c.n * c.inner * together + 1) + 1,
      [&](int64_t begin, int64_t end) { work(begin * together, end * together < c.count ? end * together : c.count); });
}

// The mean of each channel, and the mean square about it.
template <class T>
void moments(const Channels& c, const T* p, T* means, T* variances) {
  share_channels(c, [=](int64_t begin, int64_t end) {
    if (c.inner > 1) {
      for (int64_t channel = begin; channel < end; ++channel) {
        double count = 0, mean = 0, squares = 0;
        each_piece(c, channel, channel + 1, [&](int64_t, int64_t at, int64_t m) {
          const T* x = p + at;
          const T middle = sum_of<T>(m, [=](int64_t i) { return x[i]; }) / static_cast<T>(m);
          const T spread = sum_of<T>(m, [=](int64_t i) { return (x[i] - middle) * (x[i] - middle); });
          merge(count, mean, squares, static_cast<double>(m), middle, spread);
        });
        means[channel] = static_cast<T>(mean), variances[channel] = static_cast<T>(squares / count);
      }
      return;
    }
    for (int64_t from = begin; from < end; from += kColumns) {
      const int64_t m = end - from < kColumns ? end - from : kColumns;
      double mean[kColumns] = {}, squares[kColumns] = {};
      for (int64_t row = 0; row < c.n; row += kRows) {
        const int64_t last = c.n - row < kRows ? c.n : row + kRows;
        const T size = static_cast<T>(last - row);
        T middle[kColumns] = {}, spread[kColumns] = {};
        for (int64_t i = row; i < last; ++i) {
          for (int64_t j = 0; j < m; ++j) middle[j] += p[i * c.count + from + j];
        }
        for (int64_t j = 0; j < m; ++j) middle[j] /= size;
        for (int64_t i = row; i < last; ++i) {
          for (int64_t j = 0; j < m; ++j) {
            const T off = p[i * c.count + from + j] - middle[j];
            spread[j] += off * off;
          }
        }
        for (int64_t j = 0; j < m; ++j) {
          double count = static_cast<double>(row);
          merge(count, mean[j], squares[j], size, middle[j], spread[j]);
        }
      }
      for (int64_t j = 0; j < m; ++j) {
        means[from + j] = static_cast<T>(mean[j]);
        variances[from + j] = static_cast<T>(squares[j] / static_cast<double>(c.n));
      }
    }
  });
}

// The sums over each channel of g, and of g times the distance from the mean.
template <class T>
void gradient_sums(const Channels& c, const T* g, const T* p, const T* means, T* plain, T* along) {
  share_channels(c, [=](int64_t begin, int64_t end) {
    if (c.inner > 1) {
      for (int64_t channel = begin; channel < end; ++channel) {
        double first = 0, second = 0;
        each_piece(c, channel, channel + 1, [&](int64_t, int64_t at, int64_t m) {
          const T *x = p + at, *y = g + at, mean = means[channel];
          first += sum_of<T>(m, [=](int64_t i) { return y[i]; });
          second += sum_of<T>(m, [=](int64_t i) { return y[i] * (x[i] - mean); });
        });
        plain[channel] = static_cast<T>(first), along[channel] = static_cast<T>(second);
      }
      return;
    }
    for (int64_t from = begin; from < end; from += kColumns) {
      const int64_t m = end - from < kColumns ? end - from : kColumns;
      double first[kColumns] = {}, second[kColumns] = {};
      for (int64_t row = 0; row < c.n; row += kRows) {
        const int64_t last = c.n - row < kRows ? c.n : row + kRows;
        T a[kColumns] = {}, b[kColumns] = {};
        for (int64_t i = row; i < last; ++i) {
          const T *x = p + i * c.count + from, *y = g + i * c.count + from, *mean = means + from;
          for (int64_t j = 0; j < m; ++j) a[j] += y[j], b[j] += y[j] * (x[j] - mean[j]);
        }
        for (int64_t j = 0; j < m; ++j) first[j] += a[j], second[j] += b[j];
      }
      for (int64_t j = 0; j < m; ++j)
        plain[from + j] = static_cast<T>(first[j]), along[from + j] = static_cast<T>(second[j]);
    }
  });
}

// q[i] = f(i, channel of i) for all elements.
template <class T, class F>
void each_element(const Channels& c, T* __restrict q, const F& f) {
  if (c.inner == 1) {
    share(c.n, kShare / c.count + 1, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T* __restrict to = q + i * c.count;
#pragma GCC ivdep
        for (int64_t j = 0; j < c.count; ++j) to[j] = f(i * c.count + j, j);
      }
    });
    return;
  }
  share(c.n * c.count, kShare / c.inner + 1, [=](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t channel = plane % c.count;
      T* __restrict to = q + plane * c.inner;
#pragma GCC ivdep
      for (int64_t j = 0; j < c.inner; ++j) to[j] = f(plane * c.inner + j, channel);
    }
  });
}

// Of each channel the mean, and 1 / the standard deviation.
template <class T>
void scales(const Channels& c, const T* p, const Attrs& at, Pairs<T>& found) {
  const T eps = static_cast<T>(std::bit_cast<double>(at.v[0]));
  moments(c, p, found.first, found.second);
  for (int64_t j = 0; j < c.count; ++j) found.second[j] = T(1) / std::sqrt(found.second[j] + eps);
}

// Inputs: the values, weight, bias.
template <class T>
void batch_norm(In in, int, const Attrs& at, Array* out, int) {
  if (out[0].numel == 0) return;
  const Channels c(out[0]);
  const Packed a(*in[0]), weight(*in[1]), bias(*in[2]);
  const T *p = a.as<T>(), *w = weight.as<T>(), *b = bias.as<T>();
  Pairs<T> found(c.count);
  scales(c, p, at, found);
  const T *mean = found.first, *scale = found.second;
  each_element(c, out[0].as<T>(), [=](int64_t i, int64_t j) { return (p[i] - mean[j]) * (scale[j] * w[j]) + b[j]; });
}

// Inputs: the gradient of the result, the values, weight.
template <class T>
void batch_norm_input_grad(In in, int, const Attrs& at, Array* out, int) {
  if (out[0].numel == 0) return;
  const Channels c(out[0]);
  const Packed gradient(*in[0]), a(*in[1]), weight(*in[2]);
  const T *g = gradient.as<T>(), *p = a.as<T>(), *w = weight.as<T>();
  Pairs<T> found(c.count), sums(c.count);
  scales(c, p, at, found);
  T *mean = found.first, *scale = found.second, *even = sums.first, *slope = sums.second;
  gradient_sums(c, g, p, mean, even, slope);
  const T size = static_cast<T>(c.size());
  for (int64_t j = 0; j < c.count; ++j) {
    even[j] /= size, slope[j] *= scale[j] * scale[j] / size;
    scale[j] *= w[j];
  }
  each_element(c, out[0].as<T>(),
               [=](int64_t i, int64_t j) { return scale[j] * (g[i] - even[j] - (p[i] - mean[j]) * slope[j]); });
}

// Inputs: the gradient of the result, the values, weight (its shape).
template <class T>
void batch_norm_weight_grad(In in, int, const Attrs& at, Array* out, int) {
  T* q = out[0].as<T>();
  if (in[1]->numel == 0) {
    std::memset(out[0].data, 0, out[0].bytes());
    return;
  }
  const Channels c(*in[1]);
  const Packed gradient(*in[0]), a(*in[1]);
  Pairs<T> found(c.count), sums(c.count);
  scales(c, a.as<T>(), at, found);
  gradient_sums(c, gradient.as<T>(), a.as<T>(), found.first, sums.first, sums.second);
  for (int64_t j = 0; j < c.count; ++j) q[j] = sums.second[j] * found.second[j];
}

// Outputs: mean and variance of each channel.
template <class T>
void channel_moments(In in, int, const Attrs&, Array* out, int) {
  const Packed a(*in[0]);
  const Channels c(*in[0]);
  if (in[0]->numel) return moments(c, a.as<T>(), out[0].as<T>(), out[1].as<T>());
  for (int64_t j = 0; j < c.count; ++j) out[0].as<T>()[j] = out[1].as<T>()[j] = std::numeric_limits<T>::quiet_NaN();
}

// Inputs: the values, factor, shift.
template <class T>
void channel_affine(In in, int, const Attrs&, Array* out, int) {
  if (out[0].numel == 0) return;
  const Packed a(*in[0]), factor(*in[1]), shift(*in[2]);
  const T *p = a.as<T>(), *w = factor.as<T>(), *b = shift.as<T>();
  each_element(Channels(out[0]), out[0].as<T>(), [=](int64_t i, int64_t j) { return p[i] * w[j] + b[j]; });
}

template <class... Ts>
void add_for(KernelTable& table, Types<Ts...>) {
  (table.add("batch_norm", DTypeOf<Ts>::value, batch_norm<Ts>), ...);
  (table.add("batch_norm_input_grad", DTypeOf<Ts>::value, batch_norm_input_grad<Ts>), ...);
  (table.add("batch_norm_weight_grad", DTypeOf<Ts>::value, batch_norm_weight_grad<Ts>), ...);
  (table.add("channel_moments", DTypeOf<Ts>::value, channel_moments<Ts>), ...);
  (table.add("channel_affine", DTypeOf<Ts>::value, channel_affine<Ts>), ...);
}

void add_kernels(KernelTable& table) { add_for(table, Floats{}); }

}  // namespace

}  // namespace perflab::LEVEL

#endif
