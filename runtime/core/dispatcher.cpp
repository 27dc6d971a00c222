// One op from operands to recorded results, in five steps: unwrap and check; pick the kernel by (op, dtype); infer the
// shape and allocate; run; if an input needs a gradient, push a node.
#include <cmath>
#include <vector>

#include "engine.h"
#include "recorder.h"
#include "shapes.h"

namespace perflab {

void (*infer_python)(const Op&, In, int, const Attrs&, Array*, int) = nullptr;
void (*run_python_kernel)(const Op&, In, int, const Attrs&, Array*, int) = nullptr;

namespace {

bool cast_by(const Op& op, int i) { return op.list() ? op.casts & 1 : op.casts >> i & 1; }

// Python numbers have a say by their kind alone: an int tensor and 1.5 give the default float type.
DType promoted(const Op& op, In in, int nin) {
  bool any = false;
  DType d = DType::kBool;
  DKind weak = DKind::kBool;
  for (int i = 0; i < nin; ++i) {
    if (!cast_by(op, i)) continue;
    if (in[i]->weak) {
      weak = std::max(weak, kind(in[i]->dtype));
    } else {
      d = any ? promote(d, in[i]->dtype) : in[i]->dtype;
      any = true;
    }
  }
  if (weak > kind(d)) d = weak == DKind::kFloat ? DType::kFloat32 : DType::kInt64;
  return d;
}

// The dtype that the kernel computes in.
DType computation(const Op& op, In in, int nin) {
  switch (op.dtype_rule) {
    case DTypeRule::kPromote:
    case DTypeRule::kBool:
      if (nin == 2 && op.casts == 3 && in[0]->dtype == in[1]->dtype) [[likely]]
        return in[0]->dtype;
      return promoted(op, in, nin);
    case DTypeRule::kFloat: {
      DType d = promoted(op, in, nin);
      return kind(d) == DKind::kFloat ? d : DType::kFloat32;
    }
    case DTypeRule::kSecond:
      return in[1]->dtype;
    case DTypeRule::kSum:
      return kind(in[0]->dtype) == DKind::kFloat ? in[0]->dtype : DType::kInt64;
    default:
      return in[0]->dtype;
  }
}

DType result(const Op& op, DType computed, const Attrs& attrs) {
  switch (op.dtype_rule) {
    case DTypeRule::kBool:
      return DType::kBool;
    case DTypeRule::kIndex:
      return DType::kInt64;
    case DTypeRule::kAttr:
      for (const AttrSig& a : op.attrs)
        if (a.kind == 'd' && attrs.v[a.at] != kNone) return static_cast<DType>(attrs.v[a.at]);
      return computed;
    default:
      return computed;
  }
}

[[noreturn, gnu::noinline]] void name_op(const Op& op, Error& e) { throw Error(e.kind, op.name + ": " + e.what()); }

void infer(const Op& op, DType computed, In in, int nin, const Attrs& attrs, Array* out, int nout) {
  if (!op.infer) [[unlikely]]
    return infer_python(op, in, nin, attrs, out, nout);
  DType d = result(op, computed, attrs);
  try {
    op.infer(in, nin, attrs, out, nout);
  } catch (Error& e) {
    name_op(op, e);
  }
  for (int k = 0; k < nout; ++k) out[k].dtype = d;
}

bool may_donate(const Array& from, const Array& to) {
  return from.sole() && from.contig && from.numel == to.numel && from.dtype == to.dtype && !from.storage->owner;
}

// Shapes and memory. False: all outputs are views, nothing to compute.
bool prepare(const Op& op, DType computed, In in, int nin, const Attrs& attrs, Array* out, int nout, bool donate,
             bool quiet) {
  infer(op, computed, in, nin, attrs, out, nout);
  if (out[0].storage) return false;
  if (donate && may_donate(*in[0], out[0])) {
    out[0].data = in[0]->data;
    retain(out[0].storage = in[0]->storage);
    return true;
  }
  for (int k = 0; k < nout; ++k) out[k].fill_storage(quiet && k == 0);
  return true;
}

// Some hundreds of microseconds at least: only then is the GIL worth giving away.
bool takes_long(const Op& op, In in, int nin, const Array& out) {
  constexpr double kLong = 1 << 20;  // elements read and written; 16 multiply-adds count as one
  if (op.contracts && nin == 2)
    return std::sqrt(static_cast<double>(in[0]->numel) * static_cast<double>(in[1]->numel) *
                     static_cast<double>(out.numel)) /
               16 >
           kLong;
  double elements = static_cast<double>(out.numel);
  for (int i = 0; i < nin; ++i) elements += static_cast<double>(in[i]->numel);
  return elements > kLong;
}

void compute(const Op& op, DType computed, In in, int nin, const Attrs& attrs, Array* out, int nout) {
  Kernel kernel = op.native[static_cast<int>(computed)];
  if (!kernel) [[unlikely]]
    return run_python_kernel(op, in, nin, attrs, out, nout);
  if (engine_may_release && !without_gil && takes_long(op, in, nin, out[0])) [[unlikely]]
    release_gil();
  try {
    kernel(in, nin, attrs, out, nout);
  } catch (Error& e) {
    name_op(op, e);
  }
}

[[gnu::noinline]] void record_op(const Op& op, DType computed, In in, int nin, const Array* out, bool work,
                                 bool allocated, int64_t t0, int64_t t1, uint64_t sequence) {
  uint16_t backend = !work ? kView : op.native[static_cast<int>(computed)] ? kNative : kPythonKernel;
  int64_t t2 = ticks();
  uint32_t shapes = intern_shapes(in, nin);
  Event& e = next_event();
  e.t0 = t0, e.t1 = t1, e.t2 = t2, e.kind = EventKind::kOp;
  e.flags = static_cast<uint16_t>(backend | static_cast<int>(out->dtype) << 3 | (allocated ? kAllocated : 0));
  e.name = op.id, e.sequence = sequence;
  e.address = reinterpret_cast<uint64_t>(out->storage ? out->storage->data : nullptr),
  e.bytes = out->storage ? out->storage->bytes : 0;
  e.shapes = shapes, e.scope = current_scope;
}

void run_typed(const Op& op, DType computed, In in, int nin, const Attrs& attrs, Array* out, int nout, bool donate,
               uint64_t sequence) {
  if (is_recording()) [[unlikely]] {
    int64_t t0 = ticks();
    bool work = prepare(op, computed, in, nin, attrs, out, nout, donate, true);
    bool allocated = work && !(donate && out[0].data == in[0]->data);
    int64_t t1 = work ? ticks() : 0;
    if (work) compute(op, computed, in, nin, attrs, out, nout);
    return record_op(op, computed, in, nin, out, work, allocated, t0, t1, sequence);
  }
  if (prepare(op, computed, in, nin, attrs, out, nout, donate, false)) compute(op, computed, in, nin, attrs, out, nout);
}

bool needs_cast(const Op& op, In in, int nin, DType computed) {
  for (int i = 0; i < nin; ++i)
    if (in[i]->dtype != computed && cast_by(op, i)) return true;
  return false;
}

// The inputs with those of another dtype cast; `made` holds the casts.
std::vector<const Array*> cast_inputs(const Op& op, In in, int nin, DType computed, std::vector<Array>& made) {
  std::vector<const Array*> typed(in, in + nin);
  made.reserve(nin);
  for (int i = 0; i < nin; ++i)
    if (in[i]->dtype != computed && cast_by(op, i)) {
      if (in[i]->storage || in[i]->ndim) {
        made.push_back(cast(*in[i], computed));
      } else {
        made.emplace_back();
        visit(computed, [&](auto zero) { made.back().set_scalar(scalar_as<decltype(zero)>(*in[i])); });
      }
      typed[i] = &made.back();
    }
  return typed;
}

}  // namespace

int count_outputs(const Op& op, In in, int nin, const Attrs& attrs) {
  if (!op.outputs) return 1;
  try {
    return op.outputs(in, nin, attrs);
  } catch (Error& e) {
    name_op(op, e);
  }
}

void run(const Op& op, In in, int nin, const Attrs& attrs, Array* out, int nout, bool donate, uint64_t sequence) {
  DType computed = computation(op, in, nin);
  if (needs_cast(op, in, nin, computed)) [[unlikely]] {
    std::vector<Array> made;
    auto typed = cast_inputs(op, in, nin, computed, made);
    return run_typed(op, computed, typed.data(), nin, attrs, out, nout, donate && typed[0] == in[0], sequence);
  }
  run_typed(op, computed, in, nin, attrs, out, nout, donate, sequence);
}

namespace {

// Which inputs need a gradient from this call.
uint32_t gradient_mask(const Op& op, const Operand* in, int nin) {
  uint32_t mask = 0;
  for (int i = 0; i < nin; ++i)
    if (in[i].tensor && in[i].tensor->requires_grad) mask |= op.list() ? 1u : 1u << i;
  return mask & op.differentiable;
}

// `p` is looked up before the op runs: that may enter Python, and the kernel may give the GIL away.
Node* record_node(const Op& op, const Program& p, const Operand* in, int nin, const Attrs& attrs,
                  const Array* const* outs, int nout, uint64_t sequence) {
  uint32_t mask = p.mask;
  Node* n = make_node(op.list() ? nin : __builtin_popcount(mask), static_cast<int>(p.saves.size()), nout, op.words);
  try {
    n->op = &op, n->program = &p, n->sequence = sequence;
    std::memcpy(n->attrs(), attrs.v, op.words * sizeof(int64_t));
    for (int i = 0, e = 0; i < nin; ++i) {
      bool wanted = in[i].tensor && in[i].tensor->requires_grad;
      if (op.list()) {
        if (wanted) set_edge(n, i, in[i].tensor);
      } else if (mask >> i & 1) {
        set_edge(n, e++, in[i].tensor);
      }
    }
    for (size_t k = 0; k < p.saves.size(); ++k) {
      Keep keep = p.saves[k];
      save(n->saved() + k, keep.which < 0 ? *outs[-1 - keep.which] : *in[keep.which].array, keep.which, keep.spec);
    }
  } catch (Error& e) {
    release(n);
    name_op(op, e);
  } catch (...) {
    release(n);
    throw;
  }
  return n;
}

void join(TensorImpl* t, Node* n, uint32_t output) {  // takes a reference of n
  t->grad_fn = n, t->output = output, t->requires_grad = true;
}

void apply_several(const Op& op, const Operand* in, int nin, const Attrs& attrs, const Array* const* arrays,
                   TensorImpl** out, int nout) {
  std::vector<Array> results(nout);
  uint32_t mask = grad_enabled ? gradient_mask(op, in, nin) : 0;
  const Program* program = mask ? &program_for(op, in, nin, nout, mask, attrs) : nullptr;
  uint64_t sequence = program ? next_sequence() : 0;
  run(op, arrays, nin, attrs, results.data(), nout, false, sequence);
  bool view = nin > 0 && results[0].storage == arrays[0]->storage;
  Ref<Node> node;
  if (program && kind(results[0].dtype) == DKind::kFloat) {
    std::vector<const Array*> outs;
    for (const Array& r : results) outs.push_back(&r);
    node = Ref(record_node(op, *program, in, nin, attrs, outs.data(), nout, sequence));
  }
  for (int k = 0; k < nout; ++k) {
    TensorImpl* t = out[k] = make_tensor(std::move(results[k]));
    t->is_view = view, t->view_version = t->version();
    if (node) join(t, Ref<Node>(node).take(), static_cast<uint32_t>(k));
  }
}

}  // namespace

void apply(const Op& op, const Operand* in, int nin, const Attrs& attrs, TensorImpl** out, int nout) {
  constexpr int kFew = 8;
  const Array* few[kFew];
  std::vector<const Array*> many;
  const Array** arrays = few;
  if (nin > kFew) [[unlikely]]
    many.resize(nin), arrays = many.data();
  for (int i = 0; i < nin; ++i) arrays[i] = in[i].array;
  if (op.outputs) [[unlikely]]
    return apply_several(op, in, nin, attrs, arrays, out, nout);
  uint32_t mask = grad_enabled ? gradient_mask(op, in, nin) : 0;
  const Program* program = mask ? &program_for(op, in, nin, 1, mask, attrs) : nullptr;
  uint64_t sequence = program ? next_sequence() : 0;
  auto t = Ref(make_tensor());
  run(op, arrays, nin, attrs, t.get(), 1, false, sequence);
  if (nin > 0 && t->storage == arrays[0]->storage) t->is_view = true, t->view_version = t->version();
  if (program && kind(t->dtype) == DKind::kFloat) {
    const Array* outs[] = {t.get()};
    join(t.get(), record_node(op, *program, in, nin, attrs, outs, 1, sequence), 0);
  }
  *out = t.take();
}

namespace {

bool same_elements(const Array& a, const Array& b) {
  if (a.data != b.data || !same_shape(a, b)) return false;
  for (int i = 0; i < a.ndim; ++i)
    if (a.strides[i] != b.strides[i]) return false;
  return true;
}

// Whether the kernel may write over `target` while it reads the inputs.
bool overwrites(In in, int nin, const Array& target) {
  for (int i = 1; i < nin; ++i)
    if (in[i]->storage == target.storage && !same_elements(*in[i], target)) return false;
  return true;
}

void run_in_place(const Op& op, In in, int nin, const Attrs& attrs, Array& target, uint64_t sequence) {
  DType computed = computation(op, in, nin);
  DType gives = result(op, computed, attrs);
  if (kind(gives) > kind(target.dtype))
    throw Error(ErrorKind::kDType, op.name + "_: the result is " + name(gives) + ", which a " + name(target.dtype) +
                                       " tensor cannot hold: convert it with astype first");
  std::vector<Array> made;
  std::vector<const Array*> typed;
  if (needs_cast(op, in, nin, computed)) typed = cast_inputs(op, in, nin, computed, made), in = typed.data();
  int64_t t0 = is_recording() ? ticks() : 0;
  Array shape;
  infer(op, computed, in, nin, attrs, &shape, 1);
  if (!same_shape(shape, target))
    throw Error(ErrorKind::kShape, op.name + "_: the result has shape " + show(shape) +
                                       ", but the tensor that it is written into has " + show(target));
  if (op.native[static_cast<int>(computed)] && gives == target.dtype && overwrites(in, nin, target)) {
    int64_t t1 = t0 ? ticks() : 0;
    Array into;
    into.alias(target);
    compute(op, computed, in, nin, attrs, &into, 1);
    if (t0) record_op(op, computed, in, nin, &target, true, false, t0, t1, sequence);
    return;
  }
  Array fresh;
  run_typed(op, computed, in, nin, attrs, &fresh, 1, false, sequence);
  copy_into(fresh, target);
}

}  // namespace

void apply_in_place(const Op& op, const Operand* in, int nin, const Attrs& attrs) {
  TensorImpl* t = in[0].tensor;
  uint32_t mask = grad_enabled ? gradient_mask(op, in, nin) : 0;
  if (mask) {
    if (!t->grad_fn && t->requires_grad)
      throw Error(ErrorKind::kAutograd,
                  op.name + "_: a leaf that requires grad is changed in place: do it under no_grad()");
    if (t->is_view)
      throw Error(ErrorKind::kAutograd, op.name + "_: a view is changed in place while gradients are recorded: use " +
                                            op.name + " without the underscore, or no_grad()");
  }
  const Array* arrays[4] = {};
  for (int i = 0; i < nin; ++i) arrays[i] = in[i].array;
  uint64_t sequence = mask ? next_sequence() : 0;
  Node* node = nullptr;
  if (mask) {  // saves and edges speak of the inputs as they were; saved inputs that the op overwrites fail their
               // version check
    const Array* outs[] = {t};
    node = record_node(op, program_for(op, in, nin, 1, mask, attrs), in, nin, attrs, outs, 1, sequence);
  }
  try {
    run_in_place(op, arrays, nin, attrs, *t, sequence);
  } catch (...) {
    if (node) release(node);
    throw;
  }
  if (!t->storage) return;
  uint32_t version = 1 + t->storage->version.fetch_add(1, std::memory_order_relaxed);
  t->view_version = version;
  if (!node) return;
  for (int k = 0; k < node->nsaved; ++k)
    if (node->saved()[k].which < 0) node->saved()[k].version = version;  // a saved output is the value just written
  if (t->grad_fn) release(t->grad_fn);
  join(t, node, 0);
}

}  // namespace perflab
