// Optimizers' steps over many parameters in one launch, in place; the formulas are those of core/kernels/optimizer.cpp.
#pragma once

template <class T, class Rule>
__device__ inline void each_element(const Foreach& p, Rule rule) {
  const i64 n = p.ends[p.tensors - 1], step = static_cast<i64>(gridDim.x) * blockDim.x;
  for (i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    int low = 0, high = p.tensors - 1;  // the tensor: the first that ends behind i
    while (low < high) {
      const int middle = (low + high) / 2;
      if (p.ends[middle] > i)
        high = middle;
      else
        low = middle + 1;
    }
    const i64 at = low ? i - p.ends[low - 1] : i;
    Wide<T> x[kMaxOperands];
    for (int k = 0; k < kMaxOperands; ++k)
      if (k < p.operands) x[k] = load<T>(static_cast<const T*>(p.p[k][low]) + at);
    rule(x);
    for (int k = 0; k < kMaxOperands; ++k)
      if (k != 1 && k < p.operands) Store<T>::to(static_cast<T*>(p.p[k][low]) + at, x[k]);
  }
}

template <class W>
__device__ inline W start(const Foreach& p, const W* x) {
  const W g = p.maximize ? -x[1] : x[1];
  return p.decay != 0 ? g + static_cast<W>(p.decay) * x[0] : g;
}

// x: parameter, gradient, momentum buffer. first: momentum; flag: the buffer holds nothing yet; other_flag: Nesterov's.
template <class T>
__device__ inline void sgd(const Foreach& p) {
  typedef Wide<T> W;
  const W lr = static_cast<W>(p.lr), momentum = static_cast<W>(p.first), fresh = static_cast<W>(p.fresh);
  each_element<T>(p, [&](W* x) {
    const W g = start(p, x);
    if (p.operands == 2) {
      x[0] -= lr * g;
      return;
    }
    x[2] = p.flag ? g : momentum * x[2] + fresh * g;
    x[0] -= lr * (p.other_flag ? g + momentum * x[2] : x[2]);
  });
}

// x: parameter, gradient, mean, mean square, with amsgrad its largest. first: 1 - beta1; second: beta2; lr, root:
// corrected for the step.
template <class T>
__device__ inline void adam(const Foreach& p) {
  typedef Wide<T> W;
  const W mean = static_cast<W>(p.first), beta2 = static_cast<W>(p.second), square = static_cast<W>(p.fresh);
  const W step = static_cast<W>(p.lr), root = static_cast<W>(p.root), eps = static_cast<W>(p.eps);
  const W keep = static_cast<W>(p.keep);
  each_element<T>(p, [&](W* x) {
    const W g = start(p, x);
    x[2] += mean * (g - x[2]);
    x[3] = beta2 * x[3] + square * g * g;
    W v = x[3];
    if (p.operands == 5) v = x[4] = x[4] < v ? v : x[4];
    x[0] = x[0] * keep - step * (x[2] / (sqrt(v) / root + eps));
  });
}

// x: parameter, gradient, mean square, then with momentum the buffer, then if centered (flag) the mean gradient.
// first: momentum; second: alpha.
template <class T>
__device__ inline void rmsprop(const Foreach& p) {
  typedef Wide<T> W;
  const W lr = static_cast<W>(p.lr), alpha = static_cast<W>(p.second), fresh = static_cast<W>(p.fresh);
  const W eps = static_cast<W>(p.eps), momentum = static_cast<W>(p.first);
  each_element<T>(p, [&](W* x) {
    const W g = start(p, x);
    x[2] = alpha * x[2] + fresh * g * g;
    W square = x[2];
    if (p.flag) {
      W& m = x[p.first != 0 ? 4 : 3];
      m += fresh * (g - m);
      square -= m * m;
    }
    W by = g / (sqrt(square) + eps);
    if (p.first != 0) by = x[3] = momentum * x[3] + by;
    x[0] -= lr * by;
  });
}

// x: parameter, gradient, sum of squares
template <class T>
__device__ inline void adagrad(const Foreach& p) {
  typedef Wide<T> W;
  const W lr = static_cast<W>(p.lr), eps = static_cast<W>(p.eps);
  each_element<T>(p, [&](W* x) {
    const W g = start(p, x);
    x[2] += g * g;
    x[0] -= lr * (g / (sqrt(x[2]) + eps));
  });
}

// x: a gradient, times `first`; `found` is set where one is infinite or NaN
template <class T>
__device__ inline void unscale(const Foreach& p) {
  typedef Wide<T> W;
  const W factor = static_cast<W>(p.first);
  each_element<T>(p, [&](W* x) {
    if (x[0] - x[0] != 0) *p.found = 1;
    x[0] *= factor;
  });
}
