// Shape rules of views of a part, and of several parts.
#include <algorithm>

#include "rules.h"

namespace perflab {

namespace {

void slice(In in, int, const Attrs& at, Array* out, int) {
  out[0].alias(*in[0]);
  slice_view(out[0], at);
}

void select(In in, int, const Attrs& at, Array* out, int) {
  out[0].alias(*in[0]);
  select_view(out[0], at);
}

void unfold(In in, int, const Attrs& at, Array* out, int) {
  const Array& a = *in[0];
  if (a.ndim == 0) fail_shape("a 0-d tensor cannot be unfolded");
  int axis = axis_of(a, at.v[0]);
  int64_t size = at.v[1], step = at.v[2];
  if (size < 1 || size > a.shape[axis] || step < 1) {
    fail_shape("windows of " + std::to_string(size) + " every " + std::to_string(step) + " do not fit axis " +
               std::to_string(axis) + " of shape " + show(a) +
               ": they need a size from 1 to its own, and a step of 1 or more");
  }
  if (a.ndim == kMaxDim) fail_shape("shape " + show(a) + " cannot have more than " + std::to_string(kMaxDim) + " axes");
  Array& o = out[0];
  o.alias(a);
  o.shape[a.ndim] = size, o.strides[a.ndim] = a.strides[axis];
  o.shape[axis] = (a.shape[axis] - size) / step + 1, o.strides[axis] = a.strides[axis] * step;
  ++o.ndim;
  o.measure();
}

// A view of contiguous memory; of other memory the elements are gathered by a kernel.
void as_strided(In in, int, const Attrs& at, Array* out, int) {
  Array& o = out[0];
  if (in[0]->contig) {
    o.alias(*in[0]);
    return strided_view(o, at);
  }
  Array packed;
  packed.take_shape(*in[0]);
  strided_view(packed, at);
  o.take_shape(packed);
}

// --- several parts

void part_view(Array& o, const Array& a, int axis, int64_t begin, int64_t n) {
  o.alias(a);
  o.shape[axis] = n;
  o.skip(begin * a.strides[axis]);
  o.measure();
}

int split_outputs(In in, int, const Attrs& at) {
  const Array& a = *in[0];
  if (a.ndim == 0) fail_shape("a 0-d tensor cannot be split");
  int64_t size = at.v[0], n = a.shape[axis_of(a, at.v[1])];
  if (size <= 0) fail_shape("size " + std::to_string(size) + " of a part must be at least 1");
  return static_cast<int>(std::max<int64_t>((n + size - 1) / size, 1));
}

void split(In in, int, const Attrs& at, Array* out, int nout) {
  const Array& a = *in[0];
  int axis = axis_of(a, at.v[1]);
  int64_t size = at.v[0];
  for (int i = 0; i < nout; ++i) part_view(out[i], a, axis, i * size, std::min(size, a.shape[axis] - i * size));
}

int unconcat_outputs(In, int nin, const Attrs&) { return nin - 1; }

void unconcat(In in, int nin, const Attrs& at, Array* out, int nout) {
  const Array& a = *in[0];
  const bool flattened = at.v[0] == kNone;
  int axis = flattened ? 0 : axis_of(a, at.v[0]);
  int64_t begin = 0;
  for (int i = 0; i < nout; ++i) {
    const Array& like = *in[i + 1];
    if (flattened) {  // a has one axis: a shape fits into it with any stride
      out[i].alias(a);
      out[i].take_shape(like);
      for (int d = 0; d < like.ndim; ++d) out[i].strides[d] *= a.strides[0];
      out[i].measure();
      if (like.numel) out[i].skip(begin * a.strides[0]);
      begin += like.numel;
      continue;
    }
    int64_t n = axis < like.ndim ? like.shape[axis] : 0;
    if (begin + n > a.shape[axis])
      fail_shape("shape " + show(a) + " is shorter than its " + std::to_string(nin - 1) + " parts");
    part_view(out[i], a, axis, begin, n);
    begin += n;
  }
}

int unbind_outputs(In in, int, const Attrs& at) {
  const Array& a = *in[0];
  if (a.ndim == 0) fail_shape("a 0-d tensor cannot be unbound");
  return static_cast<int>(a.shape[axis_of(a, at.v[0])]);
}

void unbind(In in, int, const Attrs& at, Array* out, int nout) {
  Attrs one = at;
  for (int i = 0; i < nout; ++i) {
    one.v[1] = i;
    out[i].alias(*in[0]);
    select_view(out[i], one);
  }
}

constexpr ShapeRule kRules[] = {
    {"slice", "ttt", slice},
    {"select", "ii", select},
    {"unfold", "iii", unfold},
    {"as_strided", "tti", as_strided},
    {"split", "ii", split, split_outputs},
    {"unconcat", "i", unconcat, unconcat_outputs},
    {"unbind", "i", unbind, unbind_outputs},
};

}  // namespace

std::span<const ShapeRule> part_rules() { return kRules; }

void slice_view(Array& a, const Attrs& at) {
  const int64_t *start = at.v, *size = at.v + kTupleWords, *step = at.v + 2 * kTupleWords;
  if (start[0] != a.ndim || size[0] != a.ndim || step[0] != a.ndim) {
    fail_shape("a slice of shape " + show(a) + " needs a start, a size and a step for each axis");
  }
  int64_t skip = 0;
  for (int i = 0; i < a.ndim; ++i) {
    int64_t first = start[1 + i], n = size[1 + i], by = step[1 + i], last = first + (n - 1) * by;
    if (n < 0 || (n > 0 && (std::min(first, last) < 0 || std::max(first, last) >= a.shape[i]))) {
      throw Error(ErrorKind::kIndex, "a slice from " + std::to_string(first) + " of " + std::to_string(n) + " by " +
                                         std::to_string(by) + " is out of range for axis " + std::to_string(i) +
                                         " of shape " + show(a));
    }
    if (n > 0) skip += first * a.strides[i];
    a.shape[i] = n, a.strides[i] *= by;
  }
  a.skip(skip);
  a.measure();
}

void strided_view(Array& a, const Attrs& at) {
  const int64_t *size = at.v, *stride = at.v + kTupleWords, first = at.v[2 * kTupleWords];
  if (size[0] != stride[0]) fail_shape("as_strided needs a size and a stride for each axis");
  int64_t lowest = first, highest = first, count = 1;
  for (int i = 1; i <= size[0]; ++i) {
    if (size[i] < 0) fail_shape("negative size in shape " + show(size + 1, static_cast<int>(size[0])));
    const int64_t reach = (size[i] - 1) * stride[i];
    (reach < 0 ? lowest : highest) += reach;
    count *= size[i];
  }
  if (count > 0 && (lowest < 0 || highest >= a.numel)) {
    throw Error(ErrorKind::kIndex, "elements " + std::to_string(lowest) + " to " + std::to_string(highest) +
                                       " are out of range for a tensor with " + std::to_string(a.numel));
  }
  a.ndim = static_cast<uint8_t>(size[0]);
  std::copy_n(size + 1, a.ndim, a.shape);
  std::copy_n(stride + 1, a.ndim, a.strides);
  if (count > 0) a.skip(first);
  a.measure();
}

void select_view(Array& a, const Attrs& at) {
  if (a.ndim == 0) throw Error(ErrorKind::kIndex, "a 0-d tensor cannot be indexed");
  int axis = axis_of(a, at.v[0]);
  int64_t index = at.v[1], n = a.shape[axis];
  if (index < -n || index >= n) {
    throw Error(ErrorKind::kIndex, "index " + std::to_string(index) + " is out of range for axis " +
                                       std::to_string(axis) + " with size " + std::to_string(n));
  }
  if (index < 0) index += n;
  a.skip(index * a.strides[axis]);
  --a.ndim;
  for (int i = axis; i < a.ndim; ++i) a.shape[i] = a.shape[i + 1], a.strides[i] = a.strides[i + 1];
  a.measure();
}

}  // namespace perflab
