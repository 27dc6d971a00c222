// The two floats of 16 bits, as storage: arithmetic on them is done in float and rounded once.
#pragma once
#include <bit>
#include <cstdint>

namespace perflab {

// IEEE 754 binary16: 1 sign, 5 exponent, 10 significand bits.
struct Float16 {
  uint16_t bits = 0;

  constexpr Float16() = default;
  constexpr explicit Float16(float x) : bits(round(x)) {}
  constexpr explicit Float16(double x) : bits(round(odd(x))) {}
  template <class Int>
  constexpr explicit Float16(Int x) : Float16(static_cast<double>(x)) {}

  constexpr operator float() const {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16, rest = bits & 0x7fff;
    if (rest >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | (rest & 0x3ff) << 13);  // infinity, NaN
    if (rest >= 0x0400) return std::bit_cast<float>(sign | ((rest << 13) + (112u << 23)));
    const float tiny = static_cast<float>(rest) * 0x1p-24f;  // exact
    return sign ? -tiny : tiny;
  }

 private:
  static constexpr uint16_t round(float x) {  // to nearest, ties to even
    const uint32_t u = std::bit_cast<uint32_t>(x), sign = u >> 16 & 0x8000, rest = u & 0x7fffffff;
    if (rest > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00 | (rest >> 13 & 0x3ff));
    if (rest >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);  // 65520 and more
    if (rest < 0x38800000) {  // below 2^-14: adding 0.5 leaves the value in units of 2^-24, rounded
      const float units = std::bit_cast<float>(rest) + 0.5f;
      return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(units) - 0x3f000000));
    }
    return static_cast<uint16_t>(sign | ((rest + 0xfff + (rest >> 13 & 1) - (112u << 23)) >> 13));
  }
  // A float that rounds to 16 bits as x does: cut, with the last bit set where something was cut off.
  static constexpr float odd(double x) {
    float f = static_cast<float>(x);
    if (static_cast<double>(f) == x || x != x) return f;
    uint32_t u = std::bit_cast<uint32_t>(f);
    const bool grew = (f > 0 ? f : -f) > (x > 0 ? x : -x);
    if (grew) --u;
    return std::bit_cast<float>(u | 1);
  }
};

// The upper half of a float: 1 sign, 8 exponent, 7 significand bits.
struct BFloat16 {
  uint16_t bits = 0;

  constexpr BFloat16() = default;
  constexpr explicit BFloat16(float x) : bits(round(x)) {}
  template <class Number>
  constexpr explicit BFloat16(Number x) : bits(round(static_cast<float>(x))) {}

  constexpr operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

 private:
  static constexpr uint16_t round(float x) {  // to nearest, ties to even
    const uint32_t u = std::bit_cast<uint32_t>(x);
    if (x != x) return static_cast<uint16_t>(u >> 16 | 0x40);
    return static_cast<uint16_t>((u + 0x7fff + (u >> 16 & 1)) >> 16);
  }
};

}  // namespace perflab
