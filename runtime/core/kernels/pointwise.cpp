// Arithmetic and functions, element by element.
#ifndef LEVEL

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/walk.h"

#define LEVEL_BODY "kernels/pointwise.cpp"
#include "kernels/foreach_level.h"

namespace perflab {

void add_pointwise_kernels(KernelTable& table) { LEVELS(add_kernels)(table); }

}  // namespace perflab

#else

#include "kernels/elementwise.h"
#include "kernels/math.h"

#define NATIVE_UNARY(types, name, expr) add_unary(table, #name, types{}, []<class T>(T x) -> T { return expr; })
#define NATIVE_BINARY(types, name, expr) add_binary(table, #name, types{}, []<class T>(T a, T b) -> T { return expr; })

namespace perflab::LEVEL {

namespace {

// Integers wrap around; in C++ only the unsigned ones may.
template <class T>
inline auto wrap(T x) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<std::make_unsigned_t<T> >(x);
  } else {
    return x;
  }
}

// A row of one exponent. Loops in which it does not change are not vectorised, so it is read from memory.
template <class T>
void power_row(const T* a, T exponent, T* o, int64_t n) {
  using Power = decltype([](T a, T b) { return pow_of(a, b); });
  constexpr int64_t kBlock = 256;
  T exponents[kBlock];
  for (int64_t i = 0; i < kBlock; ++i) exponents[i] = exponent;
  for (int64_t i = 0; i < n; i += kBlock) {
    binary_row<Power>(a + i, exponents, o + i, n - i < kBlock ? n - i : kBlock);
  }
}

// The exponents that models are written with are exact, and quick.
template <class T>
void pow(In in, int nin, const Attrs& at, Array* out, int nout) {
  using Power = decltype([](T a, T b) { return pow_of(a, b); });
  const Array& a = *in[0];
  if (in[1]->numel != 1 || a.numel != out[0].numel) return binary<Power, T>(in, nin, at, out, nout);
  const T exponent = *in[1]->as<T>();
  if (exponent == T(2)) return apply<T>([](T x) { return x * x; }, a, out[0]);
  if (exponent == T(1)) return apply<T>([](T x) { return x; }, a, out[0]);
  if (exponent == T(3)) return apply<T>([](T x) { return x * x * x; }, a, out[0]);
  if (exponent == T(-1)) return apply<T>([](T x) { return T(1) / x; }, a, out[0]);
  if (exponent == T(0.5)) {  // of -0 and -inf, what C's pow gives
    return apply<T>([](T x) { return x == -std::numeric_limits<T>::infinity() ? -x : std::sqrt(x + T(0)); }, a, out[0]);
  }
  if (!a.contig || !out[0].contig) return binary<Power, T>(in, nin, at, out, nout);
  const T* from = a.as<T>();
  T* to = out[0].as<T>();
  share(a.numel, kShare, [=](int64_t i, int64_t end) { power_row(from + i, exponent, to + i, end - i); });
}

template <class T>
inline T sign_of(T x) {
  return x > 0 ? T(1) : x < 0 ? T(-1) : x == 0 ? T(0) : x;
}

