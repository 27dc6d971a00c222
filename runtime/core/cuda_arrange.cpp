#include "cuda_arrange.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>

#include "cuda_gpu.h"
#include "dispatch.h"
#include "kernels/walk.h"
#include "rules.h"

namespace perflab::cuda {

using kernels::kMaxAttributes;
using kernels::kMaxOperands;

namespace {

Array packed(const Array& a) {
  if (!a.contig) return cast_on_device(a, a.dtype);
  Array same;
  same.alias(a);
  return same;
}

// Memory on the device until what is sent now is done: the stream hands it out again no sooner.
Array scratch(Gpu& gpu, int64_t bytes) {
  Array made;
  made.dtype = DType::kUInt8, made.ndim = 1, made.shape[0] = bytes;
  made.pack();
  fill_storage_on(gpu.number(), made);
  return made;
}

// How many parts of a job's `length` make enough jobs for all processors, none below `least`.
int64_t splits_of(const Gpu& gpu, int64_t jobs, int64_t length, int64_t least) {
  return std::max<int64_t>(1, std::min(int64_t{4} * gpu.multiprocessors() / jobs, length / least));
}

void walk_over(kernels::Walked& to, const Layout* const* arrays, int count) {
  const perflab::Walk w(arrays, count);
  to.n = w.empty() ? 0 : w.rows * w.n;
  for (int k = 0; k < count; ++k) {
    to.p[k] = arrays[k]->device ? w.p[k] : nullptr;
    if (!arrays[k]->device && arrays[k]->data) std::memcpy(&to.cells[k], arrays[k]->data, sizeof to.cells[k]);
  }
  for (int d = 0; d < w.ndim; ++d) {
    to.shape[d] = w.shape[d];
    for (int k = 0; k < count; ++k) to.steps[d][k] = w.strides[d][k];
  }
  to.ndim = w.ndim;
  if (w.n <= 1) return;
  to.shape[to.ndim] = w.n;
  for (int k = 0; k < count; ++k) to.steps[to.ndim][k] = w.step[k];
  ++to.ndim;
}

template <class Parameters>
void send_walked(Gpu& gpu, uintptr_t function, const Parameters& p) {
  constexpr int64_t kMost = int64_t{1} << 30;
  if (!p.w.n) return;
  if (p.w.n <= kMost) return gpu.send(function, p.w.n, &p);
  const int64_t each = p.w.n / p.w.shape[0], first = p.w.shape[0] / 2;
  Parameters part = p;
  part.w.shape[0] = first, part.w.n = first * each;
  send_walked(gpu, function, part);
  part.w.shape[0] = p.w.shape[0] - first, part.w.n = p.w.n - first * each;
  for (int k = 0; k < kMaxOperands; ++k)
    if (part.w.p[k]) part.w.p[k] = static_cast<char*>(part.w.p[k]) + first * p.w.steps[0][k];
  send_walked(gpu, function, part);
}

bool pointwise(const Call& c) {
  const Layout* arrays[kMaxOperands] = {c.out};
  if (c.nin >= kMaxOperands || c.op.attrs.size() > kMaxAttributes) return false;
  for (int i = 0; i < c.nin; ++i) {
    if (!cast_by(c.op, i) && c.in[i]->dtype != DType::kBool) return false;
    arrays[1 + i] = c.in[i];
  }
  kernels::Pointwise p{};
  walk_over(p.w, arrays, 1 + c.nin);
  for (size_t i = 0; i < c.op.attrs.size(); ++i) {
    const int64_t word = c.attrs.v[c.op.attrs[i].at];
    p.attributes[i] = c.op.attrs[i].kind == 'f' ? std::bit_cast<double>(word) : static_cast<double>(word);
  }
  send_walked(c.gpu, c.function, p);
  return true;
}

// --- reductions

struct Axes {
  kernels::i32& count;
  kernels::i64 *shape, *steps;

