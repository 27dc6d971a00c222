// Ops where a tensor is on a device: the same steps as on the CPU, but the kernel is launched and not waited for.
#include "device.h"
#include "dispatch.h"
#include "out_of_memory.h"
#include "pinned.h"
#include "recorder.h"

namespace perflab {

namespace {

[[noreturn]] void refuse_devices(const std::string& call, int a, int b) {
  throw Error(ErrorKind::kDevice, call + ": the tensors must be on one device, but are on " + device_name(a) + " and " +
                                      device_name(b) + ": move one of them with to()");
}

const Op& named(const char* name) { return *find_op(name); }

bool is_number(const Array& a) { return !a.ndim && a.data && !a.device; }

// The inputs as the device takes them: all there or numbers, in the dtype of the computation. Tensors of no dimensions
// on the CPU count as numbers, as in PyTorch, with the value that they have now.
class Inputs {
 public:
  Inputs(const Op& op, In in, int nin, const Attrs& attrs, int where, const char* form = "") : in_(in, in + nin) {
    made_.reserve(2 * nin);
    for (int i = 0; i < nin; ++i) take(op, i, where, form);
    computed = computation_of(op, in_.data(), nin, attrs);
    for (int i = 0; i < nin; ++i)
      if (in_[i]->dtype != computed && cast_by(op, i)) in_[i] = &made_.emplace_back(cast_to(*in_[i], computed));
  }
  In get() const { return in_.data(); }
  int count() const { return static_cast<int>(in_.size()); }
  DType computed;

 private:
  void take(const Op& op, int i, int where, const char* form) {
    const Array& a = *in_[i];
    if (a.device == where || !a.data || op.like(i) || op.moves) return;
    if (!is_number(a)) refuse_devices(op.name + form, where, a.device);
    if (!a.storage) return;
    Array& number = made_.emplace_back();
    set_scalar_as(number, a.dtype, a);
    in_[i] = &number;
  }
  static Array cast_to(const Array& a, DType to) {
    if (a.device) return cast(a, to);
    Array number;
    set_scalar_as(number, to, a);
    return number;
  }
  std::vector<const Array*> in_;
  std::vector<Array> made_;
};

int first_device(In in, int nin) {
  for (int i = 0; i < nin; ++i)
    if (in[i]->device) return in[i]->device;
  return 0;
}

Array fresh_like(const Layout& shape, DType d, int where) {
  Array a;
  a.dtype = d;
  a.take_shape(shape);
  fill_storage_on(where, a);
  return a;
}

bool may_donate(const Array& from, const Array& to, const Device& d) {
  return from.device && from.sole() && from.contig && from.numel == to.numel && from.dtype == to.dtype &&
         from.storage->stream == d.current_stream();
}

// Memory for the outputs; false: they have it, there is nothing to compute.
bool give_memory(const Op& op, Device& d, const Array& first, Array* out, int nout, bool donate) {
  if (out[0].storage) return false;
  if (donate && may_donate(first, out[0], d)) {
    out[0].data = first.data, out[0].device = first.device;
    retain(out[0].storage = first.storage);
    return true;
  }
  current_op = op.id + 1u;
  for (int k = 0; k < nout; ++k) fill_storage_on(d.number(), out[k]);
  current_op = 0;
  return true;
}

}  // namespace

void run_on_device(const Op& op, In in, int nin, const Attrs& attrs, Array* out, int nout, bool donate,
                   uint64_t sequence) {
  Device& d = device(first_device(in, nin));
  const int64_t t0 = is_recording() ? ticks() : 0;
  const Inputs typed(op, in, nin, attrs, d.number());
  infer(op, typed.computed, typed.get(), nin, attrs, out, nout);
  const bool work = give_memory(op, d, *typed.get()[0], out, nout, donate && typed.get()[0] == in[0]);
  const int64_t t1 = t0 && work ? ticks() : 0;
  if (work) d.launch(op, typed.computed, typed.get(), nin, attrs, out, nout);
  if (t0) record_op(op, kView, typed.get(), nin, out, false, t0, t1, sequence);
}

void run_into_on_device(const Op& op, In in, int nin, const Attrs& attrs, Array& target, const char* form,
                        uint64_t sequence) {
  Array moved;
  const Array* pair[2];
  if (&op == &named("assign") && in[1]->device != target.device && !is_number(*in[1])) {  // copy_ between devices
    moved = transfer(*in[1], target.device);
    pair[0] = in[0], pair[1] = &moved, in = pair;
    if (!target.device) return run_into(op, in, nin, attrs, target, form, sequence);
  }
  if (!target.device) refuse_devices(op.name + form, first_device(in, nin), 0);
  Device& d = device(target.device);
  const int64_t t0 = is_recording() ? ticks() : 0;
  const Inputs typed(op, in, nin, attrs, d.number(), form);
  const DType gives = result_of(op, typed.computed, attrs);
  check_dtype_into(op, gives, target, form);
  Array result;
  infer(op, typed.computed, typed.get(), nin, attrs, &result, 1);
  check_shape_into(op, result, target, form);
  const int64_t t1 = t0 ? ticks() : 0;
  if (!result.storage && gives == target.dtype && (op.pointwise || op.updates || op.kernel(typed.computed)) &&
      overwrites(op, typed.get(), nin, target)) {
    result.alias(target);
    d.launch(op, typed.computed, typed.get(), nin, attrs, &result, 1);
  } else {
    if (give_memory(op, d, *typed.get()[0], &result, 1, false))
      d.launch(op, typed.computed, typed.get(), nin, attrs, &result, 1);
    copy_into(result, target);
  }
  if (t0) record_op(op, kView, typed.get(), nin, &target, false, t0, t1, sequence);
}

Array cast_on_device(const Array& a, DType to) {
  Array made = fresh_like(a, to, a.device);
  Attrs attrs{};
  attrs.v[0] = static_cast<int64_t>(to);
  const Array* in[] = {&a};
  device(a.device).launch(named("cast"), a.dtype, in, 1, attrs, &made, 1);
  return made;
}

void copy_into_on_device(const Array& from, Array& to) {
  if (!to.device) return copy_into(transfer(from, 0), to);
  if (from.device != to.device && !is_number(from)) {
    if (from.contig && to.contig && from.dtype == to.dtype) return device(to.device).copy(from, to, false);
    return copy_into_on_device(transfer(from, to.device), to);
  }
  Array value;  // of a number in memory the value now
  if (from.device)
    value.alias(from);
  else
    set_scalar_as(value, to.dtype, from);
  const Array* in[] = {&to, &value};
  Array into;
  into.alias(to);
  device(to.device).launch(named("assign"), to.dtype, in, 2, kNoAttrs, &into, 1);
}

Array transfer(const Array& from, int to, bool non_blocking) {
  if (from.device == to) return cast(from, from.dtype);
  Array whole;
  if (from.contig)
    whole.alias(from);
  else
    whole = cast(from, from.dtype);
  Device& d = device(to ? to : from.device);
  Array made = !to && non_blocking ? pinned_like(from, from.dtype, d) : fresh_like(from, from.dtype, to);
  if (to && from.device) device(from.device).synchronize();
  d.copy(whole, made, non_blocking && (!is_pinned(whole) || is_pinned_by(d, whole)));
  guard_copy(d, whole), guard_copy(d, made);
  return made;
}

}  // namespace perflab
