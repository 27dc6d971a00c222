// Elements by their indices: taken, and gathered back by the gradient.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "kernels/table.h"
#include "kernels/walk.h"
#include "rules.h"

namespace perflab {

namespace {

// Indices checked against the size of an axis, as offsets from its beginning; negative ones count from its end, where
// they may.
class Indices {
 public:
  Indices(const Array& a, int axis, int64_t size, bool from_end = true) {
    if (a.dtype != DType::kInt32 && a.dtype != DType::kInt64) {
      throw Error(ErrorKind::kDType, std::string("indices must be int32 or int64, not ") + name(a.dtype));
    }
    const int64_t n = a.numel;
    if (a.contig && a.dtype == DType::kInt64) {
      p_ = a.as<int64_t>();
    } else {
      Array to;
      to.dtype = DType::kInt64;
      to.take_shape(a);
      to.data = room(n);
      copy_into(a, to);
    }
    // Signs tell, without a branch; which one is wrong is looked for when it is known that one is.
    const int64_t least = from_end ? -size : 0;
    int64_t outside = 0, any = 0;
    for (int64_t i = 0; i < n; ++i) outside |= (p_[i] - least) | (size - 1 - p_[i]), any |= p_[i];
    if (outside < 0) fail(n, axis, size, from_end);
    if (any >= 0) return;
    const int64_t* given = p_;
    int64_t* to = room(n);
    for (int64_t i = 0; i < n; ++i) to[i] = given[i] < 0 ? given[i] + size : given[i];
  }
  int64_t operator[](int64_t i) const { return p_[i]; }

 private:
  static constexpr int64_t kFew = 64;

  int64_t* room(int64_t n) {
    if (n > kFew && !many_) many_.reset(new int64_t[static_cast<size_t>(n)]);
    int64_t* const own = n > kFew ? many_.get() : few_;
    p_ = own;
    return own;
  }

  [[noreturn]] void fail(int64_t n, int axis, int64_t size, bool from_end) const {
    const int64_t least = from_end ? -size : 0;
    const int64_t index = *std::find_if(p_, p_ + n, [=](int64_t i) { return i < least || i >= size; });
    throw Error(ErrorKind::kIndex, "index " + std::to_string(index) + " is out of range for axis " +
                                       std::to_string(axis) + " with size " + std::to_string(size) +
                                       (from_end || index >= 0 ? "" : ": negative ones do not count from the end"));
  }

  int64_t few_[kFew];
  std::unique_ptr<int64_t[]> many_;
  const int64_t* p_ = few_;
};

// An array cut at one axis: `outer` times `size` slices of `inner` elements.
struct Cut {
  int axis;
  int64_t outer = 1, size = 1, inner = 1;

