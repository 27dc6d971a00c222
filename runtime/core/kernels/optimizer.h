// Optimizers' steps over many parameters at once, in place; PyTorch's formulas. float32 and float64, any strides; the
// gradients and the state have the parameters' shapes and dtypes.
#pragma once
#include "array.h"

namespace perflab {

struct SgdOptions {
  double lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false, maximize = false;
  bool first = false;  // the momentum buffers hold nothing yet: they become the gradient, undampened
};

// `buffers` may be null when momentum is 0.
void sgd_step(Array* const* params, const Array* const* grads, Array* const* buffers, int n, const SgdOptions&);

struct AdamWOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 1e-2;
  int64_t step = 1;  // the number of this step, from 1
  bool maximize = false;
};

void adamw_step(Array* const* params, const Array* const* grads, Array* const* means, Array* const* squares, int n,
                const AdamWOptions&);

}  // namespace perflab
