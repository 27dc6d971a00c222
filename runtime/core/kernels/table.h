// The table of native kernels, to which each file of kernels adds its own.
#pragma once
#include "op.h"

namespace perflab {

struct KernelTable {
  std::vector<NativeKernel> rows;
  void add(const char* op, DType dtype, Kernel kernel);  // out of line: bodies compiled for a level call it
};

void add_pointwise_kernels(KernelTable&);
void add_compare_kernels(KernelTable&);
void add_recurrent_kernels(KernelTable&);
void add_reduce_kernels(KernelTable&);
void add_running_kernels(KernelTable&);
void add_softmax_kernels(KernelTable&);
void add_activation_kernels(KernelTable&);
void add_norm_kernels(KernelTable&);
void add_batch_norm_kernels(KernelTable&);
void add_nll_kernels(KernelTable&);
void add_matmul_kernels(KernelTable&);
void add_conv_kernels(KernelTable&);
void add_pool_kernels(KernelTable&);
void add_avg_pool_kernels(KernelTable&);
void add_copy_kernels(KernelTable&);
void add_index_kernels(KernelTable&);
void add_strided_kernels(KernelTable&);

template <class... Ts>
struct Types {};
using Floats = Types<float, double>;
using Numbers = Types<int32_t, int64_t, float, double>;
using AnyType = Types<bool, int32_t, int64_t, float, double>;

}  // namespace perflab
