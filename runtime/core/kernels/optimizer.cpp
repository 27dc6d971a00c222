// Optimizers' steps; see optimizer.h.
#ifndef LEVEL

#include "kernels/optimizer.h"

#include <cmath>

#include "kernels/walk.h"

namespace perflab {

namespace {

[[noreturn]] void fail_parameter(const Layout& param, const Layout& other, const char* what) {
  throw Error(ErrorKind::kShape, std::string("a parameter of shape ") + show(param) + " and dtype " +
                                     name(param.dtype) + " came with a " + what + " of shape " + show(other) +
                                     " and dtype " + name(other.dtype));
}

void check(const Layout& param, const Layout& other, const char* what) {
  if (!same_shape(param, other) || param.dtype != other.dtype) fail_parameter(param, other, what);
}

template <class F>
void visit_float(DType d, F f) {
  if (d == DType::kFloat32) return f(float{});
  if (d == DType::kFloat64) return f(double{});
  throw Error(ErrorKind::kDType, std::string("parameters must be float32 or float64, not ") + name(d));
}

// The scalars of AdamW's formula, once for all elements.
struct AdamWFactors {
  double decay, mean, square, step, root, eps;

  explicit AdamWFactors(const AdamWOptions& o)
      : decay(1 - o.lr * o.weight_decay),
        mean(1 - o.beta1),
        square(1 - o.beta2),
        step(o.lr / (1 - std::pow(o.beta1, static_cast<double>(o.step)))),
        root(std::sqrt(1 - std::pow(o.beta2, static_cast<double>(o.step)))),
        eps(o.eps) {}
};

}  // namespace

}  // namespace perflab

#define LEVEL_BODY "kernels/optimizer.cpp"
#include "kernels/foreach_level.h"

namespace perflab {

void sgd_step(Array* const* params, const Array* const* grads, Array* const* buffers, int n,
              const SgdOptions& options) {
  for (int i = 0; i < n; ++i) {
    check(*params[i], *grads[i], "gradient");
    if (buffers) check(*params[i], *buffers[i], "momentum buffer");
    const Layout* operands[] = {params[i], grads[i], buffers ? buffers[i] : params[i]};
    Walk w(operands, 3);
    if (w.empty()) continue;
    visit_float(params[i]->dtype, [&](auto zero) { LEVELS(sgd<decltype(zero)>)(w, options, buffers != nullptr); });
  }
}

void adamw_step(Array* const* params, const Array* const* grads, Array* const* means, Array* const* squares, int n,
                const AdamWOptions& options) {
  const AdamWFactors factors(options);
  for (int i = 0; i < n; ++i) {
    check(*params[i], *grads[i], "gradient");
    check(*params[i], *means[i], "mean");
    check(*params[i], *squares[i], "mean square");
    const Layout* operands[] = {params[i], grads[i], means[i], squares[i]};
    Walk w(operands, 4);
    if (w.empty()) continue;
    visit_float(params[i]->dtype, [&](auto zero) { LEVELS(adamw<decltype(zero)>)(w, factors, options); });
  }
}

}  // namespace perflab

#else

namespace perflab::LEVEL {

namespace {

template <class T>
bool dense(const Walk& w) {
  for (int k = 0; k < w.operands; ++k) {
    if (w.step[k] != sizeof(T)) return false;
  }
  return true;
}

template <class T>
T& element(const Walk& w, int k, int64_t i) {
  return *reinterpret_cast<T*>(w.p[k] + i * w.step[k]);
}

template <class T>
struct Sgd {
  T lr, momentum, fresh, weight_decay, sign;
  bool nesterov, first;

  explicit Sgd(const SgdOptions& o)
      : lr(static_cast<T>(o.lr)),
        momentum(static_cast<T>(o.momentum)),
        fresh(static_cast<T>(1 - o.dampening)),
        weight_decay(static_cast<T>(o.weight_decay)),
        sign(o.maximize ? -1 : 1),
        nesterov(o.nesterov),
        first(o.first) {}
  T decayed(T param, T grad) const { return weight_decay != 0 ? sign * grad + weight_decay * param : sign * grad; }
  void plain(T& param, T grad) const { param -= lr * decayed(param, grad); }
  void with_momentum(T& param, T grad, T& buffer) const {
    const T g = decayed(param, grad), b = first ? g : momentum * buffer + fresh * g;
    buffer = b;
    param -= lr * (nesterov ? g + momentum * b : b);
  }
};

template <class T>
void sgd(Walk& w, const SgdOptions& options, bool buffers) {
  const Sgd<T> rule(options);
  const bool whole = dense<T>(w);
  do {
    T* __restrict p = w.as<T>(0);
    const T* __restrict g = w.as<T>(1);
    T* __restrict b = w.as<T>(2);
    if (!buffers && whole) {
      for (int64_t i = 0; i < w.n; ++i) rule.plain(p[i], g[i]);
    } else if (!buffers) {
      for (int64_t i = 0; i < w.n; ++i) rule.plain(element<T>(w, 0, i), element<T>(w, 1, i));
    } else if (whole) {
      for (int64_t i = 0; i < w.n; ++i) rule.with_momentum(p[i], g[i], b[i]);
    } else {
      for (int64_t i = 0; i < w.n; ++i) {
        rule.with_momentum(element<T>(w, 0, i), element<T>(w, 1, i), element<T>(w, 2, i));
      }
    }
  } while (w.next());
}

template <class T>
struct AdamW {
  T decay, mean, square, keep, step, root, eps, sign;

  AdamW(const AdamWFactors& f, const AdamWOptions& o)
      : decay(static_cast<T>(f.decay)),
        mean(static_cast<T>(f.mean)),
        square(static_cast<T>(f.square)),
        keep(static_cast<T>(o.beta2)),
        step(static_cast<T>(f.step)),
        root(static_cast<T>(f.root)),
        eps(static_cast<T>(f.eps)),
        sign(o.maximize ? -1 : 1) {}
  void operator()(T& param, T grad, T& m, T& v) const {
    const T g = sign * grad;
    m += mean * (g - m);
    v = keep * v + square * g * g;
    param = param * decay - step * (m / (std::sqrt(v) / root + eps));
  }
};

template <class T>
void adamw(Walk& w, const AdamWFactors& factors, const AdamWOptions& options) {
  const AdamW<T> rule(factors, options);
  const bool whole = dense<T>(w);
  do {
    T* __restrict p = w.as<T>(0);
    const T* __restrict g = w.as<T>(1);
    T* __restrict m = w.as<T>(2);
    T* __restrict v = w.as<T>(3);
    if (whole) {
      for (int64_t i = 0; i < w.n; ++i) rule(p[i], g[i], m[i], v[i]);
    } else {
      for (int64_t i = 0; i < w.n; ++i) {
        rule(element<T>(w, 0, i), element<T>(w, 1, i), element<T>(w, 2, i), element<T>(w, 3, i));
      }
    }
  } while (w.next());
}

}  // namespace

}  // namespace perflab::LEVEL

#endif
