// Random numbers; see random.h.
#ifndef LEVEL

#include "kernels/random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "threads.h"

namespace perflab {

namespace {

constexpr int64_t kBatch = 256;         // numbers made at once
constexpr int64_t kSharedBatches = 64;  // from which threads are worth it

// c[0] + c[1] * x + ...
template <int N>
inline double polynomial(const double (&c)[N], double x) {
  double y = c[N - 1];
  for (int i = N - 2; i >= 0; --i) y = y * x + c[i];
  return y;
}

// The logarithm of a normal positive number, within 2 units in the last place: the series of atanh.
inline double logarithm(double x) {
  uint64_t bits = std::bit_cast<uint64_t>(x);
  auto exponent = static_cast<int32_t>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xfffffffffffffu) | 0x3ff0000000000000u);
  if (m > 1.4142135623730951) m *= 0.5, ++exponent;
  constexpr double series[] = {1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11,
                               1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23};
  const double s = (m - 1) / (m + 1), e = static_cast<double>(exponent);
  return e * 6.93147180369123816490e-01 + (2 * s * polynomial(series, s * s) + e * 1.90821492927058770002e-10);
}

// Wichura's rational approximations of the normal distribution's inverse: `middle` where |p - 1/2| <= 0.425, else
// `tail` of sqrt(-log(min(p, 1 - p))), which beyond 5 is `far_tail`.
inline double middle(double q) {
  constexpr double a[] = {3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3,
                          1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                          3.3430575583588128105e+4, 2.5090809287301226727e+3};
  constexpr double b[] = {1.0,
                          4.2313330701600911252e+1,
                          6.8718700749205790830e+2,
                          5.3941960214247511077e+3,
                          2.1213794301586595867e+4,
                          3.9307895800092710610e+4,
                          2.8729085735721942674e+4,
                          5.2264952788528545610e+3};
  const double r = 0.180625 - q * q;
  return q * polynomial(a, r) / polynomial(b, r);
}
inline double tail(double r) {
  constexpr double c[] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                          3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                          2.27238449892691845833e-2, 7.74545014278341407640e-4};
  constexpr double d[] = {1.0,
                          2.05319162663775882187e0,
                          1.67638483018380384940e0,
                          6.89767334985100004550e-1,
                          1.48103976427480074590e-1,
                          1.51986665636164571966e-2,
                          5.47593808499534494600e-4,
                          1.05075007164441684324e-9};
  return polynomial(c, r - 1.6) / polynomial(d, r - 1.6);
}
inline double far_tail(double r) {
  constexpr double e[] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                          2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                          2.71155556874348757815e-5, 2.01033439929228813265e-7};
  constexpr double f[] = {1.0,
                          5.99832206555887937690e-1,
                          1.36929880922735805310e-1,
                          1.48753612908506148525e-2,
                          7.86869131145613259100e-4,
                          1.84631831751005468180e-5,
                          1.42151175831644588870e-7,
                          2.04426310338993978564e-15};
  return polynomial(e, r - 5) / polynomial(f, r - 5);
}

uint64_t below(uint64_t span, uint64_t word) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(word) * span >> 64);
}

}  // namespace

}  // namespace perflab

#define LEVEL_BODY "kernels/random.cpp"
#include "kernels/foreach_level.h"

namespace perflab {

namespace {

template <class F>
void visit_float(const Layout& out, F f) {
  if (out.dtype == DType::kFloat32) return f(float{});
  if (out.dtype == DType::kFloat64) return f(double{});
  throw Error(ErrorKind::kDType, std::string("random numbers are made as float32 or float64, not ") + name(out.dtype));
}

int64_t* integers(const Layout& out) {
  if (out.dtype == DType::kInt64) return out.as<int64_t>();
  throw Error(ErrorKind::kDType, std::string("random integers are made as int64, not ") + name(out.dtype));
}

// f(index, number) for each of n numbers.
template <class F>
void each(int64_t n, RandomState s, F f) {
  uint64_t words[kBatch];
  for (int64_t i = 0; i < n; i += kBatch, s.block += kBatch / 2) {
    LEVELS(philox)(s, words);
    for (int64_t k = 0; k < std::min(kBatch, n - i); ++k) f(i + k, words[k]);
  }
}

}  // namespace

void random_uniform(const Layout& out, RandomState s, double low, double high, int bits) {
  visit_float(out, [&](auto zero) {
    LEVELS(uniform<decltype(zero)>)(out.as<decltype(zero)>(), out.numel, s, low, high - low, bits);
  });
}

void random_normal(const Layout& out, RandomState s, double mean, double std, double p0, double p1) {
  visit_float(out, [&](auto zero) {
    LEVELS(normal<decltype(zero)>)(out.as<decltype(zero)>(), out.numel, s, mean, std, p0, p1 - p0);
  });
}

void random_exponential(const Layout& out, RandomState s, double rate) {
  visit_float(out,
              [&](auto zero) { LEVELS(exponential<decltype(zero)>)(out.as<decltype(zero)>(), out.numel, s, rate); });
}

void random_bernoulli(const Layout& out, RandomState s, double p) {
  if (out.dtype == DType::kBool) return LEVELS(bernoulli<bool>)(out.as<bool>(), out.numel, s, p);
  visit_float(out, [&](auto zero) { LEVELS(bernoulli<decltype(zero)>)(out.as<decltype(zero)>(), out.numel, s, p); });
}

void random_integers(const Layout& out, RandomState s, int64_t low, uint64_t span) {
  int64_t* to = integers(out);
  each(out.numel, s, [&](int64_t i, uint64_t word) {
    to[i] = static_cast<int64_t>(static_cast<uint64_t>(low) + (span ? below(span, word) : word));
  });
}

void random_permutation(const Layout& out, RandomState s) {
  int64_t *to = integers(out), n = out.numel;
  std::iota(to, to + n, int64_t{0});
  each(n, s, [&](int64_t i, uint64_t word) {
    std::swap(to[i], to[i + static_cast<int64_t>(below(static_cast<uint64_t>(n - i), word))]);
  });
}

}  // namespace perflab

