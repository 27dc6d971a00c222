// The shape rules that ops name: what the outputs look like, given the inputs and the attributes.
#include "rules.h"

#include <algorithm>

namespace perflab {

namespace {

constexpr int kTuple = 1 + kMaxDim;  // words of a tuple

[[noreturn]] void fail(const std::string& what) { throw Error(ErrorKind::kShape, what); }

// --- the shape of an input, or of several

void same(In in, int, const Attrs&, Array* out, int) { out[0].take_shape(*in[0]); }

void like_second(In in, int, const Attrs&, Array* out, int) { out[0].take_shape(*in[1]); }

void same_axis(In in, int, const Attrs& at, Array* out, int) {
  axis_of(*in[0], at.v[0]);
  out[0].take_shape(*in[0]);
}

[[noreturn]] void fail_broadcast(const Layout& a, const Layout& b) {
  fail("shapes " + show(a) + " and " + show(b) + " do not broadcast: sizes must be equal or 1, from the last axis");
}

// Widens the first n sizes of `shape` (right-aligned) by those of b; returns the new rank.
int widen(int64_t* shape, int n, const int64_t* other, int m) {
  if (m > n) {
    std::copy_backward(shape, shape + n, shape + m);
    std::fill(shape, shape + (m - n), 1);
    n = m;
  }
  for (int i = 1; i <= m; ++i) {
    int64_t &x = shape[n - i], y = other[m - i];
    if (x != y && x != 1 && y != 1) return -1;
    if (x == 1) x = y;
  }
  return n;
}

void broadcast(In in, int nin, const Attrs&, Array* out, int) {
  Array& o = out[0];
  if (nin == 2) {
    if (in[1]->ndim == 0 || same_shape(*in[0], *in[1])) return o.take_shape(*in[0]);
    if (in[0]->ndim == 0) return o.take_shape(*in[1]);
  }
  o.take_shape(*in[0]);
  for (int i = 1; i < nin; ++i) {
    int n = widen(o.shape, o.ndim, in[i]->shape, in[i]->ndim);
    if (n < 0) {
      if (i > 1) o.pack();
      fail_broadcast(i > 1 ? o : *in[0], *in[i]);
    }
    o.ndim = static_cast<uint8_t>(n);
  }
  o.pack();
}

// --- fewer axes

void reduce(In in, int, const Attrs& at, Array* out, int) {
  const Array& a = *in[0];
  Array& o = out[0];
  unsigned gone = axes_of(a, at.v);
  bool keep = at.v[kTuple];
  int n = 0;
  for (int i = 0; i < a.ndim; ++i) {
    bool reduced = gone >> i & 1;
    if (!reduced || keep) o.shape[n++] = reduced ? 1 : a.shape[i];
  }
  o.ndim = static_cast<uint8_t>(n);
  o.pack();
}

void matmul(In in, int, const Attrs&, Array* out, int) {
  const Array &a = *in[0], &b = *in[1];
  Array& o = out[0];
  if (a.ndim == 0 || b.ndim == 0) fail("a matrix product needs at least 1 axis, not " + show(a) + " @ " + show(b));
  int64_t inner = b.shape[b.ndim == 1 ? 0 : b.ndim - 2];
  if (a.shape[a.ndim - 1] != inner) fail("inner sizes differ, " + show(a) + " @ " + show(b));
  int lead_a = std::max(a.ndim - 2, 0), lead_b = std::max(b.ndim - 2, 0);
  std::copy_n(a.shape, lead_a, o.shape);
  int n = widen(o.shape, lead_a, b.shape, lead_b);
  if (n < 0) fail("leading sizes do not broadcast, " + show(a) + " @ " + show(b));
  if (a.ndim > 1) o.shape[n++] = a.shape[a.ndim - 2];
  if (b.ndim > 1) o.shape[n++] = b.shape[b.ndim - 1];
  o.ndim = static_cast<uint8_t>(n);
  o.pack();
}

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
    fail("shape " + show(a) + " has " + std::to_string(a.numel) + " elements and cannot become " + show(shape, n));
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
      fail("shape " + show(at.v + 1, n) + " may hold one -1 and no other negative size");
    }
  }
  if (open >= 0) {
    if (known == 0 || a.numel % known) fail("shape " + show(a) + " cannot become " + show(at.v + 1, n));
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
    fail("axes " + show(at.v + 1, static_cast<int>(at.v[0])) + " are not an order of the axes of shape " + show(a));
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
  auto refuse = [&] { fail("shape " + show(a) + " does not expand to " + show(shape, n) + ": only sizes of 1 do"); };
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
  auto refuse = [&] { fail("shape " + show(a) + " is no reduction of " + show(like) + " over these axes"); };
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
  if (!fits) fail("shape " + show(like) + " does not broadcast to " + show(a));
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
      fail("axis " + std::to_string(i) + " of shape " + show(a) + " has size " + std::to_string(a.shape[i]) +
           ": only axes of size 1 can be squeezed");
    }
  }
  o.ndim = static_cast<uint8_t>(n);
}

