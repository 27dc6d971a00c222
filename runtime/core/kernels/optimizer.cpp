// Optimizers' steps; see optimizer.h.
#ifndef LEVEL

#include "kernels/optimizer.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <type_traits>
#include <utility>

#include "kernels/walk.h"
#include "threads.h"

namespace perflab {

namespace {

void check(const Layout& param, const Layout& other) {
  if (!same_shape(param, other) || param.dtype != other.dtype)
    throw Error(ErrorKind::kShape, std::string("a parameter of shape ") + show(param) + " and dtype " +
                                       name(param.dtype) + " came with a gradient or state of shape " + show(other) +
                                       " and dtype " + name(other.dtype));
}

template <class F>
void visit_float(DType d, F f) {
  if (d == DType::kFloat32) return f(float{});
  if (d == DType::kFloat64) return f(double{});
  if (d == DType::kFloat16) return f(Float16{});
  if (d == DType::kBFloat16) return f(BFloat16{});
  throw Error(ErrorKind::kDType, std::string("parameters are floats, not ") + name(d));
}

// Calls f(walk, zero) for each parameter with its gradient and its state.
template <class F>
void each_parameter(const ParameterLists& lists, F f) {
  for (size_t i = 0; i < lists[0].size(); ++i) {
    const Layout* operands[kMaxOperands];
    for (size_t k = 0; k < lists.size(); ++k) {
      check(*lists[0][i], *lists[k][i]);
      operands[k] = lists[k][i];
    }
    Walk w(operands, static_cast<int>(lists.size()));
    if (!w.empty()) visit_float(lists[0][i]->dtype, [&](auto zero) { f(w, zero); });
  }
}

}  // namespace

}  // namespace perflab

#define LEVEL_BODY "kernels/optimizer.cpp"
#include "kernels/foreach_level.h"

