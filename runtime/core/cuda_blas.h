// Matrix products by cuBLAS, which is found when it is wanted first; nothing is linked.
#pragma once
#include <atomic>
#include <string>
#include <vector>

#include "op.h"

namespace perflab::cuda {

class Gpu;

// Set by the Python side: where cuBLAS may be, in the order to try (runtime/cuda/libraries.py).
extern std::vector<std::string> (*find_blas)();

extern std::atomic<bool> allow_tf32;  // products of float32, where tensor cores can

// a @ b into `out` on the current stream. False: these arrays are not for cuBLAS, or there is none; nothing was sent.
bool multiply(Gpu&, const Array& a, const Array& b, Array& out);

}  // namespace perflab::cuda
