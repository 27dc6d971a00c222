// Copies: between layouts and dtypes, into parts of an array, and the ops that are nothing but a copy.
#include <cstring>

#include "device.h"
#include "kernels/table.h"
#include "kernels/walk.h"
#include "rules.h"

namespace perflab {

namespace {

template <class From, class To>
void copy_row(const char* from, int64_t from_step, char* to, int64_t to_step, int64_t n) {
  constexpr int64_t kFrom = sizeof(From), kTo = sizeof(To);
  if (from_step == kFrom && to_step == kTo) {
    if constexpr (std::is_same_v<From, To>) {
      std::memcpy(to, from, static_cast<size_t>(n) * sizeof(To));
    } else {
      // Loops over bool do not vectorise: they are read as the bytes that they are.
      using Byte = std::conditional_t<std::is_same_v<From, bool>, uint8_t, From>;
      const Byte* __restrict x = reinterpret_cast<const Byte*>(from);
      To* __restrict y = reinterpret_cast<To*>(to);
      for (int64_t i = 0; i < n; ++i) y[i] = convert<To>(x[i]);
    }
  } else if (from_step == 0 && to_step == kTo) {
    const To value = convert<To>(*reinterpret_cast<const From*>(from));
    To* y = reinterpret_cast<To*>(to);
    for (int64_t i = 0; i < n; ++i) y[i] = value;
  } else {
    for (int64_t i = 0; i < n; ++i) {
      *reinterpret_cast<To*>(to + i * to_step) = convert<To>(*reinterpret_cast<const From*>(from + i * from_step));
    }
  }
}

using CopyRow = void (*)(const char* from, int64_t from_step, char* to, int64_t to_step, int64_t n);

// Elements of one dtype are copied as words of their size; each pair of different dtypes has its own row.
CopyRow row_of(DType from, DType to) {
  if (from == to) {
    switch (item_size(to)) {
      case 1:
        return copy_row<uint8_t, uint8_t>;
      case 2:
        return copy_row<uint16_t, uint16_t>;
      case 4:
        return copy_row<uint32_t, uint32_t>;
      case 8:
        return copy_row<uint64_t, uint64_t>;
      default:
        return copy_row<std::complex<double>, std::complex<double>>;
    }
  }
  return visit(from,
               [&](auto a) { return visit(to, [](auto b) -> CopyRow { return copy_row<decltype(a), decltype(b)>; }); });
}

// A transpose reads across cache lines: in tiles each line is read once. The plane is the row and the axis outside it.
void copy_tiled(CopyRow copy_row, const Walk& w) {
  constexpr int64_t kTile = 16;
  const int d = w.ndim;
  const int64_t rows = w.shape[d], to_row = w.strides[d][0], from_row = w.strides[d][1];
  for (int64_t i = 0; i < rows; i += kTile) {
    for (int64_t j = 0; j < w.n; j += kTile) {
      const int64_t m = rows - i < kTile ? rows - i : kTile, n = w.n - j < kTile ? w.n - j : kTile;
      for (int64_t r = i; r < i + m; ++r) {
        copy_row(w.p[1] + r * from_row + j * w.step[1], w.step[1], w.p[0] + r * to_row + j * w.step[0], w.step[0], n);
      }
    }
  }
}

// `from` broadcasts to `to`.
void copy_any(const Layout& from, const Layout& to) {
  const CopyRow copy_row = row_of(from.dtype, to.dtype);
  const int64_t from_size = static_cast<int64_t>(item_size(from.dtype));
  const int64_t to_size = static_cast<int64_t>(item_size(to.dtype));
  if (from.contig && to.contig && (from.numel == to.numel || from.numel == 1)) {
    const int64_t step = from.numel == 1 ? 0 : from_size;
    const char* x = from.as<char>();
    char* y = to.as<char>();
    share(to.numel, kShare,
          [=](int64_t i, int64_t end) { copy_row(x + i * step, step, y + i * to_size, to_size, end - i); });
    return;
  }
  const Layout* operands[] = {&to, &from};
  Walk w(operands, 2);
  if (w.empty()) return;
  if (w.ndim > 0 && w.strides[w.ndim - 1][1] == from_size && w.step[1] > 64) {
    --w.ndim;  // the walk goes from plane to plane
    w.rows /= w.shape[w.ndim];
    each_row(w, w.n * w.shape[w.ndim], [=](const Walk& w) { copy_tiled(copy_row, w); });
    return;
  }
  each_row(w, w.n, [=](const Walk& w) { copy_row(w.p[1], w.step[1], w.p[0], w.step[0], w.n); });
}

// In the order of the input's elements: a reshape changes the output's shape.
void copy_op(In in, int, const Attrs&, Array* out, int) {
  Layout to;
  to.dtype = out[0].dtype;
  to.take_shape(*in[0]);
  to.data = out[0].data;
  copy_any(*in[0], to);
}

void assign(In in, int, const Attrs&, Array* out, int) { copy_any(*in[1], out[0]); }

void concat(In in, int nin, const Attrs& at, Array* out, int) {
  if (at.v[0] == kNone) {  // flattened
    Layout part = out[0];
    for (int i = 0; i < nin; ++i) {
      part.take_shape(*in[i]);
      if (part.numel) copy_any(*in[i], part);
      part.data = part.as<char>() + part.bytes();
    }
    return;
  }
  const int axis = axis_of(out[0], at.v[0]);
  Layout part = out[0];
  const int64_t step = part.strides[axis] * static_cast<int64_t>(item_size(part.dtype));
  for (int i = 0; i < nin; ++i) {
    part.shape[axis] = in[i]->shape[axis];
    part.measure();
    if (part.numel) copy_any(*in[i], part);
    part.data = part.as<char>() + part.shape[axis] * step;
  }
}

void unslice(In in, int, const Attrs& at, Array* out, int) {
  std::memset(out[0].data, 0, out[0].bytes());
  Array part;
  part.alias(out[0]);
  slice_view(part, at);
  copy_any(*in[0], part);
}

void unselect(In in, int, const Attrs& at, Array* out, int) {
  std::memset(out[0].data, 0, out[0].bytes());
  Array part;
  part.alias(out[0]);
  select_view(part, at);
  copy_any(*in[0], part);
}

}  // namespace

void copy_into(const Array& from, Array& to) {
  if (from.device | to.device) return copy_into_on_device(from, to);
  copy_any(from, to);
}

Array cast(const Array& a, DType to) {
  if (a.device) return cast_on_device(a, to);
  Array fresh;
  fresh.dtype = to;
  fresh.take_shape(a);
  fresh.fill_storage();
  copy_any(a, fresh);
  return fresh;
}

void add_copy_kernels(KernelTable& table) {
  for (int i = 0; i < kDTypes; ++i) {
    const DType d = static_cast<DType>(i);
    for (const char* op : {"copy", "reshape", "reshape_like", "cast", "astype_like"}) table.add(op, d, copy_op);
    table.add("assign", d, assign);
    table.add("concat", d, concat);
    table.add("unslice", d, unslice);
    table.add("unselect", d, unselect);
  }
}

}  // namespace perflab
