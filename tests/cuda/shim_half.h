// What prelude.cuh leaves to who compiles it; included behind it.
#pragma once

inline float widen(f16 x) {
  perflab::Float16 half;
  half.bits = x.bits;
  return half;
}
inline f16 narrow_f16(float x) { return {perflab::Float16(x).bits}; }
