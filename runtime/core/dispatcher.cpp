// Running an op: pick the kernel by (op, dtype), infer the shape and allocate, compute, record the event.
#include <cmath>
#include <vector>

#include "call_stack.h"
#include "device.h"
#include "dispatch.h"
#include "engine.h"
#include "out_of_memory.h"
#include "recorder.h"
#include "shapes.h"
#include "stamp.h"

namespace perflab {

void (*infer_python)(const Op&, In, int, const Attrs&, Array*, int) = nullptr;
void (*run_python_kernel)(const Op&, In, int, const Attrs&, Array*, int) = nullptr;

bool cast_by(const Op& op, int i) { return op.list() ? op.casts & 1 : op.casts >> i & 1; }

namespace {

[[noreturn, gnu::noinline]] void refuse_promotion(const Op& op, DType a, DType b) {
  throw Error(ErrorKind::kDType, op.name + ": no dtype holds both " + name(a) + " and " + name(b) +
                                     ": convert one of them with astype first");
}

// The default float type, or the complex type of the same width.
DType complex_of(DType d) {
  return d == DType::kFloat64 || d == DType::kComplex128 ? DType::kComplex128 : DType::kComplex64;
}

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
      DType both = in[i]->dtype;
      if (any && !promote(d, in[i]->dtype, both)) refuse_promotion(op, d, in[i]->dtype);
      d = both, any = true;
    }
  }
  if (weak <= kind(d)) return d;
  if (weak == DKind::kInt) return DType::kInt64;
  if (weak == DKind::kFloat) return default_dtype;
  return complex_of(kind(d) == DKind::kFloat ? d : default_dtype);
}

DType chosen(const Op& op, const Attrs& attrs, DType otherwise) {  // by the first attribute of kind d
  for (const AttrSig& a : op.attrs)
    if (a.kind == 'd' && attrs.v[a.at] != kNone) return static_cast<DType>(attrs.v[a.at]);
  return otherwise;
}

}  // namespace

DType computation_of(const Op& op, In in, int nin, const Attrs& attrs) {
  switch (op.dtype_rule) {
    case DTypeRule::kPromote:
    case DTypeRule::kBool:
    case DTypeRule::kReal:
    case DTypeRule::kPythonPromote:
      if (nin == 2 && op.casts == 3 && in[0]->dtype == in[1]->dtype) [[likely]]
        return in[0]->dtype;
      return promoted(op, in, nin);
    case DTypeRule::kFloat: {
      DType d = promoted(op, in, nin);
      return kind(d) >= DKind::kFloat ? d : default_dtype;
    }
    case DTypeRule::kSecond:
      return in[1]->dtype;
    case DTypeRule::kSum: {
      DType d = in[0]->dtype;
      return chosen(op, attrs, kind(d) >= DKind::kFloat ? d : is_unsigned(d) ? DType::kUInt64 : DType::kInt64);
    }
    default:
      return in[0]->dtype;
  }
}

DType result_of(const Op& op, DType computed, const Attrs& attrs) {
  switch (op.dtype_rule) {
    case DTypeRule::kBool:
      return DType::kBool;
    case DTypeRule::kIndex:
      return DType::kInt64;
    case DTypeRule::kAttr:
      return chosen(op, attrs, computed);
    case DTypeRule::kReal:
      return real_of(computed);
    default:
      return computed;
  }
}

namespace {
[[noreturn, gnu::noinline]] void name_op(const Op& op, Error& e) { throw Error(e.kind, op.name + ": " + e.what()); }
}  // namespace

void infer(const Op& op, DType computed, In in, int nin, const Attrs& attrs, Array* out, int nout) {
  if (!op.infer) [[unlikely]] {
    SharedStamps::end();
    return infer_python(op, in, nin, attrs, out, nout);
  }
  DType d = result_of(op, computed, attrs);
  try {
    op.infer(in, nin, attrs, out, nout);
  } catch (Error& e) {
    name_op(op, e);
  }
  for (int k = 0; k < nout; ++k) out[k].dtype = d;
}

