// The backward pass with create_graph: the same programs on tensors, recorded by apply(). A saved value finds its place
// in the graph again through the node (rejoin).
#include "engine.h"
#include "recorder.h"

namespace perflab {

void (*run_python_node_recorded)(Node*, Ref<TensorImpl>*, Ref<TensorImpl>*) = nullptr;

namespace {

using Tensor = Ref<TensorImpl>;

Tensor constant(const Array& a) { return Ref(make_tensor(Array(a))); }

Tensor zeros(const Layout& like) {
  Array a;
  a.dtype = like.dtype;
  a.take_shape(like);
  a.fill_storage();
  std::memset(a.data, 0, a.bytes());
  return Ref(make_tensor(std::move(a)));
}

// New reference in, old one out under the lock; the old one goes after it, since a wrapper's death may run Python.
void accumulate(TensorImpl* leaf, Tensor ct) {
  if (ct->dtype != leaf->dtype) {
    Operand in[] = {{ct.get(), ct.get()}, {leaf, leaf}};
    ct = Ref(apply(*find_op("astype_like"), in, 2, kNoAttrs));
  }
  Tensor old;
  {
    std::lock_guard guard(grad_lock(leaf));
    old = Ref(std::exchange(leaf->grad, nullptr));
  }
  if (old) add_tensors(ct, old);
  std::lock_guard guard(grad_lock(leaf));
  leaf->grad = ct.take();
}

void give(Front<Tensor>& front, const Edge& e, Tensor ct) {
  if (e.node) {
    retain(e.node);
    front.push(e.node, e.output, std::move(ct));
  } else if (e.leaf) {
    accumulate(e.leaf, std::move(ct));
  }
}

void run_program(Node* n, std::vector<Tensor>& cts, Front<Tensor>& front) {
  const Program& p = *n->program;
  std::vector<Tensor> at;
  at.reserve(p.nslots);
  for (int k = 0; k < n->nout; ++k) at.push_back(cts[k] ? cts[k] : zeros(n->saved()[n->nsaved - n->nout + k]));
  for (int k = 0; k < n->nsaved; ++k) at.push_back(rejoin(n, k));
  for (const Array& c : p.constants) at.push_back(constant(c));
  at.resize(p.nslots);
  for (const Call& c : p.calls) {
    std::vector<Operand> in;
    for (uint16_t s : c.in) in.push_back({at[s].get(), at[s].get()});
    Attrs attrs = c.attrs;
    for (auto [to, from] : c.from_forward) attrs.v[to] = n->attrs()[from];
    std::vector<TensorImpl*> outs(c.nout);
    apply(*c.op, in.data(), static_cast<int>(in.size()), attrs, outs.data(), c.nout);
    for (int k = 0; k < c.nout; ++k) at[c.out + k] = Ref(outs[k]);
  }
  for (int i = 0; i < n->nedges; ++i)
    if (p.outs[i] >= 0) give(front, n->edges()[i], at[p.outs[i]]);
}

void run_node(Node* n, std::vector<Tensor>& cts, Front<Tensor>& front) {
  if (n->program) return run_program(n, cts, front);
  std::vector<Tensor> outs(n->nedges);
  run_python_node_recorded(n, cts.data(), outs.data());
  for (int i = 0; i < n->nedges; ++i)
    if (outs[i]) give(front, n->edges()[i], std::move(outs[i]));
}

}  // namespace

void add_tensors(Ref<TensorImpl>& sum, const Ref<TensorImpl>& more) {
  Operand in[] = {{sum.get(), sum.get()}, {more.get(), more.get()}};
  sum = Ref(apply(*find_op("add"), in, 2, kNoAttrs));
}

void backward_recorded(TensorImpl* root, TensorImpl* gradient) {
  Tensor ct = gradient ? Tensor::share(gradient) : zeros(*root);
  if (!gradient)
    visit(ct->dtype,
          [&](auto zero) { std::fill_n(ct->as<decltype(zero)>(), ct->numel, static_cast<decltype(zero)>(1)); });
  if (!root->grad_fn) return accumulate(root, std::move(ct));
  struct GradMode {
    bool was = std::exchange(grad_enabled, true);
    ~GradMode() { grad_enabled = was; }
  } mode;
  Front<Tensor> front;
  struct Reset {
    Front<Tensor>& front;
    ~Reset() { front.clear(); }
  } reset{front};
  retain(root->grad_fn);
  front.push(root->grad_fn, root->output, std::move(ct));
  std::vector<Tensor> cts;
  while (!front.empty()) {
    Node* n = front.pop(cts);
    Claim claim(n, true);
    int64_t t0 = is_recording() ? ticks() : 0;
    run_node(n, cts, front);
    if (t0) record_backward(n, t0);
    cts.clear();
  }
}

}  // namespace perflab
