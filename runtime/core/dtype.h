// Element types, their order and their promotion (array API 2024.12, section "Type promotion rules").
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

namespace perflab {

enum class DType : uint8_t { kBool, kInt32, kInt64, kFloat32, kFloat64 };
constexpr int kDTypes = 5;
enum class DKind : uint8_t { kBool, kInt, kFloat };

constexpr const char* kDTypeNames[kDTypes] = {"bool", "int32", "int64", "float32", "float64"};
constexpr const char* name(DType d) { return kDTypeNames[static_cast<int>(d)]; }
constexpr size_t item_size(DType d) {
  constexpr size_t sizes[kDTypes] = {1, 4, 8, 4, 8};
  return sizes[static_cast<int>(d)];
}
constexpr DKind kind(DType d) {
  return d == DType::kBool ? DKind::kBool : d <= DType::kInt64 ? DKind::kInt : DKind::kFloat;
}

// Kinds mix as PyTorch mixes them: a float and an int give the float. Within a kind, the wider one.
constexpr DType promote(DType a, DType b) { return a > b ? a : b; }

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::kBool;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::kInt32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::kInt64;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kFloat32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::kFloat64;
};

// Calls f with a value of the C++ type behind a dtype: visit(d, [&](auto zero) { using T = decltype(zero); ... }).
template <class F>
decltype(auto) visit(DType d, F&& f) {
  switch (d) {
    case DType::kBool:
      return f(bool{});
    case DType::kInt32:
      return f(int32_t{});
    case DType::kInt64:
      return f(int64_t{});
    case DType::kFloat32:
      return f(float{});
    default:
      return f(double{});
  }
}

}  // namespace perflab
