// Functions of one number, written so that loops of them vectorise. Included by bodies, once for each CPU level; no
// guard.

namespace perflab::LEVEL {

namespace {

inline uint32_t bits_of(float x) { return std::bit_cast<uint32_t>(x); }
inline float float_of(uint32_t bits) { return std::bit_cast<float>(bits); }

inline double exp_of(double x) { return std::exp(x); }
inline double log_of(double x) { return std::log(x); }
inline double tanh_of(double x) { return std::tanh(x); }

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

template <class T>
inline T sigmoid_of(T x) {
  const T e = exp_of(x < 0 ? x : -x);  // never overflows
  return (x < 0 ? e : T(1)) / (T(1) + e);
}

}  // namespace

}  // namespace perflab::LEVEL