  Cut(const Layout& a, int64_t which) : axis(axis_of(a, which)) {
    for (int i = 0; i < axis; ++i) outer *= a.shape[i];
    if (a.ndim > 0) size = a.shape[axis];
    for (int i = axis + 1; i < a.ndim; ++i) inner *= a.shape[i];
  }
};

const Array* packed(const Array* a, Array& copy) {
  if (a->contig) return a;
  copy = cast(*a, a->dtype);
  return &copy;
}

template <class T>
void take(In in, int, const Attrs& at, Array* out, int) {
  const Array& indices = *in[1];
  const Cut cut(*in[0], at.v[0]);
  const Indices which(indices, cut.axis, cut.size, at.v[1]);
  if (out[0].numel == 0) return;
  Array copy;
  const T* from = packed(in[0], copy)->template as<T>();
  T* to = out[0].as<T>();
  for (int64_t i = 0; i < cut.outer; ++i, from += cut.size * cut.inner) {
    if (cut.inner == 1) {
      for (int64_t k = 0; k < indices.numel; ++k) *to++ = from[which[k]];
    } else {
      for (int64_t k = 0; k < indices.numel; ++k, to += cut.inner) {
        std::memcpy(to, from + which[k] * cut.inner, static_cast<size_t>(cut.inner) * sizeof(T));
      }
    }
  }
}

// Inputs: the cotangent, the array that was taken from (its shape), the indices. An index that comes twice adds twice.
template <class T>
void take_grad(In in, int, const Attrs& at, Array* out, int) {
  const Array& indices = *in[2];
  const Cut cut(out[0], at.v[0]);
  std::memset(out[0].data, 0, out[0].bytes());
  const Indices which(indices, cut.axis, cut.size);
  if (in[0]->numel == 0) return;
  Array copy;
  const T* from = packed(in[0], copy)->template as<T>();
  T* to = out[0].as<T>();
  for (int64_t i = 0; i < cut.outer; ++i, to += cut.size * cut.inner) {
    for (int64_t k = 0; k < indices.numel; ++k, from += cut.inner) {
      T* row = to + which[k] * cut.inner;
      for (int64_t j = 0; j < cut.inner; ++j) row[j] += from[j];
    }
  }
}

// Where each choice of index_at lies in a, in elements from its first. Row k of the indices is for the k-th axis.
std::vector<int64_t> places_at(const Array& a, const Array& indices, const int64_t* axes, int64_t count) {
  std::vector<int64_t> places(static_cast<size_t>(indices.numel / count));
  Array row;
  row.alias(indices);
  row.ndim = static_cast<uint8_t>(indices.ndim - 1);
  std::copy_n(indices.shape + 1, row.ndim, row.shape);
  std::copy_n(indices.strides + 1, row.ndim, row.strides);
  row.measure();
  for (int64_t k = 0; k < count; ++k, row.skip(indices.strides[0])) {
    const int axis = static_cast<int>(axes[k]);
    const Indices which(row, axis, a.shape[axis]);
    for (size_t i = 0; i < places.size(); ++i) places[i] += which[static_cast<int64_t>(i)] * a.strides[axis];
  }
  return places;
}

// Attribute: the axes, in rising order.
template <class T>
void index_at(In in, int, const Attrs& at, Array* out, int) {
  const Array &a = *in[0], &indices = *in[1];
  const int64_t count = at.v[0], *axes = at.v + 1;
  const std::vector<int64_t> places = places_at(a, indices, axes, count);
  if (out[0].numel == 0) return;
  const T* from = a.as<T>();
  T* to = out[0].as<T>();
  if (a.ndim == count) {
    for (size_t i = 0; i < places.size(); ++i) to[i] = from[places[i]];
    return;
  }
  // The other axes, in a and in the output; there the indices' own stand where the axes did, if side by side.
  const int64_t lead = axes[count - 1] - axes[0] == count - 1 ? axes[0] : 0, between = indices.ndim - 1;
  Array part, slot;
  part.alias(a), slot.alias(out[0]);
  uint8_t n = 0;
  int64_t inner = 1;
  for (int d = 0; d < a.ndim; ++d) {
    if (std::find(axes, axes + count, d) != axes + count) continue;
    const int64_t here = n < lead ? n : n + between;
    part.shape[n] = slot.shape[n] = a.shape[d];
    part.strides[n] = a.strides[d], slot.strides[n] = out[0].strides[here];
    if (n >= lead) inner *= a.shape[d];
    ++n;
  }
  part.ndim = slot.ndim = n;
  part.measure(), slot.measure();
  for (const int64_t place : places) {
    part.data = const_cast<T*>(from + place), slot.data = to;
    copy_into(part, slot);
    to += inner;
  }
}

// visit_one(index into the whole, index into the picked): every pair of elements that take_along joins.
template <class Visit>
void along(const Cut& whole, const Array& picked, const Indices& which, Visit visit_one) {
  const int64_t n = picked.ndim > 0 ? picked.shape[whole.axis] : 1;
  int64_t k = 0;
  for (int64_t i = 0; i < whole.outer; ++i) {
    for (int64_t row = 0; row < n; ++row) {
      for (int64_t j = 0; j < whole.inner; ++j, ++k) visit_one((i * whole.size + which[k]) * whole.inner + j, k);
    }
  }
}

// The rows of `a` that take_along's indices speak of, where they are fewer: a view.
Array rows_of(const Array& a, const Array& indices, int axis) {
  Array part;
  part.alias(a);
  for (int i = 0; i < a.ndim; ++i)
    if (i != axis) part.shape[i] = indices.shape[i];
  part.measure();
  return part;
}

template <class T>
void take_along(In in, int, const Attrs& at, Array* out, int) {
  const int axis = axis_of(*in[0], at.v[0]);
  const Array part = rows_of(*in[0], *in[1], axis);
  const Cut cut(part, axis);
  const Indices which(*in[1], cut.axis, cut.size, at.v[1]);
  if (out[0].numel == 0) return;
  Array copy;
  const T* from = packed(&part, copy)->template as<T>();
  T* to = out[0].as<T>();
  if (cut.inner == 1 && in[1]->ndim > 0) {
    const int64_t n = in[1]->shape[axis];
    for (int64_t i = 0, k = 0; i < cut.outer; ++i, from += cut.size) {
      for (const int64_t end = k + n; k < end; ++k) to[k] = from[which[k]];
    }
    return;
  }
  along(cut, *in[1], which, [&](int64_t whole, int64_t k) { to[k] = from[whole]; });
}

template <class T>
void take_along_grad(In in, int, const Attrs& at, Array* out, int) {
  if (!same_shape(*in[0], *in[2])) fail_shape("the indices have shape " + show(*in[2]) + ", not " + show(*in[0]));
  const int axis = axis_of(out[0], at.v[0]);
  Array part = rows_of(out[0], *in[2], axis);
  const Cut cut(part, axis);
  std::memset(out[0].data, 0, out[0].bytes());
  const Indices which(*in[2], cut.axis, cut.size);
  if (in[0]->numel == 0) return;
  Array copy, sums;
  const T* from = packed(in[0], copy)->template as<T>();
  if (!part.contig) sums = cast(part, part.dtype);
  T* to = (part.contig ? part : sums).template as<T>();
  along(cut, *in[2], which, [&](int64_t whole, int64_t k) { to[whole] += from[k]; });
  if (!part.contig) copy_into(sums, part);
}

template <class... Ts>
void add_takes(KernelTable& table, Types<Ts...>) {
  (table.add("take", DTypeOf<Ts>::value, take<Ts>), ...);
  (table.add("take_along", DTypeOf<Ts>::value, take_along<Ts>), ...);
  (table.add("index_at", DTypeOf<Ts>::value, index_at<Ts>), ...);
}

template <class... Ts>
void add_gradients(KernelTable& table, Types<Ts...>) {
  (table.add("take_grad", DTypeOf<Ts>::value, take_grad<Ts>), ...);
  (table.add("take_along_grad", DTypeOf<Ts>::value, take_along_grad<Ts>), ...);
}

}  // namespace

void add_index_kernels(KernelTable& table) {
  add_takes(table, AnyType{});
  add_gradients(table, Floats{});
}

}  // namespace perflab