// A condition and two values. In place, the condition is the output: then all are bools.
template <class T>
void where(In in, int, const Attrs&, Array* out, int) {
  const Array &c = *in[0], &a = *in[1], &b = *in[2];
  if (c.dtype != DType::kBool)
    throw Error(ErrorKind::kDType,
                std::string("the condition must hold bools, not ") + name(c.dtype) + ": compare it with something");
  Array& o = out[0];
  if (o.numel == 1) {
    *o.as<T>() = *c.as<bool>() ? *a.as<T>() : *b.as<T>();
    return;
  }
  const Layout* operands[] = {&o, &c, &a, &b};
  Walk w(operands, 4);
  if (w.empty()) return;
  constexpr int64_t kStep = sizeof(T);
  const bool dense = w.step[0] == kStep && w.step[1] == 1;
  each_row(w, w.n, [dense](const Walk& w) {
    const uint8_t* pick = w.as<uint8_t>(1);  // loops over bool do not vectorise
    const T *x = w.as<T>(2), *y = w.as<T>(3);
    T* to = w.as<T>(0);
    if (dense && w.step[2] == kStep && w.step[3] == kStep) {
#pragma GCC ivdep
      for (int64_t i = 0; i < w.n; ++i) {
        const T yes = x[i], no = y[i];
        to[i] = pick[i] != 0 ? yes : no;
      }
    } else if (dense && w.step[2] == kStep && w.step[3] == 0) {
      const T no = *y;
#pragma GCC ivdep
      for (int64_t i = 0; i < w.n; ++i) {
        const T yes = x[i];
        to[i] = pick[i] != 0 ? yes : no;
      }
    } else if (dense && w.step[2] == 0 && w.step[3] == kStep) {
      const T yes = *x;
#pragma GCC ivdep
      for (int64_t i = 0; i < w.n; ++i) {
        const T no = y[i];
        to[i] = pick[i] != 0 ? yes : no;
      }
    } else {
      for (int64_t i = 0; i < w.n; ++i) {
        const bool yes = *reinterpret_cast<bool*>(w.p[1] + i * w.step[1]);
        const char* from = yes ? w.p[2] + i * w.step[2] : w.p[3] + i * w.step[3];
        *reinterpret_cast<T*>(w.p[0] + i * w.step[0]) = *reinterpret_cast<const T*>(from);
      }
    }
  });
}

template <class... Ts>
void add_where(KernelTable& table, Types<Ts...>) {
  (table.add("where", DTypeOf<Ts>::value, where<Ts>), ...);
}

void add_kernels(KernelTable& table) {
  NATIVE_UNARY(Numbers, neg, T(-wrap(x)));
  NATIVE_UNARY(Floats, abs, std::fabs(x));
  NATIVE_UNARY(Numbers, square, T(wrap(x) * wrap(x)));
  NATIVE_UNARY(Numbers, sign, sign_of(x));
  NATIVE_UNARY(Floats, floor, std::floor(x));
  NATIVE_UNARY(Floats, ceil, std::ceil(x));
  NATIVE_UNARY(Floats, trunc, std::trunc(x));
  NATIVE_UNARY(Floats, round, std::rint(x));
  NATIVE_UNARY(Floats, reciprocal, T(1) / x);
  NATIVE_UNARY(Floats, sqrt, std::sqrt(x));
  NATIVE_UNARY(Floats, rsqrt, T(1) / std::sqrt(x));
  NATIVE_UNARY(Floats, exp, exp_of(x));
  NATIVE_UNARY(Floats, expm1, expm1_of(x));
  NATIVE_UNARY(Floats, log, log_of(x));
  NATIVE_UNARY(Floats, log1p, log1p_of(x));
  NATIVE_UNARY(Floats, erf, erf_of(x));
  NATIVE_UNARY(Floats, erfc, erfc_of(x));
  NATIVE_UNARY(Floats, tanh, tanh_of(x));
  NATIVE_UNARY(Floats, sigmoid, sigmoid_of(x));
  NATIVE_UNARY(Numbers, relu, x < 0 ? T(0) : x);  // not-a-number stays

  NATIVE_BINARY(Numbers, add, T(wrap(a) + wrap(b)));
  NATIVE_BINARY(Numbers, sub, T(wrap(a) - wrap(b)));
  NATIVE_BINARY(Numbers, mul, T(wrap(a) * wrap(b)));
  NATIVE_BINARY(Floats, div, a / b);
  NATIVE_BINARY(AnyType, maximum, a > b || a != a ? a : b);  // a != a: not-a-number wins
  NATIVE_BINARY(AnyType, minimum, a < b || a != a ? a : b);
  NATIVE_BINARY(AnyType, clamp_min, a < b || b != b ? b : a);
  NATIVE_BINARY(AnyType, clamp_max, a > b || b != b ? b : a);

  table.add("pow", DType::kFloat32, pow<float>);
  table.add("pow", DType::kFloat64, pow<double>);
  add_where(table, AnyType{});
}

}  // namespace

}  // namespace perflab::LEVEL

#undef NATIVE_UNARY
#undef NATIVE_BINARY
#endif