#else

namespace perflab::LEVEL {

namespace {

// The numbers of kBatch / 2 blocks. The loops over blocks are the inner ones: they vectorise.
void philox(RandomState s, uint64_t* words) {
  constexpr int kBlocks = kBatch / 2;
  uint32_t c0[kBlocks], c1[kBlocks], c2[kBlocks] = {}, c3[kBlocks] = {};
  for (int i = 0; i < kBlocks; ++i) {
    c0[i] = static_cast<uint32_t>(s.block + static_cast<uint64_t>(i));
    c1[i] = static_cast<uint32_t>((s.block + static_cast<uint64_t>(i)) >> 32);
  }
  auto k0 = static_cast<uint32_t>(s.seed), k1 = static_cast<uint32_t>(s.seed >> 32);
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
    for (int i = 0; i < kBlocks; ++i) {
      const uint64_t a = uint64_t{0xD2511F53u} * c0[i], b = uint64_t{0xCD9E8D57u} * c2[i];
      c0[i] = static_cast<uint32_t>(b >> 32) ^ c1[i] ^ k0;
      c2[i] = static_cast<uint32_t>(a >> 32) ^ c3[i] ^ k1;
      c1[i] = static_cast<uint32_t>(b), c3[i] = static_cast<uint32_t>(a);
    }
  }
  for (int i = 0; i < kBlocks; ++i) {
    words[2 * i] = c0[i] | uint64_t{c1[i]} << 32;
    words[2 * i + 1] = c2[i] | uint64_t{c3[i]} << 32;
  }
}

// rule(words, values) makes kBatch values of as many numbers.
template <class T, class Rule>
void fill(T* out, int64_t n, RandomState s, Rule rule) {
  share((n + kBatch - 1) / kBatch, kSharedBatches, [=](int64_t begin, int64_t end) {
    uint64_t words[kBatch];
    double values[kBatch];
    for (int64_t batch = begin; batch < end; ++batch) {
      philox({s.seed, s.block + static_cast<uint64_t>(batch * kBatch / 2)}, words);
      rule(words, values);
      const int64_t i = batch * kBatch;
      for (int64_t k = 0; k < std::min(kBatch, n - i); ++k) out[i + k] = static_cast<T>(values[k]);
    }
  });
}

template <class T>
void uniform(T* out, int64_t n, RandomState s, double low, double width, int bits) {
  const double unit = std::ldexp(1.0, -bits);
  fill(out, n, s, [=](const uint64_t* words, double* values) {
    for (int k = 0; k < kBatch; ++k) {
      values[k] = low + width * (static_cast<double>(static_cast<int64_t>(words[k] >> (64 - bits))) * unit);
    }
  });
}

// The values at probabilities p in (0, 1). Those in the tails are gathered, so that their loop vectorises too.
void inverse_normal(const double* p, double* values) {
  int32_t outside[kBatch];
  double r[kBatch];
  int64_t n = 0;
  for (int k = 0; k < kBatch; ++k) values[k] = middle(p[k] - 0.5);
  for (int k = 0; k < kBatch; ++k) outside[n] = k, n += std::abs(p[k] - 0.5) > 0.425;
  for (int64_t i = 0; i < n; ++i) r[i] = std::min(p[outside[i]], 1 - p[outside[i]]);
  for (int64_t i = 0; i < n; ++i) r[i] = std::sqrt(-logarithm(r[i]));
  for (int64_t i = 0; i < n; ++i) {
    values[outside[i]] = std::copysign(r[i] <= 5 ? tail(r[i]) : far_tail(r[i]), p[outside[i]] - 0.5);
  }
}

template <class T>
void normal(T* out, int64_t n, RandomState s, double mean, double std, double p0, double width) {
  fill(out, n, s, [=](const uint64_t* words, double* values) {
    double p[kBatch];
    for (int k = 0; k < kBatch; ++k) {  // 52 bits between 1 and 2, less 1, plus half a bit: exact
      const double one_and = std::bit_cast<double>(words[k] >> 12 | 0x3ff0000000000000u);
      p[k] = p0 + width * (one_and - (1 - 0x1p-53));
    }
    inverse_normal(p, values);
    for (int k = 0; k < kBatch; ++k) values[k] = mean + std * values[k];
  });
}

template <class T>
void exponential(T* out, int64_t n, RandomState s, double rate) {
  fill(out, n, s, [=](const uint64_t* words, double* values) {
    for (int k = 0; k < kBatch; ++k) {
      values[k] = -logarithm((static_cast<double>(static_cast<int64_t>(words[k] >> 11)) + 1) * 0x1p-53) / rate;
    }
  });
}

template <class T>
void bernoulli(T* out, int64_t n, RandomState s, double p) {
  fill(out, n, s, [=](const uint64_t* words, double* values) {
    for (int k = 0; k < kBatch; ++k) {
      values[k] = static_cast<double>(static_cast<int64_t>(words[k] >> 11)) * 0x1p-53 < p ? 1 : 0;
    }
  });
}

}  // namespace

}  // namespace perflab::LEVEL

#endif
