// Element types, their order and their promotion (array API 2024.12, section "Type promotion rules").
#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "half.h"

namespace perflab {

// Kinds lie together, in the order in which they win.
enum class DType : uint8_t {
  kBool,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kComplex64,
  kComplex128,
};
constexpr int kDTypes = 15;
enum class DKind : uint8_t { kBool, kInt, kFloat, kComplex };

constexpr const char* kDTypeNames[kDTypes] = {"bool",     "uint8",   "uint16",  "uint32",    "uint64",
                                              "int8",     "int16",   "int32",   "int64",     "float16",
                                              "bfloat16", "float32", "float64", "complex64", "complex128"};
constexpr const char* name(DType d) { return kDTypeNames[static_cast<int>(d)]; }
constexpr uint8_t kItemSizes[kDTypes] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};
constexpr size_t item_size(DType d) { return kItemSizes[static_cast<int>(d)]; }
constexpr DKind kind(DType d) {
  return d == DType::kBool      ? DKind::kBool
         : d <= DType::kInt64   ? DKind::kInt
         : d <= DType::kFloat64 ? DKind::kFloat
                                : DKind::kComplex;
}
constexpr bool is_unsigned(DType d) { return d >= DType::kUInt8 && d <= DType::kUInt64; }
constexpr DType real_of(DType d) {
  return d == DType::kComplex64 ? DType::kFloat32 : d == DType::kComplex128 ? DType::kFloat64 : d;
}
constexpr bool is_half(DType d) { return d == DType::kFloat16 || d == DType::kBFloat16; }

// Kinds mix as PyTorch mixes them: a float and an int give the float. Within a kind, the smallest that holds both.
// False: uint64 and a signed int, which nothing holds.
constexpr bool promote(DType a, DType b, DType& to) {
  if (a > b) std::swap(a, b);
  to = b;
  if (a == b || kind(a) != kind(b)) {
    if (b == DType::kComplex64 && a == DType::kFloat64) to = DType::kComplex128;
  } else if (is_unsigned(a) && !is_unsigned(b)) {
    if (a == DType::kUInt64) return false;
    if (item_size(b) <= item_size(a))  // the signed one that is twice as wide
      to = static_cast<DType>(static_cast<int>(a) + static_cast<int>(DType::kInt16) - static_cast<int>(DType::kUInt8));
  } else if (is_half(b)) {
    to = DType::kFloat32;  // float16 and bfloat16
  }
  return true;
}

inline DType default_dtype = DType::kFloat32;  // of Python's floats; written under the GIL

template <class T>
struct DTypeOf;
#define PERFLAB_DTYPE(type, code)               \
  template <>                                   \
  struct DTypeOf<type> {                        \
    static constexpr DType value = DType::code; \
  };
PERFLAB_DTYPE(bool, kBool)
PERFLAB_DTYPE(uint8_t, kUInt8)
PERFLAB_DTYPE(uint16_t, kUInt16)
PERFLAB_DTYPE(uint32_t, kUInt32)
PERFLAB_DTYPE(uint64_t, kUInt64)
PERFLAB_DTYPE(int8_t, kInt8)
PERFLAB_DTYPE(int16_t, kInt16)
PERFLAB_DTYPE(int32_t, kInt32)
PERFLAB_DTYPE(int64_t, kInt64)
PERFLAB_DTYPE(Float16, kFloat16)
PERFLAB_DTYPE(BFloat16, kBFloat16)
PERFLAB_DTYPE(float, kFloat32)
PERFLAB_DTYPE(double, kFloat64)
PERFLAB_DTYPE(std::complex<float>, kComplex64)
PERFLAB_DTYPE(std::complex<double>, kComplex128)
#undef PERFLAB_DTYPE

// Calls f with a value of the C++ type behind a dtype: visit(d, [&](auto zero) { using T = decltype(zero); ... }).
template <class F>
decltype(auto) visit(DType d, F&& f) {
  switch (d) {
    case DType::kBool:
      return f(bool{});
    case DType::kUInt8:
      return f(uint8_t{});
    case DType::kUInt16:
      return f(uint16_t{});
    case DType::kUInt32:
      return f(uint32_t{});
    case DType::kUInt64:
      return f(uint64_t{});
    case DType::kInt8:
      return f(int8_t{});
    case DType::kInt16:
      return f(int16_t{});
    case DType::kInt32:
      return f(int32_t{});
    case DType::kInt64:
      return f(int64_t{});
    case DType::kFloat16:
      return f(Float16{});
    case DType::kBFloat16:
      return f(BFloat16{});
    case DType::kFloat32:
      return f(float{});
    case DType::kFloat64:
      return f(double{});
    case DType::kComplex64:
      return f(std::complex<float>{});
    default:
      return f(std::complex<double>{});
  }
}

template <class T>
constexpr bool kIsComplex = false;
template <class T>
constexpr bool kIsComplex<std::complex<T>> = true;

// One element as another type: to bool is "not zero", of a complex number the others take the real part.
template <class To, class From>
constexpr To convert(From x) {
  if constexpr (std::is_same_v<From, To>) {
    return x;
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From{};
  } else if constexpr (kIsComplex<From>) {
    if constexpr (kIsComplex<To>)
      return To(static_cast<typename To::value_type>(x.real()), static_cast<typename To::value_type>(x.imag()));
    else
      return convert<To>(x.real());
  } else if constexpr (kIsComplex<To>) {
    return To(convert<typename To::value_type>(x));
  } else if constexpr (std::is_same_v<From, Float16> || std::is_same_v<From, BFloat16>) {
    return convert<To>(static_cast<float>(x));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && sizeof(To) < 4) {
    return static_cast<To>(static_cast<int32_t>(x));  // wraps as ints do; out of a small type's range C++ says nothing
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace perflab
