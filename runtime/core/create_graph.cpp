// The backward pass with create_graph: the same programs on tensors, recorded by apply(). A saved value finds its place
// in the graph again through the node (rejoin).
#include "device.h"
#include "pass.h"

namespace perflab {

void (*run_python_node_recorded)(Node*, Ref<TensorImpl>*, Ref<TensorImpl>*) = nullptr;

namespace {

Tensor constant(const Array& a) { return Ref(make_tensor(Array(a))); }

Tensor zeros(const Layout& like) { return Ref(make_tensor(filled(like, 0))); }

void run_program(Node* n, std::span<Tensor> cts, std::span<Tensor> outs) {
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
    std::vector<TensorImpl*> made(c.nout);
    apply(*c.op, in.data(), static_cast<int>(in.size()), attrs, made.data(), c.nout);
    for (int k = 0; k < c.nout; ++k) at[c.out + k] = Ref(made[k]);
  }
  for (int i = 0; i < n->nedges; ++i)
    if (p.outs[i] >= 0) outs[i] = at[p.outs[i]];
}

}  // namespace

void accumulate(TensorImpl* leaf, Tensor ct) {
  if (!same_shape(*leaf, *ct)) refuse_gradient(*leaf, *ct);
  Operand in[] = {{ct.get(), ct.get()}, {leaf, leaf}};
  if (ct->dtype != leaf->dtype)
    ct = Ref(apply(*find_op("astype_like"), in, 2, kNoAttrs));
  else if (ct->refs.load(std::memory_order_relaxed) > 1 || !ct->contig || !ct->sole())
    ct = Ref(apply(*find_op("copy"), in, 1, kNoAttrs));  // the leaf's own: somebody may change it in place
  put_grad(leaf, std::move(ct));
}

void run_node(Node* n, std::span<Tensor> cts, std::span<Tensor> outs, bool keep) {
  if (n->program) {
    run_program(n, cts, outs);
  } else {
    run_python_node_recorded(n, cts.data(), outs.data());
  }
  if (!keep)
    for (int k = 0; k < n->nsaved; ++k) n->saved()[k].drop();
}

void add_tensors(Ref<TensorImpl>& sum, const Ref<TensorImpl>& more) {
  Operand in[] = {{sum.get(), sum.get()}, {more.get(), more.get()}};
  sum = Ref(apply(*find_op("add"), in, 2, kNoAttrs));
}

std::vector<Tensor> backward_on_tensors(const Request& request, std::span<Tensor> gradients, bool create_graph) {
  GradMode mode(create_graph);
  Pass<Tensor>::Scratch own;
  return Pass<Tensor>(request, own).run(gradients);
}

}  // namespace perflab
