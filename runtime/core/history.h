// How tensors join the graph: results of ops, views, and what was changed in place.
//
// A view holds its base, and its own shape, strides and place say how to find it there. When the base or another view
// of it is changed in place, the view's grad_fn no longer speaks of its values: history() makes it anew, as the part of
// the base. When a view itself is changed, its base gets a history: a copy_slices of what it was and of the view.
// Nodes hold no tensors, so base and view make no cycle.
#pragma once
#include "node.h"

namespace perflab {

void renew_history(TensorImpl* view);
// The node behind t, of its values as they are now; null: a leaf, or no gradient at all. May enter Python.
inline Node* history(TensorImpl* t) {
  if (t->base && t->seen_version != t->version()) [[unlikely]]
    renew_history(t);
  return t->grad_fn;
}
inline bool needs_gradient(TensorImpl* t) {
  history(t);
  return t->requires_grad;
}
// The same without making the history, so that it refuses nothing.
inline bool will_need_gradient(const TensorImpl* t) {
  return t->requires_grad || (t->base && t->seen_version != t->version() && t->base->requires_grad);
}

void show_memory_of(TensorImpl* view, TensorImpl* shown, bool several);  // makes it a view
// `t` was written: the node (its reference is taken) is the history of the new values, and of its base's.
// `slices`: what slices_program(t) gave before the write, which may have given the GIL away.
void set_history(TensorImpl* t, Node*, uint32_t output, const Program* slices);
const Program* slices_program(TensorImpl* t);  // null: t is no view
// Throws where a tensor may not be changed in place while its history is recorded. `what` begins the message.
void check_in_place(TensorImpl*, const std::string& what);

// Retained gradients follow the tensor to its new node; set by the Python side.
extern void (*move_retained_grad)(Node* from, uint32_t output, Node* to, uint32_t to_output);

// `p` is looked up before the op runs: that may enter Python, and the kernel may give the GIL away.
Node* record_node(const Op&, const Program& p, const Operand* in, int nin, const Attrs&, const Array* const* outs,
                  int nout, uint64_t sequence);
uint64_t next_sequence(const Operand* in, int nin);  // of a node with edges to these

}  // namespace perflab
