// Arrays as kernels take them: for each kind of kernel a function that fills its parameters in and sends it off.
#pragma once
#include <cstdint>

#include "op.h"

namespace perflab::cuda {

namespace kernels {
#include "../cuda/kernels/parameters.cuh"
}
static_assert(kernels::kMaxDims == kMaxDim);

class Gpu;

struct Call {
  Gpu& gpu;
  uintptr_t function;  // the kernel's
  const Op& op;
  In in;
  int nin;
  const Attrs& attrs;
  Array* out;
};

// False: the kernel does not take these arrays, and nothing was sent.
using Arrange = bool (*)(const Call&);
Arrange arrangement(const Op&);  // null: no kernel of ours computes the op
void arrange_copy(Gpu&, uintptr_t function, const Array& from, const Array& to);  // one shape; any strides

}  // namespace perflab::cuda
