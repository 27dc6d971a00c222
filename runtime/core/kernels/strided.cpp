// Elements of an array chosen by strides over its memory: what the history of views is made of.
#include <cstring>

#include "kernels/table.h"
#include "rules.h"

namespace perflab {

namespace {

// The elements that as_strided's attributes choose of `a`, in C order.
Array chosen(const Array& a, const Attrs& at) {
  Array view = a.contig ? Array(a) : cast(a, a.dtype);
  strided_view(view, at);
  return view;
}

void as_strided(In in, int, const Attrs& at, Array* out, int) { copy_into(chosen(*in[0], at), out[0]); }

void copy_slices(In in, int, const Attrs& at, Array* out, int) {
  copy_into(*in[0], out[0]);
  Array view = chosen(out[0], at);
  copy_into(*in[1], view);
}

// Elements that the view shows several times get the sum.
template <class T>
void as_strided_grad(In in, int, const Attrs& at, Array* out, int) {
  std::memset(out[0].data, 0, out[0].bytes());
  Array view = chosen(out[0], at);
  const Array& a = *in[0];
  if (!same_shape(a, view)) fail_shape("the view has shape " + show(view) + ", not " + show(a));
  if (view.numel == 0) return;
  int64_t index[kMaxDim] = {};
  const T* from = a.as<T>();
  T* to = view.as<T>();
  for (;;) {
    *to += *from;
    int d = view.ndim - 1;
    for (; d >= 0; --d) {
      from += a.strides[d], to += view.strides[d];
      if (++index[d] < view.shape[d]) break;
      from -= a.strides[d] * view.shape[d], to -= view.strides[d] * view.shape[d];
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

}  // namespace

void add_strided_kernels(KernelTable& table) {
  for (int i = 0; i < kDTypes; ++i) {
    table.add("as_strided", static_cast<DType>(i), as_strided);
    table.add("copy_slices", static_cast<DType>(i), copy_slices);
  }
  table.add("as_strided_grad", DType::kFloat32, as_strided_grad<float>);
  table.add("as_strided_grad", DType::kFloat64, as_strided_grad<double>);
}

}  // namespace perflab
