// Activations and the gradients of smooth ones, element by element.
#ifndef LEVEL

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/walk.h"

#define LEVEL_BODY "kernels/activation.cpp"
#include "kernels/foreach_level.h"

namespace perflab {

void add_activation_kernels(KernelTable& table) { LEVELS(add_kernels)(table); }

}  // namespace perflab

#else

#include "kernels/elementwise.h"
#include "kernels/math.h"

namespace perflab::LEVEL {

namespace {

template <class T>
struct Normal {
  T below;    // the probability that a standard normal number is below x
  T density;  // at x
};

inline Normal<double> normal_at(double x) {
  return {0.5 * std::erfc(-0.70710678118654752 * x), 0.39894228040143268 * std::exp(-0.5 * x * x)};
}

// The tail is exp(-x^2 / 2) / 2 times a function of t = 1 / (1 + 0.35 |x| / sqrt(2)) that is nearly straight: t times a
// polynomial (minimax, 7e-9).
inline Normal<float> normal_at(float x) {
  const float size = float_of(bits_of(x) & 0x7fffffff), e = exp_of(-0.5f * x * x);
  const float t = 1.f / (1.f + 0.247487373f * size);
  float p = 3.840107843e-2f;
  p = p * t - 0.158928409f;
  p = p * t + 0.181461483f;
  p = p * t - 2.770595253e-2f;
  p = p * t + 8.701897413e-2f;
  p = p * t + 0.146042094f;
  p = p * t + 0.151186213f;
  p = p * t + 0.187902406f;
  p = p * t + 0.197138354f;
  p = p * t + 0.197483778f;
  const float tail = 0.5f * e * (t * p);
  return {x < 0 ? tail : 1.f - tail, 0.398942280f * e};
}

template <class T>
inline T gelu_slope(T x) {
  const Normal<T> n = normal_at(x);
  return n.below + x * n.density;
}

template <class T>
inline T gelu_tanh_of(T x) {
  constexpr T kInner = T(0.79788456080286536), kCubic = T(0.044715);
  return T(0.5) * x * (1 + tanh_of(kInner * (x + kCubic * x * x * x)));
}

template <class T>
inline T gelu_tanh_slope(T x) {
  constexpr T kInner = T(0.79788456080286536), kCubic = T(0.044715);
  const T t = tanh_of(kInner * (x + kCubic * x * x * x));
  return T(0.5) * (1 + t) + T(0.5) * x * (1 - t * t) * (kInner * (1 + 3 * kCubic * x * x));
}

template <class T>
inline T silu_slope(T x) {
  const T s = sigmoid_of(x);
  return s * (1 + x * (1 - s));
}

template <class T>
T attribute(const Attrs& at, int word) {
  return static_cast<T>(std::bit_cast<double>(at.v[word]));
}

template <class T>
void leaky_relu(In in, int, const Attrs& at, Array* out, int) {
  apply<T>([slope = attribute<T>(at, 0)](T x) { return x > 0 ? x : slope * x; }, *in[0], out[0]);
}

template <class T>
void hardtanh(In in, int, const Attrs& at, Array* out, int) {
  const T low = attribute<T>(at, 0), high = attribute<T>(at, 1);
  apply<T>(
      [=](T x) {
        const T most = x < low ? low : x;
        return most > high ? high : most;
      },
      *in[0], out[0]);
}

template <class T>
void elu(In in, int, const Attrs& at, Array* out, int) {
  apply<T>([alpha = attribute<T>(at, 0)](T x) { return x > 0 ? x : alpha * expm1_of(x); }, *in[0], out[0]);
}

template <class T>
void softplus(In in, int, const Attrs& at, Array* out, int) {
  const T beta = attribute<T>(at, 0), threshold = attribute<T>(at, 1);
  apply<T>(
      [=](T x) {
        const T y = x * beta, smooth = ((y > 0 ? y : T(0)) + log1p_inside(exp_of(-std::fabs(y)))) / beta;
        return y > threshold ? x : smooth;
      },
      *in[0], out[0]);
}

template <class... Ts>
void add_bent(KernelTable& table, Types<Ts...>) {
  (table.add("leaky_relu", DTypeOf<Ts>::value, leaky_relu<Ts>), ...);
  (table.add("hardtanh", DTypeOf<Ts>::value, hardtanh<Ts>), ...);
  (table.add("elu", DTypeOf<Ts>::value, elu<Ts>), ...);
  (table.add("softplus", DTypeOf<Ts>::value, softplus<Ts>), ...);
}

void add_kernels(KernelTable& table) {
  add_bent(table, Floats{});
  add_unary(table, "gelu", Floats{}, []<class T>(T x) -> T { return x * normal_at(x).below; });
  add_unary(table, "log_sigmoid", Floats{},
            []<class T>(T x) -> T { return (x < 0 ? x : T(0)) - log1p_inside(exp_of(-std::fabs(x))); });
  add_unary(table, "gelu_tanh", Floats{}, []<class T>(T x) -> T { return gelu_tanh_of(x); });
  add_unary(table, "silu", Floats{}, []<class T>(T x) -> T { return x * sigmoid_of(x); });
  add_binary(table, "gelu_grad", Floats{}, []<class T>(T g, T x) -> T { return g * gelu_slope(x); });
  add_binary(table, "gelu_tanh_grad", Floats{}, []<class T>(T g, T x) -> T { return g * gelu_tanh_slope(x); });
  add_binary(table, "silu_grad", Floats{}, []<class T>(T g, T x) -> T { return g * silu_slope(x); });
}

}  // namespace

}  // namespace perflab::LEVEL

#endif
