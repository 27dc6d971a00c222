// One op from operands to recorded results: run it and, if an input needs a gradient, push a node.
#include <algorithm>
#include <vector>

#include "device.h"
#include "engine.h"
#include "history.h"
#include "modes.h"

namespace perflab {

namespace {

// Which inputs need a gradient.
uint32_t needing_gradient(const Op& op, const Operand* in, int nin) {
  uint32_t mask = 0;
  for (int i = 0; i < nin; ++i)
    if (in[i].tensor && needs_gradient(in[i].tensor)) mask |= op.list() ? 1u : 1u << i;
  return mask;
}

[[noreturn, gnu::noinline]] void refuse_complex(const std::string& what, DType d) {
  throw Error(ErrorKind::kAutograd, what + ": an input requires grad, but the result is " + name(d) +
                                        ", and complex tensors carry no gradients: detach() the input, or use "
                                        "no_grad()");
}

void join(TensorImpl* t, Node* n, uint32_t output) {  // takes a reference of n
  t->grad_fn = n, t->output = output, t->requires_grad = true;
}

void apply_several(const Op& op, const Operand* in, int nin, const Attrs& attrs, const Array* const* arrays,
                   TensorImpl** out, int nout) {
  if (nout == 0) return;  // the parts along an axis without elements
  std::vector<Array> results(nout);
  uint32_t needing = grad_enabled ? needing_gradient(op, in, nin) : 0, mask = needing & op.differentiable;
  const Program* program = mask ? &program_for(op, in, nin, nout, mask, attrs) : nullptr;
  uint64_t sequence = program ? next_sequence(in, nin) : 0;
  run(op, arrays, nin, attrs, results.data(), nout, false, sequence);
  bool view = nin > 0 && in[0].tensor && results[0].storage && results[0].storage == arrays[0]->storage;
  Ref<Node> node;
  for (const Array& r : results)
    if (needing && kind(r.dtype) == DKind::kComplex) refuse_complex(op.name, r.dtype);
  auto differentiable = [&](const Array& r) { return kind(r.dtype) == DKind::kFloat; };
  if (program && std::any_of(results.begin(), results.end(), differentiable)) {
    std::vector<const Array*> outs;
    for (const Array& r : results) outs.push_back(&r);
    node = Ref(record_node(op, *program, in, nin, attrs, outs.data(), nout, sequence));
    announce(node.get());
  }
  for (int k = 0; k < nout; ++k) {
    const bool joins = node && differentiable(results[k]);
    TensorImpl* t = out[k] = make_tensor(std::move(results[k]));
    if (view) show_memory_of(t, in[0].tensor, true);
    if (joins) join(t, Ref<Node>(node).take(), static_cast<uint32_t>(k));
  }
}

}  // namespace

namespace {
[[noreturn, gnu::noinline]] void refuse_inference(const Op& op) {
  throw Error(ErrorKind::kAutograd, op.name +
                                        ": inference tensors cannot be saved for backward: take a copy() of it outside "
                                        "of inference_mode()");
}
}  // namespace

uint64_t next_sequence(const Operand* in, int nin) {
  uint64_t behind = 0;
  for (int i = 0; i < nin; ++i)
    if (in[i].tensor && in[i].tensor->grad_fn) behind = std::max(behind, in[i].tensor->grad_fn->sequence);
  return sequence_after(behind);
}

Node* record_node(const Op& op, const Program& p, const Operand* in, int nin, const Attrs& attrs,
                  const Array* const* outs, int nout, uint64_t sequence) {
  uint32_t mask = p.mask;
  Node* n = make_node(op.list() ? nin : __builtin_popcount(mask), static_cast<int>(p.saves.size()), nout, op.words);
  try {
    n->op = &op, n->program = &p, n->sequence = sequence;
    if (outs[0]->device) [[unlikely]]
      n->device = outs[0]->device, n->stream = device(n->device).current_stream();
    std::memcpy(n->attrs(), attrs.v, op.words * sizeof(int64_t));
    for (int i = 0, e = 0; i < nin; ++i) {
      if (op.list()) {
        if (in[i].tensor && in[i].tensor->requires_grad) set_edge(n, i, in[i].tensor);
      } else if (mask >> i & 1) {
        set_edge(n, e++, in[i].tensor);
      }
    }
    for (size_t k = 0; k < p.saves.size(); ++k) {
      Keep keep = p.saves[k];
      if (!keep.spec && keep.which >= 0 && in[keep.which].tensor && in[keep.which].tensor->inference) [[unlikely]]
        refuse_inference(op);
      save(n->saved() + k, keep.which < 0 ? *outs[-1 - keep.which] : *in[keep.which].array, keep.which, keep.spec);
      n->keeps_values |= !keep.spec;
    }
  } catch (...) {
    release(n);
    throw;
  }
  return n;
}

void apply(const Op& op, const Operand* in, int nin, const Attrs& attrs, TensorImpl** out, int nout) {
  if (modes & kChangeCalls) [[unlikely]]
    return apply_in_modes(op, in, nin, attrs, out, nout);
  constexpr int kFew = 8;
  const Array* few[kFew];
  std::vector<const Array*> many;
  const Array** arrays = few;
  if (nin > kFew) [[unlikely]]
    many.resize(nin), arrays = many.data();
  for (int i = 0; i < nin; ++i) arrays[i] = in[i].array;
  if (op.nout != 1) [[unlikely]]
    return apply_several(op, in, nin, attrs, arrays, out, nout);
  uint32_t needing = grad_enabled ? needing_gradient(op, in, nin) : 0, mask = needing & op.differentiable;
  const Program* program = mask ? &program_for(op, in, nin, 1, mask, attrs) : nullptr;
  uint64_t sequence = program ? next_sequence(in, nin) : 0;
  auto t = Ref(make_tensor());
  run(op, arrays, nin, attrs, t.get(), 1, false, sequence);
  if (nin > 0 && t->storage && t->storage == arrays[0]->storage && in[0].tensor)
    show_memory_of(t.get(), in[0].tensor, false);
  if (needing) {
    if (kind(t->dtype) == DKind::kComplex) [[unlikely]]
      refuse_complex(op.name, t->dtype);
    if (program && kind(t->dtype) == DKind::kFloat) {
      const Array* outs[] = {t.get()};
      Ref<Node> n(record_node(op, *program, in, nin, attrs, outs, 1, sequence));
      announce(n.get());
      join(t.get(), n.take(), 0);
    }
  }
  *out = t.take();
}

namespace {

void refuse_overlap(const Op& op, const char* form, const TensorImpl& t) {
  for (int i = 0; t.numel > 1 && i < t.ndim; ++i)
    if (t.shape[i] > 1 && t.strides[i] == 0)
      throw Error(ErrorKind::kAutograd, op.name + form +
                                            ": more than one element of the tensor written to lies at one place in "
                                            "memory (it was expanded): change a copy() of it");
}

// What the gradient reads of the tensor before the change is kept as a copy.
void keep_old_value(Node* n) {
  for (int k = 0; k < n->nsaved; ++k) {
    Saved& s = n->saved()[k];
    if (s.which != 0 || !s.storage) continue;
    static_cast<Array&>(s) = cast(s, s.dtype);
    s.version = 0;
  }
}

}  // namespace

void apply_in_place(const Op& op, const Operand* in, int nin, const Attrs& attrs) {
  TensorImpl* t = in[0].tensor;
  if (modes & kDispatch) [[unlikely]]
    return call_dispatch_mode(op, in, nin, attrs, nullptr, 0, true);
  if (t->inference && !(modes & kInference))
    throw Error(ErrorKind::kAutograd, op.name +
                                          "_: an inference tensor is changed in place outside of inference_mode(): "
                                          "change a copy() of it");
  uint32_t needing = grad_enabled ? needing_gradient(op, in, nin) : 0;
  if (needing && kind(t->dtype) == DKind::kComplex) refuse_complex(op.name + "_", t->dtype);
  uint32_t mask = kind(t->dtype) == DKind::kFloat ? needing & op.differentiable : 0;
  if (mask || (grad_enabled && t->base && t->base->requires_grad)) check_in_place(t, op.name + "_: ");
  refuse_overlap(op, "_", *t);
  std::vector<const Array*> arrays;
  for (int i = 0; i < nin; ++i) arrays.push_back(in[i].array);
  Ref<Node> node;
  const Program* slices = mask ? slices_program(t) : nullptr;
  if (mask) {  // saves and edges speak of the inputs as they were
    const Array* outs[] = {t};
    const Program& program = program_for(op, in, nin, 1, mask, attrs);
    node = Ref(record_node(op, program, in, nin, attrs, outs, 1, next_sequence(in, nin)));
    keep_old_value(node.get());
  }
  run_into(op, arrays.data(), nin, attrs, *t, "_", node ? node->sequence : 0);
  if (!t->storage) return;
  uint32_t version = 1 + t->storage->version.fetch_add(1, std::memory_order_relaxed);
  if (!node) return;
  for (int k = 0; k < node->nsaved; ++k)
    if (node->saved()[k].which < 0) node->saved()[k].version = version;  // a saved output is the value just written
  announce(node.get());
  set_history(t, node.take(), 0, slices);
}

void apply_into(const Op& op, const Operand* in, int nin, const Attrs& attrs, TensorImpl* out) {
  constexpr const char* kForm = "(out=)";
  bool recorded = grad_enabled && will_need_gradient(out);
  std::vector<const Array*> arrays;
  for (int i = 0; i < nin; ++i) {
    arrays.push_back(in[i].array);
    recorded |= grad_enabled && in[i].tensor && will_need_gradient(in[i].tensor);
  }
  if (recorded)
    throw Error(ErrorKind::kAutograd, op.name + kForm +
                                          ": an argument requires grad, and what is written into out has " +
                                          "no history: leave out away, or use no_grad()");
  refuse_overlap(op, kForm, *out);
  run_into(op, arrays.data(), nin, attrs, *out, kForm, 0);
  if (out->storage) out->storage->version.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace perflab
