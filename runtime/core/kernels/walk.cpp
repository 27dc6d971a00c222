#include "kernels/walk.h"

#include <algorithm>

namespace perflab {

namespace {

struct Axis {
  int64_t size, strides[kMaxOperands];
};

bool follows(const Axis& outer, const Axis& inner, int operands) {
  for (int k = 0; k < operands; ++k) {
    if (outer.strides[k] != inner.size * inner.strides[k]) return false;
  }
  return true;
}

}  // namespace

Walk::Walk(const Layout* const* arrays, int operands) : operands(operands) {
  const Layout& first = *arrays[0];
  Axis axes[kMaxDim];
  int count = 0;
  for (int i = 0; i < first.ndim; ++i) {
    if (first.shape[i] == 1) continue;
    Axis& axis = axes[count++];
    axis.size = first.shape[i];
    for (int k = 0; k < operands; ++k) {
      const Layout& a = *arrays[k];
      int d = i - (first.ndim - a.ndim);
      axis.strides[k] = d < 0 || a.shape[d] == 1 ? 0 : a.strides[d] * static_cast<int64_t>(item_size(a.dtype));
    }
  }
  if (!first.contig) {
    std::stable_sort(axes, axes + count,
                     [](const Axis& x, const Axis& y) { return std::abs(x.strides[0]) > std::abs(y.strides[0]); });
  }
  int merged = 0;
  for (int i = 0; i < count; ++i) {
    if (merged && follows(axes[merged - 1], axes[i], operands)) {
      axes[i].size *= axes[merged - 1].size;
      --merged;
    }
    axes[merged++] = axes[i];
  }
  for (int k = 0; k < operands; ++k) p[k] = arrays[k]->as<char>(), step[k] = 0;
  if (first.numel == 0) n = rows = 0;
  if (!merged) return;
  const Axis& row = axes[merged - 1];
  n = row.size;
  std::copy_n(row.strides, operands, step);
  for (; ndim < merged - 1; ++ndim) {
    shape[ndim] = axes[ndim].size, at[ndim] = 0;
    rows *= shape[ndim];
    std::copy_n(axes[ndim].strides, operands, strides[ndim]);
  }
}

void Walk::seek(int64_t row) {
  for (int d = ndim - 1; d >= 0; --d) {
    at[d] = row % shape[d], row /= shape[d];
    for (int k = 0; k < operands; ++k) p[k] += at[d] * strides[d][k];
  }
}

}  // namespace perflab
