// Shape rules of views: other strides over the elements of the input.
#include <algorithm>

#include "rules.h"

namespace perflab {

namespace {

// --- reshape: a view where the strides allow one

// Strides that walk a's elements in the given shape; false where there are none. Both have the same number of elements.
bool view_strides(const Layout& a, const int64_t* shape, int n, int64_t* strides) {
  int at = n - 1;
  for (int i = a.ndim - 1; i >= 0;) {
    // The longest run of a's axes, from the right, that steps evenly is divided anew.
    int64_t run = a.shape[i], base = a.strides[i];
    int j = i - 1;
    for (; j >= 0 && (a.shape[j] == 1 || run == 1 || a.strides[j] == run * base); --j) {
      if (run == 1) base = a.strides[j];
      run *= a.shape[j];
    }
    int64_t done = 1;
    while (at >= 0 && (done < run || shape[at] == 1)) strides[at] = base * done, done *= shape[at--];
    if (done != run) return false;
    i = j;
  }
  for (; at >= 0; --at) strides[at] = 1;
  return true;
}

void reshape_to(const Array& a, const int64_t* shape, int n, Array& o) {
  int64_t count = 1;
  for (int i = 0; i < n; ++i) count *= shape[i];
  if (count != a.numel) {
    fail_shape("shape " + show(a) + " has " + std::to_string(a.numel) + " elements and cannot become " +
               show(shape, n));
  }
  int64_t strides[kMaxDim];
  bool view = a.contig || view_strides(a, shape, n, strides);
  if (view) o.alias(a);
  o.ndim = static_cast<uint8_t>(n);
  std::copy_n(shape, n, o.shape);
  if (!view || a.contig) return o.pack();
  std::copy_n(strides, n, o.strides);
  o.measure();
}

void reshape(In in, int, const Attrs& at, Array* out, int) {
  const Array& a = *in[0];
  int n = static_cast<int>(at.v[0]), open = -1;
  int64_t shape[kMaxDim], known = 1;
  for (int i = 0; i < n; ++i) {
    shape[i] = at.v[1 + i];
    if (shape[i] >= 0) {
      known *= shape[i];
    } else if (shape[i] == -1 && open < 0) {
      open = i;
    } else {
      fail_shape("shape " + show(at.v + 1, n) + " may hold one -1 and no other negative size");
    }
  }
  if (open >= 0) {
    if (known == 0 || a.numel % known) fail_shape("shape " + show(a) + " cannot become " + show(at.v + 1, n));
    shape[open] = a.numel / known;
  }
  reshape_to(a, shape, n, out[0]);
}

void reshape_like(In in, int, const Attrs&, Array* out, int) { reshape_to(*in[0], in[1]->shape, in[1]->ndim, out[0]); }

// --- views in another order, or wider

void transpose(In in, int, const Attrs& at, Array* out, int) {
  const Array& a = *in[0];
  int i = axis_of(a, at.v[0]), j = axis_of(a, at.v[1]);
  Array& o = out[0];
  o.alias(a);
  if (i == j) return;
  std::swap(o.shape[i], o.shape[j]);
  std::swap(o.strides[i], o.strides[j]);
  o.measure();
}

void permute(In in, int, const Attrs& at, Array* out, int) {
  const Array& a = *in[0];
  if (at.v[0] != a.ndim || axes_of(a, at.v) + 1 != 1u << a.ndim) {
    fail_shape("axes " + show(at.v + 1, static_cast<int>(at.v[0])) + " are not an order of the axes of shape " +
               show(a));
  }
  Array& o = out[0];
  o.alias(a);
  for (int i = 0; i < a.ndim; ++i) {
    int from = axis_of(a, at.v[1 + i]);
    o.shape[i] = a.shape[from], o.strides[i] = a.strides[from];
  }
  o.measure();
}

void expand_to(const Array& a, const int64_t* shape, int n, Array& o) {
  auto refuse = [&] {
    fail_shape("shape " + show(a) + " does not expand to " + show(shape, n) + ": only sizes of 1 do");
  };
  if (n < a.ndim) refuse();
  o.alias(a);
  o.ndim = static_cast<uint8_t>(n);
  for (int i = 0; i < n; ++i) {
    int k = i - (n - a.ndim);
    int64_t size = shape[i], old = k < 0 ? 1 : a.shape[k];
    if (size == -1 && k >= 0) size = old;
    if (size < 0 || (size != old && old != 1)) refuse();
    o.shape[i] = size;
    o.strides[i] = size == old && k >= 0 ? a.strides[k] : 0;
  }
  o.measure();
}

void expand(In in, int, const Attrs& at, Array* out, int) {
  expand_to(*in[0], at.v + 1, static_cast<int>(at.v[0]), out[0]);
}

void expand_like(In in, int, const Attrs&, Array* out, int) { expand_to(*in[0], in[1]->shape, in[1]->ndim, out[0]); }

void expand_reduced(In in, int, const Attrs& at, Array* out, int) {
  const Array &a = *in[0], &like = *in[1];
  unsigned gone = axes_of(like, at.v);
  int reduced = __builtin_popcount(gone);
  bool kept = a.ndim == like.ndim;
  auto refuse = [&] { fail_shape("shape " + show(a) + " is no reduction of " + show(like) + " over these axes"); };
  if (!kept && a.ndim + reduced != like.ndim) refuse();
  Array& o = out[0];
  o.alias(a);
  o.ndim = like.ndim;
  for (int i = 0, k = 0; i < like.ndim; ++i) {
    bool filled = gone >> i & 1;
    if ((!filled || kept) && a.shape[k] != (filled ? 1 : like.shape[i])) refuse();
    o.shape[i] = like.shape[i];
    o.strides[i] = filled ? 0 : a.strides[k];
    if (!filled || kept) ++k;
  }
  o.measure();
}

void unbroadcast(In in, int, const Attrs&, Array* out, int) {
  const Array &a = *in[0], &like = *in[1];
  if (same_shape(a, like)) return out[0].alias(a);
  bool fits = like.ndim <= a.ndim;
  for (int i = 1; fits && i <= like.ndim; ++i) {
    int64_t n = like.shape[like.ndim - i];
    fits = n == 1 || n == a.shape[a.ndim - i];
  }
  if (!fits) fail_shape("shape " + show(like) + " does not broadcast to " + show(a));
  out[0].take_shape(like);
}

// --- views of a part

void slice(In in, int, const Attrs& at, Array* out, int) {
  out[0].alias(*in[0]);
  slice_view(out[0], at);
}

void select(In in, int, const Attrs& at, Array* out, int) {
  out[0].alias(*in[0]);
  select_view(out[0], at);
}

void squeeze(In in, int, const Attrs& at, Array* out, int) {
  const Array& a = *in[0];
  unsigned gone = axes_of(a, at.v);
  Array& o = out[0];
  o.alias(a);
  int n = 0;
  for (int i = 0; i < a.ndim; ++i) {
    if (!(gone >> i & 1)) {
      o.shape[n] = a.shape[i], o.strides[n++] = a.strides[i];
    } else if (a.shape[i] != 1) {
      fail_shape("axis " + std::to_string(i) + " of shape " + show(a) + " has size " + std::to_string(a.shape[i]) +
                 ": only axes of size 1 can be squeezed");
    }
  }
  o.ndim = static_cast<uint8_t>(n);
}

void unsqueeze(In in, int, const Attrs& at, Array* out, int) {
  const Array& a = *in[0];
  int64_t n = a.ndim + at.v[0];
  if (n > kMaxDim) fail_shape("shape " + show(a) + " cannot have more than " + std::to_string(kMaxDim) + " axes");
  Array& o = out[0];
  o.alias(a);
  o.ndim = static_cast<uint8_t>(n);
  std::fill_n(o.shape, n, 1);
  unsigned fresh = axes_of(o, at.v);
  for (int i = static_cast<int>(n) - 1, k = a.ndim - 1; i >= 0; --i) {
    if (fresh >> i & 1) {
      o.strides[i] = i + 1 < n ? o.shape[i + 1] * o.strides[i + 1] : 1;
    } else {
      o.shape[i] = a.shape[k], o.strides[i] = a.strides[k--];
    }
  }
}

// --- several parts

void part_view(Array& o, const Array& a, int axis, int64_t begin, int64_t n) {
  o.alias(a);
  o.shape[axis] = n;
  if (o.data) o.data = o.as<char>() + begin * a.strides[axis] * static_cast<int64_t>(item_size(a.dtype));
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
  int axis = axis_of(a, at.v[0]);
  int64_t begin = 0;
  for (int i = 0; i < nout; ++i) {
    const Array& like = *in[i + 1];
    int64_t n = axis < like.ndim ? like.shape[axis] : 0;
    if (begin + n > a.shape[axis])
      fail_shape("shape " + show(a) + " is shorter than its " + std::to_string(nin - 1) + " parts");
    part_view(out[i], a, axis, begin, n);
    begin += n;
  }
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

constexpr ShapeRule kRules[] = {
    {"as_strided", "tti", as_strided},
    {"reshape", "t", reshape},
    {"reshape_like", "", reshape_like},
    {"transpose", "ii", transpose},
    {"permute", "t", permute},
    {"expand", "t", expand},
    {"expand_like", "", expand_like},
    {"expand_reduced", "ab", expand_reduced},
    {"unbroadcast", "", unbroadcast},
    {"slice", "ttt", slice},
    {"select", "ii", select},
    {"squeeze", "t", squeeze},
    {"unsqueeze", "t", unsqueeze},
    {"split", "ii", split, split_outputs},
    {"unconcat", "i", unconcat, unconcat_outputs},
};

}  // namespace

std::span<const ShapeRule> view_rules() { return kRules; }

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
  if (a.data) a.data = a.as<char>() + skip * static_cast<int64_t>(item_size(a.dtype));
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
  if (a.data && count > 0) a.data = a.as<char>() + first * static_cast<int64_t>(item_size(a.dtype));
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
  if (a.data) a.data = a.as<char>() + index * a.strides[axis] * static_cast<int64_t>(item_size(a.dtype));
  --a.ndim;
  for (int i = axis; i < a.ndim; ++i) a.shape[i] = a.shape[i + 1], a.strides[i] = a.strides[i + 1];
  a.measure();
}

}  // namespace perflab