  void add(int64_t size, int64_t step) {  // from the outermost; those that step evenly become one
    if (size == 1) return;
    if (count && steps[count - 1] == size * step) {
      shape[count - 1] *= size, steps[count - 1] = step;
      return;
    }
    shape[count] = size, steps[count++] = step;
  }
};

bool reduce_over(const Call& c, unsigned gone) {
  const Array& a = *c.in[0];
  if (!a.device) return false;
  kernels::Reduce p{};
  p.in = a.data, p.out = c.out->data;
  p.outputs = p.reduced = p.splits = 1;
  Axes outer{p.outer_dims, p.outer_shape, p.outer_steps}, inner{p.inner_dims, p.inner_shape, p.inner_steps};
  for (int i = 0; i < a.ndim; ++i) {
    const bool reduced = gone >> i & 1;
    (reduced ? inner : outer).add(a.shape[i], a.strides[i] * static_cast<int64_t>(item_size(a.dtype)));
    (reduced ? p.reduced : p.outputs) *= a.shape[i];
  }
  if (!p.outputs) return true;
  constexpr int64_t kManyOutputs = 1024, kLong = 8192, kSplit = 2048;
  p.columns = p.outputs >= kManyOutputs && p.outer_dims && p.inner_dims &&
              std::abs(p.outer_steps[p.outer_dims - 1]) < std::abs(p.inner_steps[p.inner_dims - 1]);
  constexpr int64_t kThreads = 256, kColumnSplit = 64;  // threads of a block; elements that a thread adds up at least
  if (p.columns)
    p.splits = splits_of(c.gpu, (p.outputs + kThreads - 1) / kThreads, p.reduced, kColumnSplit);
  else if (p.reduced >= kLong)
    p.splits = splits_of(c.gpu, p.outputs, p.reduced, kSplit);
  Array partial;
  if (p.splits > 1) {
    partial = scratch(c.gpu, p.outputs * p.splits * kernels::kStateBytes);
    p.partial = partial.data;
  }
  if (p.columns)
    c.gpu.send(c.function, p.outputs * p.splits, &p);
  else
    c.gpu.send_blocks(c.function, p.outputs * p.splits, p.reduced / p.splits, &p);
  if (p.splits == 1) return true;
  p.joins = 1;
  c.gpu.send_blocks(c.function, p.outputs, p.splits, &p);
  return true;
}

bool reduce(const Call& c) { return reduce_over(c, axes_of(*c.in[0], c.attrs.v)); }

// The sum over the axes along which `like` was broadcast.
bool unbroadcast(const Call& c) {
  const Array &a = *c.in[0], &like = *c.in[1];
  unsigned gone = 0;
  for (int i = 0; i < a.ndim; ++i)
    if (const int at = i - (a.ndim - like.ndim); at < 0 || like.shape[at] != a.shape[i]) gone |= 1u << i;
  return reduce_over(c, gone);
}

// --- rows

void send_rows(const Call& c, const kernels::Rows& p) {
  if (p.rows && p.length) c.gpu.send_blocks(c.function, p.rows, p.length, &p);
}

bool softmax(const Call& c) {
  if (!c.in[0]->device) return false;
  const Array a = packed(*c.in[0]);
  const int axis = axis_of(a, c.attrs.v[0]);
  kernels::Rows p{};
  p.out = c.out->data, p.in[0] = a.data;
  p.length = a.ndim ? a.shape[axis] : 1, p.inner = 1;
  for (int i = axis + 1; i < a.ndim; ++i) p.inner *= a.shape[i];
  p.rows = p.length ? a.numel / p.length : 0;
  send_rows(c, p);
  return true;
}

// Rows over the axes of `weight`, which are the last ones of the first input.
bool normalise(const Call& c, int weight) {
  Array inputs[3];
  kernels::Rows p{};
  for (int i = 0; i < 3; ++i) {
    if (!c.in[i]->device) return false;
    inputs[i] = packed(*c.in[i]);
    p.in[i] = inputs[i].data;
  }
  p.out = c.out->data, p.length = inputs[weight].numel, p.inner = 1;
  p.rows = p.length ? inputs[0].numel / p.length : 0;
  p.eps = std::bit_cast<double>(c.attrs.v[0]);
  send_rows(c, p);
  return true;
}
bool layer_norm(const Call& c) { return normalise(c, 1); }
bool layer_norm_input_grad(const Call& c) { return normalise(c, 2); }

// Of the rows' moments, of sums for each column over some of the rows, and of the sums of these.
bool layer_norm_weight_grad(const Call& c) {
  if (!c.in[0]->device || !c.in[1]->device) return false;
  const Array g = packed(*c.in[0]), a = packed(*c.in[1]);
  kernels::Rows p{};
  p.in[0] = g.data, p.in[1] = a.data, p.out = c.out->data;
  p.length = c.out->numel, p.inner = 1;
  if (!p.length) return true;
  p.rows = a.numel / p.length, p.eps = std::bit_cast<double>(c.attrs.v[0]);
  constexpr int64_t kThreads = 256, kLeast = 32, kWord = 8;  // kWord: bytes of the widest number
  p.splits = splits_of(c.gpu, (p.length + kThreads - 1) / kThreads, p.rows, kLeast);
  const Array moments = scratch(c.gpu, p.rows * 2 * kWord), partial = scratch(c.gpu, p.splits * p.length * kWord);
  p.moments = moments.data, p.partial = partial.data;
  if (p.rows) c.gpu.send_blocks(c.function, p.rows, p.length, &p);
  p.stage = 1;
  c.gpu.send(c.function, p.length * p.splits, &p);
  p.stage = 2;
  c.gpu.send(c.function, p.length, &p);
  return true;
}

// --- channels

// The first `whole` inputs have the channels as axis 1, the `own` after them have one number for each.
bool channels(const Call& c, int whole, int own) {
  Array inputs[3];
  kernels::Channels p{};
  for (int i = 0; i < whole + own; ++i) {
    if (!c.in[i]->device) return false;
    inputs[i] = packed(*c.in[i]);
    p.in[i] = inputs[i].data;
  }
  const Array& a = inputs[0];
  p.channels = a.shape[1], p.inner = 1;
  for (int i = 2; i < a.ndim; ++i) p.inner *= a.shape[i];
  p.length = a.shape[0] * p.inner;
  if (p.length >> 32 || !p.length) return false;  // of no elements there are no moments: the body says so
  for (int i = 0; i < (c.op.nout); ++i) p.out[i] = c.out[i].data;
  if (!c.op.attrs.empty()) p.eps = std::bit_cast<double>(c.attrs.v[0]);
  if (p.channels) c.gpu.send_blocks(c.function, p.channels, p.length, &p);
  return true;
}
bool batch_norm(const Call& c) { return channels(c, 1, 2); }
bool batch_norm_input_grad(const Call& c) { return channels(c, 2, 1); }
bool batch_norm_weight_grad(const Call& c) { return channels(c, 2, 0); }
bool channel_moments(const Call& c) { return channels(c, 1, 0); }

bool channel_affine(const Call& c) {
  for (int i = 0; i < 3; ++i)
    if (!c.in[i]->device) return false;
  const Array& a = *c.in[0];
  Layout factor = a, shift = a;
  for (auto [to, from] : {std::pair{&factor, c.in[1]}, std::pair{&shift, c.in[2]}}) {
    to->data = from->data, to->contig = false;
    for (int i = 0; i < a.ndim; ++i) to->strides[i] = i == 1 ? from->strides[0] : 0;
  }
  kernels::Pointwise p{};
  const Layout* arrays[] = {c.out, &a, &factor, &shift};
  walk_over(p.w, arrays, 4);
  send_walked(c.gpu, c.function, p);
  return true;
}

int64_t attribute(const Call& c, const char* name) {
  for (const auto& a : c.op.attrs)
    if (a.name == name) return c.attrs.v[a.at];
  return 0;
}

// The class of each row of a; g: the gradient of the losses, one number or one for each row; null: the losses.
bool classes(const Call& c, const Array* g, const Array& targets) {
  const bool ints = targets.dtype == DType::kInt32 || targets.dtype == DType::kInt64;
  if (!ints || !targets.device || !c.in[0]->device || (g && !g->device)) return false;
  const Array a = packed(*c.in[0]), target = packed(targets);
  const Array weight = g ? packed(*g) : Array();
  const int axis = axis_of(a, attribute(c, "axis"));
  kernels::Classes p{};
  p.out = c.out->data, p.in = a.data, p.target = target.data, p.g = weight.data;
  p.length = a.shape[axis], p.inner = 1;
  for (int i = axis + 1; i < a.ndim; ++i) p.inner *= a.shape[i];
  p.rows = p.length ? a.numel / p.length : 0;
  p.ignored = attribute(c, "ignore_index"), p.g_step = weight.ndim != 0;
  p.target_bytes = static_cast<int>(item_size(target.dtype)), p.wrong = c.gpu.wrong();
  if (p.rows) c.gpu.send_blocks(c.function, p.rows, p.length, &p);
  return true;
}
bool softmax_nll(const Call& c) { return classes(c, nullptr, *c.in[1]); }
bool softmax_nll_grad(const Call& c) { return classes(c, c.in[1], *c.in[2]); }

bool running(const Call& c) {
  if (!c.in[0]->device) return false;
  const Array a = packed(*c.in[0]);
  const int axis = axis_of(a, attribute(c, "axis"));
  kernels::Scan p{};
  p.out = c.out->data, p.in = a.data;
  p.length = a.ndim ? a.shape[axis] : 1, p.inner = 1;
  for (int i = axis + 1; i < a.ndim; ++i) p.inner *= a.shape[i];
  p.rows = p.length ? a.numel / p.length : 0;
  p.reverse = attribute(c, "reverse") != 0, p.exclusive = attribute(c, "exclusive") != 0;
  p.largest = attribute(c, "largest") != 0;
  if (p.rows) c.gpu.send_blocks(c.function, p.rows, p.length, &p);
  return true;
}

// --- indices

struct Choice {
  const Array &values, &indices, &elements;  // values: what is read into, or what is added
  int64_t axis;
  bool from_end;
  bool whole;  // take: the indices' shape replaces the axis; else they have the values' shape
};

bool indexed(const Call& c, const Choice& of) {
  const Array& elements = of.elements;
  const bool ints = of.indices.dtype == DType::kInt32 || of.indices.dtype == DType::kInt64;
  if (!ints || !of.indices.device || !of.values.device || !elements.ndim) return false;
  const int axis = axis_of(elements, of.axis);
  Layout values = of.values, indices = of.indices, base = elements;
  if (of.whole) {  // both in the values' shape, with steps of 0 where they do not vary
    const int ndim = values.ndim, wide = of.indices.ndim;
    indices.ndim = base.ndim = static_cast<uint8_t>(ndim);
    for (int i = 0; i < ndim; ++i) {
      const int at = i < axis ? i : i < axis + wide ? -1 : i - wide + 1;  // the axis of the elements
      indices.shape[i] = base.shape[i] = values.shape[i];
      base.strides[i] = at < 0 ? 0 : elements.strides[at];
      indices.strides[i] = at < 0 ? of.indices.strides[i - axis] : 0;
    }
  } else {
    std::copy_n(values.shape, values.ndim, base.shape);
    base.strides[axis] = 0;
  }
  values.contig = false;  // any order serves
  kernels::Indexed p{};
  const Layout* arrays[] = {&values, &indices, &base};
  walk_over(p.w, arrays, 3);
  p.size = elements.shape[axis], p.step = elements.strides[axis] * static_cast<int64_t>(item_size(elements.dtype));
  p.from_end = of.from_end, p.index_bytes = static_cast<int>(item_size(of.indices.dtype)), p.wrong = c.gpu.wrong();
  send_walked(c.gpu, c.function, p);
  return true;
}

bool take(const Call& c) { return indexed(c, {c.out[0], *c.in[1], *c.in[0], c.attrs.v[0], c.attrs.v[1] != 0, true}); }
bool take_along(const Call& c) {
  return indexed(c, {c.out[0], *c.in[1], *c.in[0], c.attrs.v[0], c.attrs.v[1] != 0, false});
}

bool added(const Call& c, bool whole) {
  if (!c.out->ndim || !c.in[2]->device || !c.in[0]->device) return false;
  c.gpu.clear(*c.out);
  return indexed(c, {*c.in[0], *c.in[2], c.out[0], c.attrs.v[0], true, whole});
}
bool take_grad(const Call& c) { return added(c, true); }
bool take_along_grad(const Call& c) { return added(c, false); }

}  // namespace

void arrange_copy(Gpu& gpu, uintptr_t function, const Array& from, const Array& to) {
  kernels::Pointwise p{};
  const Layout* arrays[] = {&to, &from};
  walk_over(p.w, arrays, 2);
  send_walked(gpu, function, p);
}

Arrange arrangement(const Op& op) {
  using Names = std::unordered_map<std::string, Arrange>;
  static const Names by_name{
      {"sum", reduce},
      {"prod", reduce},
      {"all", reduce},
      {"any", reduce},
      {"amax", reduce},
      {"amin", reduce},
      {"argmax", reduce},
      {"argmin", reduce},
      {"unbroadcast", unbroadcast},
      {"softmax", softmax},
      {"log_softmax", softmax},
      {"layer_norm", layer_norm},
      {"layer_norm_input_grad", layer_norm_input_grad},
      {"layer_norm_weight_grad", layer_norm_weight_grad},
      {"batch_norm", batch_norm},
      {"batch_norm_input_grad", batch_norm_input_grad},
      {"batch_norm_weight_grad", batch_norm_weight_grad},
      {"channel_moments", channel_moments},
      {"channel_affine", channel_affine},
      {"softmax_nll", softmax_nll},
      {"softmax_nll_grad", softmax_nll_grad},
      {"running_sum", running},
      {"running_product", running},
      {"running_logsumexp", running},
      {"running_extremum", running},
      {"take", take},
      {"take_along", take_along},
      {"take_grad", take_grad},
      {"take_along_grad", take_along_grad},
  };
  if (op.pointwise) return pointwise;
  const auto found = by_name.find(op.name);
  return found == by_name.end() ? nullptr : found->second;
}

}  // namespace perflab::cuda
