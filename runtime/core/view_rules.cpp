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

// copy: 1 always, 0 never, kNone where the strides allow no view.
void reshape_to(const Array& a, const int64_t* shape, int n, Array& o, int64_t copy = kNone) {
  int64_t count = 1;
  for (int i = 0; i < n; ++i) count *= shape[i];
  if (count != a.numel) {
    fail_shape("shape " + show(a) + " has " + std::to_string(a.numel) + " elements and cannot become " +
               show(shape, n));
  }
  int64_t strides[kMaxDim];
  bool view = a.contig || view_strides(a, shape, n, strides);
  if (!view && copy == 0)
    fail_shape("shape " + show(a) + " with its strides has no view of shape " + show(shape, n) +
               ": leave out copy=False");
  if (copy == 1) view = false;
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
  reshape_to(a, shape, n, out[0], at.v[kTupleWords]);
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

void squeeze(In in, int, const Attrs& at, Array* out, int) {
  const Array& a = *in[0];
  bool every = at.v[0] == kNone;  // None: whatever has size 1
  unsigned gone = axes_of(a, at.v);
  Array& o = out[0];
  o.alias(a);
  int n = 0;
  for (int i = 0; i < a.ndim; ++i) {
    if (!(gone >> i & 1) || (every && a.shape[i] != 1)) {
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

void diagonal(In in, int, const Attrs& at, Array* out, int) {
  const Array& a = *in[0];
  int64_t offset = at.v[0];
  int i = axis_of(a, at.v[1]), j = axis_of(a, at.v[2]);
  if (i == j || a.ndim < 2) {
    fail_shape("a diagonal needs two different axes, not " + std::to_string(at.v[1]) + " and " +
               std::to_string(at.v[2]) + " of shape " + show(a));
  }
  Array& o = out[0];
  o.alias(a);
  int64_t n = std::max<int64_t>(
      0, offset < 0 ? std::min(a.shape[i] + offset, a.shape[j]) : std::min(a.shape[i], a.shape[j] - offset));
  int64_t skip = n == 0 ? 0 : offset < 0 ? -offset * a.strides[i] : offset * a.strides[j];
  int k = 0;
  for (int d = 0; d < a.ndim; ++d)
    if (d != i && d != j) o.shape[k] = a.shape[d], o.strides[k++] = a.strides[d];
  o.shape[k] = n, o.strides[k++] = a.strides[i] + a.strides[j];
  o.ndim = static_cast<uint8_t>(k);
  o.skip(skip);
  o.measure();
}

// The same bytes as elements of another dtype: the last axis grows or shrinks where the sizes of the elements differ.
void bitcast(In in, int, const Attrs& at, Array* out, int) {
  const Array& a = *in[0];
  auto to = static_cast<DType>(at.v[0]);
  int64_t from_size = static_cast<int64_t>(item_size(a.dtype)), to_size = static_cast<int64_t>(item_size(to));
  Array& o = out[0];
  o.alias(a);
  if (from_size == to_size) return;
  int last = a.ndim - 1;
  auto refuse = [&] {
    fail_shape("shape " + show(a) + " of " + name(a.dtype) + " cannot be viewed as " + name(to) +
               ": the last axis must lie without gaps and divide into elements of " + std::to_string(to_size) +
               " bytes");
  };
  if (last < 0 || a.strides[last] != 1 || a.shape[last] * from_size % to_size) refuse();
  for (int i = 0; i < last; ++i) {
    if (a.strides[i] * from_size % to_size) refuse();
    o.strides[i] = a.strides[i] * from_size / to_size;
  }
  o.shape[last] = a.shape[last] * from_size / to_size;
  o.measure();
}

constexpr ShapeRule kRules[] = {
    {"reshape", "ti", reshape},
    {"reshape_like", "", reshape_like},
    {"transpose", "ii", transpose},
    {"permute", "t", permute},
    {"expand", "t", expand},
    {"expand_like", "", expand_like},
    {"expand_reduced", "ab", expand_reduced},
    {"unbroadcast", "", unbroadcast},
    {"squeeze", "a", squeeze},
    {"unsqueeze", "t", unsqueeze},
    {"diagonal", "iii", diagonal},
    {"bitcast", "d", bitcast},
};

}  // namespace

std::span<const ShapeRule> view_rules() { return kRules; }

}  // namespace perflab