namespace {

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
  current_op = op.id + 1u;
  for (int k = 0; k < nout; ++k) out[k].fill_storage(quiet && k == 0);
  current_op = 0;
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

// 16-bit floats by the kernel for float32, its results rounded once.
void compute_wide(const Op& op, In in, int nin, const Attrs& attrs, Array* out, int nout) {
  std::vector<Array> inputs(nin), results(nout);
  std::vector<const Array*> wide(in, in + nin);
  for (int i = 0; i < nin; ++i)
    if (is_half(in[i]->dtype) && !op.like(i)) inputs[i] = cast(*in[i], DType::kFloat32), wide[i] = &inputs[i];
  for (int k = 0; k < nout; ++k) {
    results[k].alias(out[k]);
    if (!is_half(out[k].dtype)) continue;
    results[k].drop();
    results[k].dtype = DType::kFloat32;
    results[k].pack();
    results[k].fill_storage();
  }
  compute(op, DType::kFloat32, wide.data(), nin, attrs, results.data(), nout);
  for (int k = 0; k < nout; ++k)
    if (is_half(out[k].dtype)) copy_into(results[k], out[k]);
}

}  // namespace

void compute(const Op& op, DType computed, In in, int nin, const Attrs& attrs, Array* out, int nout) {
  Kernel kernel = op.kernel(computed);
  if (!kernel) [[unlikely]] {
    if (op.is_native(computed)) return compute_wide(op, in, nin, attrs, out, nout);
    SharedStamps::end();
    return run_python_kernel(op, in, nin, attrs, out, nout);
  }
  if (engine_may_release && !without_gil && takes_long(op, in, nin, out[0])) [[unlikely]]
    release_gil();
  try {
    kernel(in, nin, attrs, out, nout);
  } catch (Error& e) {
    name_op(op, e);
  }
}

[[gnu::noinline]] void record_op(const Op& op, uint16_t backend, In in, int nin, const Array* out, bool allocated,
                                 int64_t t0, int64_t t1, uint64_t sequence) {
  int64_t t2 = stamp();
  uint32_t shapes = intern_shapes(in, nin);
  Event& e = next_event();
  e.t0 = t0, e.t1 = t1, e.t2 = t2, e.kind = EventKind::kOp;
  e.flags = static_cast<uint16_t>(backend | static_cast<int>(out->dtype) << 3 | (allocated ? kAllocated : 0));
  e.name = op.id, e.sequence = sequence;
  e.address = reinterpret_cast<uint64_t>(out->storage ? out->storage->data : nullptr),
  e.bytes = out->storage ? out->storage->bytes : 0;
  e.shapes = shapes, e.scope = current_scope;
  if (stack_of_thread) [[unlikely]] {
    record_stack(t0);
    SharedStamps::end();
  }
  if (sample_is_due.load(std::memory_order_relaxed)) [[unlikely]] {
    take_sample();
    SharedStamps::end();
  }
}

namespace {

uint16_t backend_of(const Op& op, DType computed) { return op.is_native(computed) ? kNative : kPythonKernel; }

void run_typed(const Op& op, DType computed, In in, int nin, const Attrs& attrs, Array* out, int nout, bool donate,
               uint64_t sequence) {
  if (is_recording()) [[unlikely]] {
    int64_t t0 = last_stamp();
    bool work = prepare(op, computed, in, nin, attrs, out, nout, donate, true);
    bool allocated = work && !(donate && out[0].data == in[0]->data);
    int64_t t1 = work ? stamp() : 0;
    if (work) compute(op, computed, in, nin, attrs, out, nout);
    return record_op(op, work ? backend_of(op, computed) : uint16_t{kView}, in, nin, out, allocated, t0, t1, sequence);
  }
  if (prepare(op, computed, in, nin, attrs, out, nout, donate, false)) compute(op, computed, in, nin, attrs, out, nout);
}

}  // namespace

