// Optimizers' steps over many parameters at once, in place; PyTorch's formulas. Floats of any width and strides;
// gradients and state have the parameters' shapes and dtypes.
#pragma once
#include <memory>
#include <variant>
#include <vector>

#include "array.h"

namespace perflab {

// Lists of one length: the parameters, their gradients, and the state that the optimizer keeps of each.
using ParameterLists = std::vector<std::vector<Array*>>;

struct SgdOptions {
  double lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false, maximize = false;
  bool first = false;  // the momentum buffers hold nothing yet: they become the gradient, undampened
};
// State: momentum buffers, unless momentum is 0.
void sgd_step(const ParameterLists&, const SgdOptions&);

struct AdamOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  int64_t step = 1;  // the number of this step, from 1
  bool maximize = false;
  bool decoupled = false;  // the weight decay is AdamW's: of the parameter, not added to the gradient
};
// State: the means of the gradient and of its square, and with amsgrad the largest of the latter.
void adam_step(const ParameterLists&, const AdamOptions&);

struct RmspropOptions {
  double lr = 1e-2, alpha = 0.99, eps = 1e-8, weight_decay = 0, momentum = 0;
  bool centered = false, maximize = false;
};
// State: the mean square, then with momentum the buffers, then if centered the mean gradient.
void rmsprop_step(const ParameterLists&, const RmspropOptions&);

struct AdagradOptions {
  double lr = 1e-2, eps = 1e-10, weight_decay = 0;  // lr: of this step, after its decay
  bool maximize = false;
};
// State: the sum of squares.
void adagrad_step(const ParameterLists&, const AdagradOptions&);

// Multiplies each array by `factor`; gives whether an element was infinite or NaN before.
bool unscale(const std::vector<Array*>&, double factor);

// Any of them, by its options; unscale is one of them, which says what it found.
struct UnscaleOptions {
  double factor = 1;
  std::shared_ptr<bool> found;
};
using UpdateOptions = std::variant<SgdOptions, AdamOptions, RmspropOptions, AdagradOptions, UnscaleOptions>;
inline void update_step(const ParameterLists& lists, const SgdOptions& o) { sgd_step(lists, o); }
inline void update_step(const ParameterLists& lists, const AdamOptions& o) { adam_step(lists, o); }
inline void update_step(const ParameterLists& lists, const RmspropOptions& o) { rmsprop_step(lists, o); }
inline void update_step(const ParameterLists& lists, const AdagradOptions& o) { adagrad_step(lists, o); }
inline void update_step(const ParameterLists& lists, const UnscaleOptions& o) {
  *o.found = unscale(lists[0], o.factor);
}

}  // namespace perflab
