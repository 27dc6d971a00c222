// The shape rules that ops name: what the outputs look like, given the inputs and the attributes. Those of views are
// apart.
#include "rules.h"

#include <algorithm>
#include <span>

namespace perflab {

namespace {

// --- the shape of an input, or of several

void same(In in, int, const Attrs&, Array* out, int) { out[0].take_shape(*in[0]); }

void like_second(In in, int, const Attrs&, Array* out, int) { out[0].take_shape(*in[1]); }

void same_axis(In in, int, const Attrs& at, Array* out, int) {
  axis_of(*in[0], at.v[0]);
  out[0].take_shape(*in[0]);
}

[[noreturn]] void fail_broadcast(const Layout& a, const Layout& b) {
  fail_shape("shapes " + show(a) + " and " + show(b) +
             " do not broadcast: sizes must be equal or 1, from the last axis");
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

void into_first(In in, int, const Attrs&, Array* out, int) {  // the second is written into the first
  const Array &a = *in[0], &value = *in[1];
  bool fits = value.ndim <= a.ndim;
  for (int i = 1; fits && i <= value.ndim; ++i) {
    const int64_t size = value.shape[value.ndim - i];
    fits = size == 1 || size == a.shape[a.ndim - i];
  }
  if (!fits) fail_shape("values of shape " + show(value) + " do not broadcast to shape " + show(a));
  out[0].take_shape(a);
}

// --- fewer axes

void reduce(In in, int, const Attrs& at, Array* out, int) {
  const Array& a = *in[0];
  Array& o = out[0];
  unsigned gone = axes_of(a, at.v);
  bool keep = at.v[kTupleWords];
  int n = 0;
  for (int i = 0; i < a.ndim; ++i) {
    bool reduced = gone >> i & 1;
    if (!reduced || keep) o.shape[n++] = reduced ? 1 : a.shape[i];
  }
  o.ndim = static_cast<uint8_t>(n);
  o.pack();
}

// Of no elements there is none to choose.
void extremum(In in, int nin, const Attrs& at, Array* out, int nout) {
  const Array& a = *in[0];
  unsigned gone = axes_of(a, at.v);
  for (int i = 0; i < a.ndim; ++i) {
    if ((gone >> i & 1) && a.shape[i] == 0) fail_shape("there is no element to choose along an axis of " + show(a));
  }
  reduce(in, nin, at, out, nout);
}

// Of one axis, or of all elements.
void place_of_extremum(In in, int nin, const Attrs& at, Array* out, int nout) {
  if (at.v[0] != kNone && at.v[0] != 1) fail_shape("it looks along one axis, not " + std::to_string(at.v[0]));
  extremum(in, nin, at, out, nout);
}

// At least two axes.
void matrices(In in, int, const Attrs&, Array* out, int) {
  if (in[0]->ndim < 2) fail_shape("it takes matrices in the last two axes, not shape " + show(*in[0]));
  out[0].take_shape(*in[0]);
}

void matmul(In in, int, const Attrs&, Array* out, int) {
  const Array &a = *in[0], &b = *in[1];
  Array& o = out[0];
  if (a.ndim == 0 || b.ndim == 0)
    fail_shape("a matrix product needs at least 1 axis, not " + show(a) + " @ " + show(b));
  int64_t inner = b.shape[b.ndim == 1 ? 0 : b.ndim - 2];
  if (a.shape[a.ndim - 1] != inner) fail_shape("inner sizes differ, " + show(a) + " @ " + show(b));
  int lead_a = std::max(a.ndim - 2, 0), lead_b = std::max(b.ndim - 2, 0);
  std::copy_n(a.shape, lead_a, o.shape);
  int n = widen(o.shape, lead_a, b.shape, lead_b);
  if (n < 0) fail_shape("leading sizes do not broadcast, " + show(a) + " @ " + show(b));
  if (a.ndim > 1) o.shape[n++] = a.shape[a.ndim - 2];
  if (b.ndim > 1) o.shape[n++] = b.shape[b.ndim - 1];
  o.ndim = static_cast<uint8_t>(n);
  o.pack();
}

// --- several arrays

void concat(In in, int nin, const Attrs& at, Array* out, int) {
  if (nin == 0) fail_shape("there is nothing to join: give at least one tensor");
  const Array& first = *in[0];
  if (at.v[0] == kNone) {  // flattened
    out[0].ndim = 1, out[0].shape[0] = 0;
    for (int i = 0; i < nin; ++i) out[0].shape[0] += in[i]->numel;
    return out[0].pack();
  }
  if (first.ndim == 0) fail_shape("0-d tensors have no axis to join along: stack them, or reshape them to (1,)");
  int axis = axis_of(first, at.v[0]);
  Array& o = out[0];
  o.take_shape(first);
  for (int i = 1; i < nin; ++i) {
    const Array& a = *in[i];
    bool fits = a.ndim == first.ndim;
    for (int d = 0; fits && d < a.ndim; ++d) fits = d == axis || a.shape[d] == first.shape[d];
    if (!fits) {
      fail_shape("shapes " + show(first) + " and " + show(a) + " do not join along axis " + std::to_string(axis) +
                 ": the other sizes must be equal");
    }
    o.shape[axis] += a.shape[axis];
  }
  o.pack();
}

void take(In in, int, const Attrs& at, Array* out, int) {
  const Array &a = *in[0], &indices = *in[1];
  if (a.ndim == 0) fail_shape("a 0-d tensor has no elements to take: reshape it to (1,)");
  int axis = axis_of(a, at.v[0]), n = a.ndim - 1 + indices.ndim;
  if (n > kMaxDim) {
    fail_shape("taking " + show(indices) + " of " + show(a) + " gives more than " + std::to_string(kMaxDim) + " axes");
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
  for (int i = 0; fits && i < a.ndim; ++i) fits = i == axis || indices.shape[i] <= a.shape[i];
  if (!fits) {
    fail_shape("indices " + show(indices) + " do not fit " + show(a) + ": beside axis " + std::to_string(axis) +
               " they may not be larger");
  }
  out[0].take_shape(indices);
}

constexpr ShapeRule kRules[] = {
    {"same", "", same},
    {"broadcast", "", broadcast},
    {"into_first", "", into_first},
    {"same_axis", "i", same_axis},
    {"reduce", "ab", reduce},
    {"matmul", "", matmul},
    {"concat", "i", concat},
    {"take", "ib", take},
    {"take_along", "ib", take_along},
    {"like_second", "", like_second},
    {"extremum", "ab", extremum},
    {"place_of_extremum", "ab", place_of_extremum},
    {"matrices", "", matrices},
};

}  // namespace

const ShapeRule* shape_rule(const std::string& name) {
  for (const std::span<const ShapeRule> table :
       {std::span<const ShapeRule>(kRules), view_rules(), part_rules(), layer_rules(), device_rules()}) {
    for (const ShapeRule& rule : table) {
      if (name == rule.name) return &rule;
    }
  }
  return nullptr;
}

void fail_shape(const std::string& what) { throw Error(ErrorKind::kShape, what); }

int axis_of(const Layout& a, int64_t axis) {
  int64_t n = std::max<int64_t>(a.ndim, 1), i = axis < 0 && axis >= -n ? axis + n : axis;
  if (axis == kNone) fail_shape("an axis must be given for shape " + show(a));
  if (i < 0 || i >= n)
    throw Error(ErrorKind::kAxis, "axis " + std::to_string(axis) + " is out of range for shape " + show(a));
  return static_cast<int>(i);
}

unsigned axes_of(const Layout& a, const int64_t* words) {
  if (words[0] == kNone) return (1u << a.ndim) - 1;
  unsigned mask = 0;
  for (int64_t i = 1; i <= words[0]; ++i) {
    unsigned bit = 1u << axis_of(a, words[i]);
    if (mask & bit) fail_shape("axis " + std::to_string(words[i]) + " is named twice");
    mask |= bit;
  }
  return mask;
}

}  // namespace perflab