void unsqueeze(In in, int, const Attrs& at, Array* out, int) {
  const Array& a = *in[0];
  int64_t n = a.ndim + at.v[0];
  if (n > kMaxDim) fail("shape " + show(a) + " cannot have more than " + std::to_string(kMaxDim) + " axes");
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

// --- several arrays

void concat(In in, int nin, const Attrs& at, Array* out, int) {
  if (nin == 0) fail("there is nothing to join: give at least one tensor");
  const Array& first = *in[0];
  if (first.ndim == 0) fail("0-d tensors have no axis to join along: stack them, or reshape them to (1,)");
  int axis = axis_of(first, at.v[0]);
  Array& o = out[0];
  o.take_shape(first);
  for (int i = 1; i < nin; ++i) {
    const Array& a = *in[i];
    bool fits = a.ndim == first.ndim;
    for (int d = 0; fits && d < a.ndim; ++d) fits = d == axis || a.shape[d] == first.shape[d];
    if (!fits) {
      fail("shapes " + show(first) + " and " + show(a) + " do not join along axis " + std::to_string(axis) +
           ": the other sizes must be equal");
    }
    o.shape[axis] += a.shape[axis];
  }
  o.pack();
}

int split_outputs(In in, int, const Attrs& at) {
  const Array& a = *in[0];
  if (a.ndim == 0) fail("a 0-d tensor cannot be split");
  int64_t size = at.v[0], n = a.shape[axis_of(a, at.v[1])];
  if (size <= 0) fail("size " + std::to_string(size) + " of a part must be at least 1");
  return static_cast<int>(std::max<int64_t>((n + size - 1) / size, 1));
}

void split(In in, int, const Attrs& at, Array* out, int nout) {
  const Array& a = *in[0];
  int axis = axis_of(a, at.v[1]);
  int64_t size = at.v[0];
  for (int i = 0; i < nout; ++i) {
    Array& o = out[i];
    o.alias(a);
    o.shape[axis] = std::min(size, a.shape[axis] - i * size);
    if (o.data) o.data = o.as<char>() + i * size * a.strides[axis] * static_cast<int64_t>(item_size(a.dtype));
    o.measure();
  }
}

int unconcat_outputs(In, int nin, const Attrs&) { return nin - 1; }

void unconcat(In in, int, const Attrs& at, Array* out, int nout) {
  const Array& a = *in[0];
  int axis = axis_of(a, at.v[0]);
  int64_t start = 0;
  for (int i = 0; i < nout; ++i) {
    const Array& like = *in[1 + i];
    int64_t n = like.ndim == a.ndim ? like.shape[axis] : -1;
    if (n < 0 || start + n > a.shape[axis]) fail("shape " + show(a) + " has no part like " + show(like));
    Array& o = out[i];
    o.alias(a);
    o.shape[axis] = n;
    if (o.data) o.data = o.as<char>() + start * a.strides[axis] * static_cast<int64_t>(item_size(a.dtype));
    o.measure();
    start += n;
  }
}

void take(In in, int, const Attrs& at, Array* out, int) {
  const Array &a = *in[0], &indices = *in[1];
  if (a.ndim == 0) fail("a 0-d tensor has no elements to take: reshape it to (1,)");
  int axis = axis_of(a, at.v[0]), n = a.ndim - 1 + indices.ndim;
  if (n > kMaxDim) {
    fail("taking " + show(indices) + " of " + show(a) + " gives more than " + std::to_string(kMaxDim) + " axes");
  }
  Array& o = out[0];
  o.ndim = static_cast<uint8_t>(n);
  int64_t* next = std::copy_n(a.shape, axis, o.shape);
  next = std::copy_n(indices.shape, indices.ndim, next);
  std::copy_n(a.shape + axis + 1, a.ndim - axis - 1, next);
  o.pack();
}

void take_along(In in, int, const Attrs& at, Array* out, int) {
  const Array &a = *in[0], &indices = *in[1];
  int axis = axis_of(a, at.v[0]);
  bool fits = a.ndim == indices.ndim;
  for (int i = 0; fits && i < a.ndim; ++i) fits = i == axis || a.shape[i] == indices.shape[i];
  if (!fits) {
    fail("indices " + show(indices) + " do not fit " + show(a) + ": all sizes but that of axis " +
         std::to_string(axis) + " must be equal");
  }
  out[0].take_shape(indices);
}

constexpr ShapeRule kRules[] = {
    {"same", "", same},
    {"broadcast", "", broadcast},
    {"same_axis", "i", same_axis},
    {"reduce", "ab", reduce},
    {"matmul", "", matmul},
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
    {"concat", "i", concat},
    {"split", "ii", split, split_outputs},
    {"unconcat", "i", unconcat, unconcat_outputs},
    {"take", "i", take},
    {"take_along", "i", take_along},
    {"like_second", "", like_second},
};

}  // namespace

const ShapeRule* shape_rule(const std::string& name) {
  for (const ShapeRule& rule : kRules) {
    if (name == rule.name) return &rule;
  }
  return nullptr;
}

int axis_of(const Layout& a, int64_t axis) {
  int64_t n = std::max<int64_t>(a.ndim, 1), i = axis < 0 && axis >= -n ? axis + n : axis;
  if (axis == kNone) fail("an axis must be given for shape " + show(a));
  if (i < 0 || i >= n) fail("axis " + std::to_string(axis) + " is out of range for shape " + show(a));
  return static_cast<int>(i);
}

unsigned axes_of(const Layout& a, const int64_t* words) {
  if (words[0] == kNone) return (1u << a.ndim) - 1;
  unsigned mask = 0;
  for (int64_t i = 1; i <= words[0]; ++i) {
    unsigned bit = 1u << axis_of(a, words[i]);
    if (mask & bit) fail("axis " + std::to_string(words[i]) + " is named twice");
    mask |= bit;
  }
  return mask;
}

void slice_view(Array& a, const Attrs& at) {
  const int64_t *start = at.v, *size = at.v + kTuple, *step = at.v + 2 * kTuple;
  if (start[0] != a.ndim || size[0] != a.ndim || step[0] != a.ndim) {
    fail("a slice of shape " + show(a) + " needs a start, a size and a step for each axis");
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
