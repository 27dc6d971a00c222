#include "history.h"

namespace perflab {

void (*move_retained_grad)(Node*, uint32_t, Node*, uint32_t) = nullptr;

namespace {

const Op& copy_slices() {
  static const Op& op = *find_op("copy_slices");
  return op;
}

// Where the view lies in its base, as the attributes of as_strided and copy_slices.
Attrs place_in_base(const TensorImpl& view) {
  const TensorImpl& base = *view.base;
  if (view.storage != base.storage)
    throw Error(ErrorKind::kAutograd, "the memory of a tensor with views was replaced (data=): make the views again");
  if (!base.contig)
    throw Error(ErrorKind::kAutograd,
                "a tensor of shape " + show(base) +
                    " whose memory is not contiguous was changed in place and has views: change a contiguous() copy");
  Attrs attrs{};
  attrs.v[0] = attrs.v[1 + kMaxDim] = view.ndim;
  for (int i = 0; i < view.ndim; ++i) attrs.v[1 + i] = view.shape[i], attrs.v[2 + kMaxDim + i] = view.strides[i];
  auto bytes = static_cast<const char*>(view.data) - static_cast<const char*>(base.data);
  attrs.v[2 * (1 + kMaxDim)] = bytes / static_cast<int64_t>(item_size(view.dtype));
  return attrs;
}

void refuse_kind(const TensorImpl& view, bool itself) {
  std::string what =
      itself ? "is being modified inplace" : "and its base or another view of its base was modified inplace";
  switch (view.view_kind) {
    case ViewKind::kRecorded:
      return;
    case ViewKind::kNoGrad:
      throw Error(
          ErrorKind::kAutograd,
          "a view was created in no_grad mode " + what +
              " with grad mode enabled: make the view and the change both inside of no_grad(), so that they are "
              "not recorded, or both outside");
    case ViewKind::kSeveral:
      throw Error(ErrorKind::kAutograd, "output " + std::to_string(view.output) +
                                            (view.grad_fn ? " of " + backward_name(view.grad_fn) : "") +
                                            " is a view of a function that returns multiple views " + what +
                                            ": use the operation without the underscore, or slice the base instead");
  }
}

void put_behind(TensorImpl* t, Node* n, uint32_t output) {
  if (t->grad_fn) {
    if (t->grad_fn->hooks) [[unlikely]]
      move_retained_grad(t->grad_fn, t->output, n, output);
    release(t->grad_fn);
  }
  t->grad_fn = n, t->output = output, t->requires_grad = true;
}

}  // namespace

void renew_history(TensorImpl* view) {
  TensorImpl* base = view->base;
  if (base->requires_grad) {
    static const Op& op = *find_op("as_strided");
    refuse_kind(*view, false);
    Attrs attrs = place_in_base(*view);
    Operand in[] = {{base, base}};
    const Array* outs[] = {view};
    Ref<Node> n(record_node(op, program_for(op, in, 1, 1, 1, attrs), in, 1, attrs, outs, 1, next_sequence(in, 1)));
    announce(n.get());
    put_behind(view, n.take(), 0);
  }
  view->seen_version = view->version();
}

void show_memory_of(TensorImpl* view, TensorImpl* shown, bool several) {
  retain(view->base = shown->base ? shown->base : shown);
  view->seen_version = view->version(), view->inference = shown->inference;
  view->view_kind = shown->view_kind != ViewKind::kRecorded ? shown->view_kind
                    : !grad_enabled                         ? ViewKind::kNoGrad
                    : several                               ? ViewKind::kSeveral
                                                            : ViewKind::kRecorded;
}

const Program* slices_program(TensorImpl* t) {
  TensorImpl* base = t->base;
  if (!base) return nullptr;
  Operand in[] = {{base, base}, {t, t}};
  return &program_for(copy_slices(), in, 2, 1, base->requires_grad ? 3 : 2, place_in_base(*t));
}

void set_history(TensorImpl* t, Node* n, uint32_t output, const Program* slices) {
  put_behind(t, n, output);
  if (!slices) return;
  TensorImpl* base = t->base;
  t->seen_version = t->version();
  Operand in[] = {{base, base}, {t, t}};
  const Array* outs[] = {base};
  Ref<Node> of_base(record_node(copy_slices(), *slices, in, 2, place_in_base(*t), outs, 1, next_sequence(in, 2)));
  announce(of_base.get());
  put_behind(base, of_base.take(), 0);
  t->seen_version = t->version() - 1;  // from now on it is part of the base
}

void check_in_place(TensorImpl* t, const std::string& what) {
  try {
    if (t->base) {
      refuse_kind(*t, true);
      if (t->base->requires_grad && !t->base->grad_fn)
        throw Error(ErrorKind::kAutograd,
                    "a view of a leaf that requires grad is changed in place: do it under no_grad()");
    }
    if (t->requires_grad && !t->grad_fn)
      throw Error(ErrorKind::kAutograd, "a leaf that requires grad is changed in place: do it under no_grad()");
  } catch (Error& e) {
    throw Error(e.kind, what + e.what());
  }
}

}  // namespace perflab
