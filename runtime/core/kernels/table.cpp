#include "kernels/table.h"

namespace perflab {

void KernelTable::add(const char* op, DType dtype, Kernel kernel) { rows.push_back({op, dtype, kernel}); }

namespace {

[[maybe_unused]] const bool filled = [] {
  KernelTable table;
  add_pointwise_kernels(table);
  add_compare_kernels(table);
  add_recurrent_kernels(table);
  add_reduce_kernels(table);
  add_running_kernels(table);
  add_softmax_kernels(table);
  add_activation_kernels(table);
  add_norm_kernels(table);
  add_batch_norm_kernels(table);
  add_nll_kernels(table);
  add_matmul_kernels(table);
  add_conv_kernels(table);
  add_pool_kernels(table);
  add_avg_pool_kernels(table);
  add_copy_kernels(table);
  add_index_kernels(table);
  add_strided_kernels(table);
  native_kernels() = table.rows;
  return true;
}();

}  // namespace

}  // namespace perflab