namespace perflab {

void sgd_step(const ParameterLists& lists, const SgdOptions& options) {
  each_parameter(lists, [&](Walk& w, auto zero) { LEVELS(sgd<decltype(zero)>)(w, options); });
}

void adam_step(const ParameterLists& lists, const AdamOptions& options) {
  each_parameter(lists, [&](Walk& w, auto zero) { LEVELS(adam<decltype(zero)>)(w, options); });
}

void rmsprop_step(const ParameterLists& lists, const RmspropOptions& options) {
  each_parameter(lists, [&](Walk& w, auto zero) { LEVELS(rmsprop<decltype(zero)>)(w, options); });
}

void adagrad_step(const ParameterLists& lists, const AdagradOptions& options) {
  each_parameter(lists, [&](Walk& w, auto zero) { LEVELS(adagrad<decltype(zero)>)(w, options); });
}

bool unscale(const std::vector<Array*>& arrays, double factor) {
  bool found = false;
  each_parameter({arrays}, [&](Walk& w, auto zero) { found |= LEVELS(unscale<decltype(zero)>)(w, factor); });
  return found;
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

template <class Rule, class... P>
void row(int64_t n, const Rule& rule, P* __restrict... p) {
  for (int64_t i = 0; i < n; ++i) rule(p[i]...);
}

// Halves are computed with in float, and rounded where they are stored.
template <class T>
using Compute = std::conditional_t<std::is_same_v<T, double>, double, float>;

// rule(parameter, gradient, state...) for every element.
template <class T, class Rule, size_t... K>
void elements(Walk& w, const Rule& rule, std::index_sequence<K...>) {
  const bool whole = dense<T>(w);
  do {
    if constexpr (!std::is_same_v<T, Compute<T> >) {
      for (int64_t i = 0; i < w.n; ++i) {
        float values[] = {static_cast<float>(*reinterpret_cast<T*>(w.p[K] + i * w.step[K]))...};
        rule(values[K]...);
        ((*reinterpret_cast<T*>(w.p[K] + i * w.step[K]) = static_cast<T>(values[K])), ...);
      }
    } else if (whole) {
      share(w.n, kShare, [&](int64_t begin, int64_t end) { row(end - begin, rule, (w.as<T>(K) + begin)...); });
    } else {
      for (int64_t i = 0; i < w.n; ++i) rule(*reinterpret_cast<T*>(w.p[K] + i * w.step[K])...);
    }
  } while (w.next());
}
template <class T, int N, class Rule>
void elements(Walk& w, const Rule& rule) {
  elements<T>(w, rule, std::make_index_sequence<N>{});
}

// The gradient that a rule starts from: turned around to maximize, and with weight decay added.
template <class T>
struct Start {
  T sign, decay;

  Start(bool maximize, double weight_decay) : sign(maximize ? -1 : 1), decay(static_cast<T>(weight_decay)) {}
  T operator()(T param, T grad) const { return decay != 0 ? sign * grad + decay * param : sign * grad; }
};

template <class T>
void sgd(Walk& w, const SgdOptions& o) {
  using C = Compute<T>;
  const Start<C> start(o.maximize, o.weight_decay);
  const C lr = static_cast<C>(o.lr), momentum = static_cast<C>(o.momentum), fresh = static_cast<C>(1 - o.dampening);
  const bool first = o.first, nesterov = o.nesterov;
  if (w.operands == 2) return elements<T, 2>(w, [=](C& p, C& grad) { p -= lr * start(p, grad); });
  elements<T, 3>(w, [=](C& p, C& grad, C& buffer) {
    const C g = start(p, grad), b = first ? g : momentum * buffer + fresh * g;
    buffer = b;
    p -= lr * (nesterov ? g + momentum * b : b);
  });
}

template <class T>
void adam(Walk& w, const AdamOptions& o) {
  using C = Compute<T>;
  const Start<C> start(o.maximize, o.decoupled ? 0 : o.weight_decay);
  const C keep = static_cast<C>(o.decoupled ? 1 - o.lr * o.weight_decay : 1), beta2 = static_cast<C>(o.beta2),
          mean = static_cast<C>(1 - o.beta1), square = static_cast<C>(1 - o.beta2), eps = static_cast<C>(o.eps),
          step = static_cast<C>(o.lr / (1 - std::pow(o.beta1, static_cast<double>(o.step)))),
          root = static_cast<C>(std::sqrt(1 - std::pow(o.beta2, static_cast<double>(o.step))));
  auto moments = [=](C p, C grad, C& m, C& v) {
    const C g = start(p, grad);
    m += mean * (g - m);
    v = beta2 * v + square * g * g;
  };
  if (w.operands == 4) {
    return elements<T, 4>(w, [=](C& p, C& grad, C& m, C& v) {
      moments(p, grad, m, v);
      p = p * keep - step * (m / (std::sqrt(v) / root + eps));
    });
  }
  elements<T, 5>(w, [=](C& p, C& grad, C& m, C& v, C& largest) {
    moments(p, grad, m, v);
    largest = largest < v ? v : largest;
    p = p * keep - step * (m / (std::sqrt(largest) / root + eps));
  });
}

template <class T>
void rmsprop(Walk& w, const RmspropOptions& o) {
  using C = Compute<T>;
  const Start<C> start(o.maximize, o.weight_decay);
  const C lr = static_cast<C>(o.lr), alpha = static_cast<C>(o.alpha), fresh = static_cast<C>(1 - o.alpha),
          eps = static_cast<C>(o.eps), momentum = static_cast<C>(o.momentum);
  auto plain = [=](C& v, C g) {
    v = alpha * v + fresh * g * g;
    return g / (std::sqrt(v) + eps);
  };
  auto centered = [=](C& v, C& m, C g) {
    v = alpha * v + fresh * g * g;
    m += fresh * (g - m);
    return g / (std::sqrt(v - m * m) + eps);
  };
  auto moved = [=](C& buffer, C by) { return buffer = momentum * buffer + by; };
  if (w.operands == 3) {
    elements<T, 3>(w, [=](C& p, C& grad, C& v) { p -= lr * plain(v, start(p, grad)); });
  } else if (w.operands == 5) {
    elements<T, 5>(w, [=](C& p, C& grad, C& v, C& b, C& m) { p -= lr * moved(b, centered(v, m, start(p, grad))); });
  } else if (o.centered) {
    elements<T, 4>(w, [=](C& p, C& grad, C& v, C& m) { p -= lr * centered(v, m, start(p, grad)); });
  } else {
    elements<T, 4>(w, [=](C& p, C& grad, C& v, C& b) { p -= lr * moved(b, plain(v, start(p, grad))); });
  }
}

template <class T>
void adagrad(Walk& w, const AdagradOptions& o) {
  using C = Compute<T>;
  const Start<C> start(o.maximize, o.weight_decay);
  const C lr = static_cast<C>(o.lr), eps = static_cast<C>(o.eps);
  elements<T, 3>(w, [=](C& p, C& grad, C& sum) {
    const C g = start(p, grad);
    sum += g * g;
    p -= lr * (g / (std::sqrt(sum) + eps));
  });
}

template <class T>
bool unscale(Walk& w, double by) {
  using C = Compute<T>;
  const C factor = static_cast<C>(by);
  std::atomic<bool> found = false;  // by any of the threads that share a gradient
  elements<T, 1>(w, [&](C& g) {
    if (!std::isfinite(g)) found.store(true, std::memory_order_relaxed);
    g *= factor;
  });
  return found;
}

}  // namespace

}  // namespace perflab::LEVEL

#endif
