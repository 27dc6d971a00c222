// Random numbers of Philox, to the last bit those of core/kernels/random.cpp, where the rules have their sources.
#pragma once

// Arithmetic that is never contracted to FMA, which the CPU's is not either.
struct Exact {
  double x;
};
__device__ inline Exact operator+(Exact a, Exact b) { return {__dadd_rn(a.x, b.x)}; }
__device__ inline Exact operator-(Exact a, Exact b) { return {__dsub_rn(a.x, b.x)}; }
__device__ inline Exact operator*(Exact a, Exact b) { return {__dmul_rn(a.x, b.x)}; }
__device__ inline Exact operator/(Exact a, Exact b) { return {__ddiv_rn(a.x, b.x)}; }

template <int N>
__device__ inline Exact polynomial(const double (&c)[N], Exact x) {
  Exact y = {c[N - 1]};
  for (int i = N - 2; i >= 0; --i) y = y * x + Exact{c[i]};
  return y;
}

__device__ inline Exact logarithm(Exact x) {
  const u64 bits = static_cast<u64>(__double_as_longlong(x.x));
  i32 exponent = static_cast<i32>(bits >> 52) - 1023;
  Exact m = {__longlong_as_double(static_cast<i64>((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull))};
  if (m.x > 1.4142135623730951) m = m * Exact{0.5}, ++exponent;
  const double series[] = {1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11,
                           1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23};
  const Exact one = {1.0}, two = {2.0}, s = (m - one) / (m + one), e = {static_cast<double>(exponent)};
  const Exact high = {6.93147180369123816490e-01}, low = {1.90821492927058770002e-10};
  return e * high + (two * s * polynomial(series, s * s) + e * low);
}

__device__ inline Exact middle(Exact q) {
  const double a[] = {3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3,
                      1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                      3.3430575583588128105e+4, 2.5090809287301226727e+3};
  const double b[] = {1.0,
                      4.2313330701600911252e+1,
                      6.8718700749205790830e+2,
                      5.3941960214247511077e+3,
                      2.1213794301586595867e+4,
                      3.9307895800092710610e+4,
                      2.8729085735721942674e+4,
                      5.2264952788528545610e+3};
  const Exact r = Exact{0.180625} - q * q;
  return q * polynomial(a, r) / polynomial(b, r);
}
__device__ inline Exact tail(Exact r) {
  const double c[] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                      3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                      2.27238449892691845833e-2, 7.74545014278341407640e-4};
  const double d[] = {1.0,
                      2.05319162663775882187e0,
                      1.67638483018380384940e0,
                      6.89767334985100004550e-1,
                      1.48103976427480074590e-1,
                      1.51986665636164571966e-2,
                      5.47593808499534494600e-4,
                      1.05075007164441684324e-9};
  return polynomial(c, r - Exact{1.6}) / polynomial(d, r - Exact{1.6});
}
__device__ inline Exact far_tail(Exact r) {
  const double e[] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                      2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                      2.71155556874348757815e-5, 2.01033439929228813265e-7};
  const double f[] = {1.0,
                      5.99832206555887937690e-1,
                      1.36929880922735805310e-1,
                      1.48753612908506148525e-2,
                      7.86869131145613259100e-4,
                      1.84631831751005468180e-5,
                      1.42151175831644588870e-7,
                      2.04426310338993978564e-15};
  return polynomial(e, r - Exact{5}) / polynomial(f, r - Exact{5});
}
__device__ inline Exact inverse_normal(Exact p) {
  const Exact q = p - Exact{0.5}, other = Exact{1} - p;
  if (q.x >= -0.425 && q.x <= 0.425) return middle(q);
  const Exact least = other.x < p.x ? other : p, log = logarithm(least), r = {__dsqrt_rn(-log.x)};
  const Exact value = r.x <= 5 ? tail(r) : far_tail(r);
  return {q.x < 0 ? -value.x : value.x};
}

__device__ inline void philox(u64 seed, u64 block, u64* words) {
  u32 c0 = static_cast<u32>(block), c1 = static_cast<u32>(block >> 32), c2 = 0, c3 = 0;
  u32 k0 = static_cast<u32>(seed), k1 = static_cast<u32>(seed >> 32);
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
    const u64 a = u64{0xD2511F53u} * c0, b = u64{0xCD9E8D57u} * c2;
    c0 = static_cast<u32>(b >> 32) ^ c1 ^ k0, c2 = static_cast<u32>(a >> 32) ^ c3 ^ k1;
    c1 = static_cast<u32>(b), c3 = static_cast<u32>(a);
  }
  words[0] = c0 | u64{c1} << 32, words[1] = c2 | u64{c3} << 32;
}

// out[i] = rule(number i); a thread makes the two numbers of a block of Philox.
template <class T, class Rule>
__device__ inline void fill(const Random& p, Rule rule) {
  const i64 step = static_cast<i64>(gridDim.x) * blockDim.x, blocks = (p.n + 1) / 2;
  for (i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; i < blocks; i += step) {
    u64 words[2];
    philox(p.seed, p.block + static_cast<u64>(i), words);
    for (int k = 0; k < 2 && 2 * i + k < p.n; ++k) static_cast<T*>(p.out)[2 * i + k] = static_cast<T>(rule(words[k]));
  }
}

constexpr double kUnit = 1.1102230246251565e-16;  // 2^-53

template <class T>
__device__ inline void random_uniform(const Random& p) {
  fill<T>(p, [&](u64 word) {
    const Exact part = {static_cast<double>(static_cast<i64>(word >> (64 - p.bits)))};
    return (Exact{p.from} + Exact{p.width} * (part * Exact{p.unit})).x;
  });
}

template <class T>
__device__ inline void random_normal(const Random& p) {
  fill<T>(p, [&](u64 word) {
    const Exact one_and = {__longlong_as_double(static_cast<i64>(word >> 12 | 0x3ff0000000000000ull))};
    const Exact at = Exact{p.from} + Exact{p.width} * (one_and - Exact{1 - kUnit});
    return (Exact{p.mean} + Exact{p.std} * inverse_normal(at)).x;
  });
}

template <class T>
__device__ inline void random_exponential(const Random& p) {
  fill<T>(p, [&](u64 word) {
    const Exact above = Exact{static_cast<double>(static_cast<i64>(word >> 11))} + Exact{1};
    return (Exact{-logarithm(above * Exact{kUnit}).x} / Exact{p.from}).x;
  });
}

template <class T>
__device__ inline void random_bernoulli(const Random& p) {
  fill<T>(p, [&](u64 word) { return static_cast<double>(static_cast<i64>(word >> 11)) * kUnit < p.from; });
}

template <class T>
__device__ inline void random_integers(const Random& p) {
  fill<T>(p, [&](u64 word) { return static_cast<u64>(p.least) + (p.span ? __umul64hi(p.span, word) : word); });
}