bool needs_cast(const Op& op, In in, int nin, DType computed) {
  for (int i = 0; i < nin; ++i)
    if (in[i]->dtype != computed && cast_by(op, i)) return true;
  return false;
}

namespace {

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
        set_scalar_as(made.back(), computed, *in[i]);
      }
      typed[i] = &made.back();
    }
  return typed;
}

}  // namespace

int count_outputs(const Op& op, In in, int nin, const Attrs& attrs) {
  if (op.nout) return op.nout;
  try {
    return op.outputs(in, nin, attrs);
  } catch (Error& e) {
    name_op(op, e);
  }
}

void run(const Op& op, In in, int nin, const Attrs& attrs, Array* out, int nout, bool donate, uint64_t sequence) {
  if (on_device(in, nin)) [[unlikely]]
    return SharedStamps::end(), run_on_device(op, in, nin, attrs, out, nout, donate, sequence);
  DType computed = computation_of(op, in, nin, attrs);
  if (needs_cast(op, in, nin, computed)) [[unlikely]] {
    std::vector<Array> made;
    auto typed = cast_inputs(op, in, nin, computed, made);
    return run_typed(op, computed, typed.data(), nin, attrs, out, nout, donate && typed[0] == in[0], sequence);
  }
  run_typed(op, computed, in, nin, attrs, out, nout, donate, sequence);
}

namespace {

bool same_elements(const Array& a, const Array& b) {
  if (a.data != b.data || !same_shape(a, b)) return false;
  for (int i = 0; i < a.ndim; ++i)
    if (a.strides[i] != b.strides[i]) return false;
  return true;
}

}  // namespace

bool overwrites(const Op& op, In in, int nin, const Array& target) {
  if (!op.pointwise && !op.updates && !target.contig) return false;
  for (int i = 0; i < nin; ++i) {
    const bool may_be_target = op.pointwise || (op.updates && i == 0);
    if (in[i]->storage == target.storage && !(may_be_target && same_elements(*in[i], target))) return false;
  }
  return true;
}

void check_dtype_into(const Op& op, DType gives, const Array& target, const char* form) {
  if (kind(gives) > kind(target.dtype))
    throw Error(ErrorKind::kDType, op.name + form + ": the result is " + name(gives) + ", which a " +
                                       name(target.dtype) + " tensor cannot hold: convert it with astype first");
}

void check_shape_into(const Op& op, const Array& gives, const Array& target, const char* form) {
  if (!same_shape(gives, target))
    throw Error(ErrorKind::kShape, op.name + form + ": the result has shape " + show(gives) +
                                       ", but the tensor that it is written into has " + show(target));
}

void run_into(const Op& op, In in, int nin, const Attrs& attrs, Array& target, const char* form, uint64_t sequence) {
  if (target.device || on_device(in, nin)) return run_into_on_device(op, in, nin, attrs, target, form, sequence);
  DType computed = computation_of(op, in, nin, attrs);
  DType gives = result_of(op, computed, attrs);
  check_dtype_into(op, gives, target, form);
  std::vector<Array> made;
  std::vector<const Array*> typed;
  if (needs_cast(op, in, nin, computed)) typed = cast_inputs(op, in, nin, computed, made), in = typed.data();
  int64_t t0 = is_recording() ? ticks() : 0;
  Array shape;
  infer(op, computed, in, nin, attrs, &shape, 1);
  check_shape_into(op, shape, target, form);
  if ((op.kernel(computed) || op.updates) && gives == target.dtype && overwrites(op, in, nin, target)) {
    int64_t t1 = t0 ? ticks() : 0;
    Array into;
    into.alias(target);
    compute(op, computed, in, nin, attrs, &into, 1);
    if (t0) record_op(op, backend_of(op, computed), in, nin, &target, false, t0, t1, sequence);
    return;
  }
  Array fresh;
  run_typed(op, computed, in, nin, attrs, &fresh, 1, false, sequence);
  copy_into(fresh, target);
}

}  // namespace perflab
