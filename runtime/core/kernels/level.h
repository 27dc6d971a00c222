// CPU levels: kernels that gain from wider vectors are compiled for each and chosen once, when the library is loaded.
#pragma once
#include "op.h"

namespace perflab {

// 1 baseline, 3 x86-64-v3 (AVX2, FMA), 4 x86-64-v4 (AVX-512). The variable PERFLAB_CPU_LEVEL lowers it.
int level();
const char* cpu_level();  // "baseline", "x86-64-v3" or "x86-64-v4"

struct KernelTable {
  std::vector<NativeKernel> rows;
  void add(const char* op, DType dtype, Kernel kernel);  // out of line: bodies compiled for a level call it
};

// Each file of kernels adds its own.
void add_pointwise_kernels(KernelTable&);
void add_compare_kernels(KernelTable&);
void add_reduce_kernels(KernelTable&);
void add_softmax_kernels(KernelTable&);
void add_matmul_kernels(KernelTable&);
void add_copy_kernels(KernelTable&);
void add_index_kernels(KernelTable&);

template <class... Ts>
struct Types {};
using Floats = Types<float, double>;
using Numbers = Types<int32_t, int64_t, float, double>;
using AnyType = Types<bool, int32_t, int64_t, float, double>;

}  // namespace perflab
