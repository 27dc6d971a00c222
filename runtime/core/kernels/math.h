// Functions of one number, written so that loops of them vectorise. Included by bodies, once for each CPU level; no
// guard.

namespace perflab::LEVEL {

namespace {

inline uint32_t bits_of(float x) { return std::bit_cast<uint32_t>(x); }
inline float float_of(uint32_t bits) { return std::bit_cast<float>(bits); }

inline double exp_of(double x) { return std::exp(x); }
inline double log_of(double x) { return std::log(x); }
inline double tanh_of(double x) { return std::tanh(x); }
inline double expm1_of(double x) { return std::expm1(x); }
inline double log1p_of(double x) { return std::log1p(x); }
inline double erf_of(double x) { return std::erf(x); }
inline double erfc_of(double x) { return std::erfc(x); }
inline double pow_of(double x, double y) { return std::pow(x, y); }

// c[0] + c[1] * x + ...
template <class T, int N>
inline T polynomial(const double (&c)[N], T x) {
  T y = static_cast<T>(c[N - 1]);
  for (int i = N - 2; i >= 0; --i) y = y * x + static_cast<T>(c[i]);
  return y;
}

// x = k ln 2 + r with |r| <= ln 2 / 2; e^r by a polynomial (minimax, 3e-9), and 2^k in two factors, so that results
// reach down to the smallest denormal and up to infinity. Within 1 ulp.
inline float exp_of(float x) {
  constexpr float kRound = 12582912.f;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  x = x < -104.f ? -104.f : x;
  x = x > 89.f ? 89.f : x;
  const float shifted = x * 1.44269504f + kRound;
  const float k = shifted - kRound;
  const float r = (x - k * 0.693359375f) - k * -2.12194440e-4f;
  float p = 1.381446685e-3f;
  p = p * r + 8.368780418e-3f;
  p = p * r + 4.166839422e-2f;
  p = p * r + 0.166665201f;
  p = p * r + 0.499999934f;
  p = p * (r * r) + r + 1.f;
  const int32_t n = static_cast<int32_t>(bits_of(shifted) - bits_of(kRound)), half = n >> 1;
  const uint32_t low = static_cast<uint32_t>(half + 127) << 23, high = static_cast<uint32_t>(n - half + 127) << 23;
  return p * float_of(low) * float_of(high);
}

// x = 2^k m with m in [sqrt(1/2), sqrt(2)); log m by a polynomial (minimax, 8e-10). Within 1 ulp.
inline float log_of(float x) {
  constexpr float kSmallest = 1.17549435e-38f;  // below it numbers are denormal
  constexpr uint32_t kRootHalf = 0x3f3504f3, kOne = 0x3f800000;
  const bool tiny = x < kSmallest;
  const uint32_t bits = bits_of(tiny ? x * 8388608.f : x) + (kOne - kRootHalf);
  const float k = static_cast<float>(static_cast<int32_t>(bits >> 23) - 127) - (tiny ? 23.f : 0.f);
  const float f = float_of((bits & 0x007fffff) + kRootHalf) - 1.f;
  float p = 6.746640324e-2f;
  p = p * f - 0.116756518f;
  p = p * f + 0.118881623f;
  p = p * f - 0.124055889f;
  p = p * f + 0.142195524f;
  p = p * f - 0.166679959f;
  p = p * f + 0.200021187f;
  p = p * f - 0.250000096f;
  p = p * f + 0.333333126f;
  const float square = f * f;
  float y = p * f * square + k * -2.12194440e-4f;
  y = y - 0.5f * square;
  y = (f + y) + k * 0.693359375f;
  y = x == std::numeric_limits<float>::infinity() ? x : y;
  y = x == 0.f ? -std::numeric_limits<float>::infinity() : y;
  return x >= 0.f ? y : std::numeric_limits<float>::quiet_NaN();
}

// A polynomial near 0 (minimax, 5e-9), 1 - 2 / (e^2x + 1) elsewhere. Within 2 ulp.
inline float tanh_of(float x) {
  const float size = float_of(bits_of(x) & 0x7fffffff), z = x * x;
  float p = -5.70498677e-3f;
  p = p * z + 2.063908700e-2f;
  p = p * z - 5.373971500e-2f;
  p = p * z + 0.133314422f;
  p = p * z - 0.333332819f;
  const float near = p * z * size + size, far = 1.f - 2.f / (exp_of(2.f * size) + 1.f);
  return float_of(bits_of(size < 0.625f ? near : far) | (bits_of(x) & 0x80000000));
}

// log(1 + x) for finite x above -1: what 1 + x loses by rounding comes back to first order. Within 2 ulp.
inline float log1p_inside(float x) {
  const float sum = 1.f + x, lost = x - (sum - 1.f);
  return log_of(sum) + lost / sum;
}
inline double log1p_inside(double x) { return std::log1p(x); }
inline float log1p_of(float x) {
  const float sum = 1.f + x, y = log1p_inside(x);
  const float far = x == std::numeric_limits<float>::infinity() || sum == 0.f ? log_of(sum) : y;
  return sum == 1.f ? x : far;
}

// Near 0 the series; elsewhere exp(x) - 1. Within 2 ulp.
inline float expm1_of(float x) {
  constexpr double series[] = {1,        1. / 2,    1. / 6,     1. / 24,     1. / 120,
                               1. / 720, 1. / 5040, 1. / 40320, 1. / 362880, 1. / 3628800};
  const float near = x * polynomial(series, x), far = exp_of(x) - 1.f;
  return x > -1.f && x < 1.f ? near : far;
}

// e^x within 3e-10, for results that a float holds; others are 0 or infinite as a float.
inline double exp_narrow(double x) {
  constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52
  constexpr double series[] = {1., 1., 1. / 2, 1. / 6, 1. / 24, 1. / 120, 1. / 720, 1. / 5040, 1. / 40320};
  x = x < -120 ? -120 : x;
  x = x > 120 ? 120 : x;
  const double shifted = x * 1.4426950408889634 + kRound, k = shifted - kRound;
  const uint64_t power = (std::bit_cast<uint64_t>(shifted) - std::bit_cast<uint64_t>(kRound) + 1023) << 52;
  return polynomial(series, x - k * 0.69314718055994531) * std::bit_cast<double>(power);
}

// The natural logarithm of a positive normal number within 2e-12: x = 2^k m, and log m by the series of atanh.
inline double log_narrow(double x) {
  constexpr uint64_t kRootHalf = 0x3fe6a09e667f3bcd, kOne = 0x3ff0000000000000;
  constexpr double series[] = {2., 2. / 3, 2. / 5, 2. / 7, 2. / 9, 2. / 11, 2. / 13};
  const uint64_t bits = std::bit_cast<uint64_t>(x) + (kOne - kRootHalf);
  const double k = static_cast<double>(static_cast<int64_t>(bits >> 52) - 1023);
  const double m = std::bit_cast<double>((bits & 0x000fffffffffffff) + kRootHalf), s = (m - 1) / (m + 1);
  return s * polynomial(series, s * s) + k * 0.69314718055994531;
}

// |x|^y = exp(y log|x|) in double precision; the rest are C's rules for zeros, infinities and signs. Within 1 ulp.
inline float pow_of(float x, float y) {
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  const float size = float_of(bits_of(x) & 0x7fffffff), high = float_of(bits_of(y) & 0x7fffffff);
  double log = log_narrow(static_cast<double>(size));
  log = size == 0.f ? -std::numeric_limits<double>::infinity() : log;
  log = size < kInf ? log : static_cast<double>(size);  // infinite, or not a number
  float r = static_cast<float>(exp_narrow(static_cast<double>(y) * log));
  const bool whole = high >= 8388608.f || std::trunc(y) == y;
  const float half = 0.5f * y;
  const bool odd = whole && high < 16777216.f && std::trunc(half) != half;
  r = x < 0.f && size < kInf && !whole ? kNan : r;
  r = float_of(bits_of(r) ^ (odd ? bits_of(x) & 0x80000000 : 0));
  return (y == 0.f) | (x == 1.f) | ((x == -1.f) & (high == kInf)) ? 1.f : r;
}

// erfc(x), for x >= 0 and e = exp(-x^2): e times a function of t = 1 / (1 + 0.35 x) that is nearly straight, which is t
// times a polynomial (minimax, 2e-9).
template <class T>
inline T erfc_tail(T x, T e) {
  constexpr double c[] = {0.19744699754993023,  0.19793221425604035, 0.18044035380818824,  0.19142386994564106,
                          0.008104055706159663, 0.4014573357219264,  -0.5110321639395998,  0.6768365859685178,
                          -0.48342561985868154, 0.16126850828724773, -0.020452136135812107};
  const T t = T(1) / (T(1) + T(0.35) * x);
  return e * (t * polynomial(c, t));
}

// Within 1 ulp: in double precision, since the rounding of x^2 counts.
inline float erfc_of(float x) {
  const double size = static_cast<double>(float_of(bits_of(x) & 0x7fffffff));
  const float tail = static_cast<float>(erfc_tail(size, exp_narrow(-size * size)));
  return x < 0 ? 2.f - tail : tail;
}

// Below 1 an odd polynomial (minimax, 2e-9). Within 2 ulp.
inline float erf_of(float x) {
  constexpr double c[] = {1.1283791657266729,   -0.3761262582396428,    0.11283585145562262,  -0.026853811807604967,
                          0.005188327443086712, -0.0008010191493203699, 7.853854312461032e-05};
  const float size = float_of(bits_of(x) & 0x7fffffff), square = size * size;
  const float near = size * polynomial(c, square), far = 1.f - erfc_tail(size, exp_of(-square));
  return float_of(bits_of(size < 1.f ? near : far) | (bits_of(x) & 0x80000000));
}

template <class T>
inline T sigmoid_of(T x) {
  const T e = exp_of(x < 0 ? x : -x);  // never overflows
  return (x < 0 ? e : T(1)) / (T(1) + e);
}

}  // namespace

}  // namespace perflab::LEVEL
