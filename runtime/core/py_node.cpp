// What Python sees of the graph, and PyNode: the one place where the engine enters Python to compute.
#include "py.h"

namespace perflab {
namespace {

// --- the object behind grad_fn
struct PyNode {
  PyObject_HEAD Node* node;
};
PyTypeObject* node_type = nullptr;

void dealloc(PyObject* o) {
  PyObject_GC_UnTrack(o);
  Node* n = std::exchange(reinterpret_cast<PyNode*>(o)->node, nullptr);
  n->wrapper = nullptr;
  release(n);
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}

int traverse(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(o));
  return visit_behind(node_of(o), visit, arg);
}

int clear(PyObject* o) {  // breaks the cycle at the node's hooks and context, if it is nobody else's
  Node* n = node_of(o);
  if (n->refs.load(std::memory_order_acquire) != 1) return 0;
  for (int i = 0; i < n->nedges; ++i) {
    Edge e = std::exchange(n->edges()[i], Edge{});
    if (e.node) release(e.node);
    if (e.leaf) release(e.leaf);
  }
  return 0;
}

PyObject* sequence_nr(PyObject* o, PyObject*) { return PyLong_FromUnsignedLongLong(node_of(o)->sequence); }

PyObject* node_name(PyObject* o, PyObject*) { return PyUnicode_FromString(backward_name(node_of(o)).c_str()); }

PyObject* represent(PyObject* o) {
  PyObject* name = node_name(o, nullptr);
  PyObject* r = name ? PyUnicode_FromFormat("<%U at %p>", name, static_cast<void*>(node_of(o))) : nullptr;
  Py_XDECREF(name);
  return r;
}

// The edge of an input, null where it needs no gradient. Nodes of ops have edges for the others alone.
const Edge* edge_of_input(Node* n, int i) {
  if (!n->program || n->op->list()) return n->edges() + i;
  uint32_t mask = n->program->mask;
  return mask >> i & 1 ? n->edges() + __builtin_popcount(mask & ((1u << i) - 1)) : nullptr;
}

// [(node or leaf tensor or None, output number)], one for each input that could have a gradient
PyObject* edges(PyObject* o, PyObject*) {
  Node* n = node_of(o);
  bool by_mask = n->program && !n->op->list();
  int nin = by_mask ? n->program->nin : n->nedges;
  PyObject* list = PyList_New(0);
  for (int i = 0; list && i < nin; ++i) {
    if (by_mask && !(n->op->differentiable >> i & 1)) continue;
    const Edge* e = edge_of_input(n, i);
    PyObject* to = nullptr;
    if (e && e->node) {
      retain(e->node);
      to = wrap_node(e->node);
    } else if (e && e->leaf) {
      retain(e->leaf);
      to = wrap(e->leaf);
    } else {
      to = Py_NewRef(Py_None);
    }
    PyObject* pair = to ? Py_BuildValue("(NI)", to, e ? e->output : 0) : nullptr;
    if (!pair || PyList_Append(list, pair) < 0) Py_CLEAR(list);
    Py_XDECREF(pair);
  }
  return list;
}

// --- a Python function in the graph
constexpr const char kRun[] = "_run_backward";

// The saved tensors as a tuple; None where ctx keeps the tensor itself.
PyObject* saved_tuple(Node* n) {
  PyObject* t = PyTuple_New(n->nsaved);
  for (int k = 0; t && k < n->nsaved; ++k) {
    if (n->saved()[k].which == kElsewhere) {
      PyTuple_SET_ITEM(t, k, Py_NewRef(Py_None));
      continue;
    }
    PyObject* w;
    try {
      w = wrap(rejoin(n, k).take());
    } catch (...) {
      raise_current();
      w = nullptr;
    }
    if (!w) {
      Py_DECREF(t);
      return nullptr;
    }
    PyTuple_SET_ITEM(t, k, w);
  }
  return t;
}

// ctx._run_backward(saved, cotangents, create_graph) -> a tuple with a Tensor or None per edge
PyObject* call_backward(Node* n, PyObject* cts, bool create_graph) {  // takes the reference of cts
  PyObject* saved = cts ? saved_tuple(n) : nullptr;
  PyObject* r = saved ? PyObject_CallMethod(static_cast<PyObject*>(n->context), kRun, "OOO", saved, cts,
                                            create_graph ? Py_True : Py_False)
                      : nullptr;
  Py_XDECREF(saved);
  Py_XDECREF(cts);
  if (!r) throw PythonError();
  if (!PyTuple_Check(r) || PyTuple_GET_SIZE(r) != n->nedges) {
    Py_DECREF(r);
    throw Error(ErrorKind::kAutograd, "a context's backward must give one value per input");
  }
  return r;
}

void run_node(Node* n, const Array* cts, Array* outs) {
  Gil gil(backward_name(n));
  PyObject* args = PyTuple_New(n->nout);
  for (int k = 0; args && k < n->nout; ++k)
    PyTuple_SET_ITEM(args, k, defined(cts[k]) ? wrap(make_tensor(Array(cts[k]))) : Py_NewRef(Py_None));
  PyObject* r = call_backward(n, args, false);
  for (int i = 0; i < n->nedges; ++i) {
    PyObject* v = PyTuple_GET_ITEM(r, i);
    if (v != Py_None) outs[i] = Array(*impl_of(v));
  }
  Py_DECREF(r);
}

void run_node_recorded(Node* n, Ref<TensorImpl>* cts, Ref<TensorImpl>* outs) {
  PyObject* args = PyTuple_New(n->nout);
  for (int k = 0; args && k < n->nout; ++k)
    PyTuple_SET_ITEM(args, k, cts[k] ? wrap(Ref<TensorImpl>(cts[k]).take()) : Py_NewRef(Py_None));
  PyObject* r = call_backward(n, args, true);
  for (int i = 0; i < n->nedges; ++i) {
    PyObject* v = PyTuple_GET_ITEM(r, i);
    if (v != Py_None) outs[i] = Ref<TensorImpl>::share(impl_of(v));
  }
  Py_DECREF(r);
}

PyMethodDef methods[] = {{"name", node_name, METH_NOARGS, "The node's name, such as AddBackward0."},
                         {"_sequence_nr", sequence_nr, METH_NOARGS, "Its number: nodes made later have higher ones."},
                         {"_edges", edges, METH_NOARGS, "[(node, leaf Tensor or None, output number)]"},
                         {}};
PyGetSetDef getset[] = {{"_hooks", get_node_hooks, set_node_hooks, "What keeps its hooks and metadata.", nullptr}, {}};

}  // namespace

Node* node_of(PyObject* o) { return reinterpret_cast<PyNode*>(o)->node; }

PyObject* wrap_node(Node* n) {
  if (n->wrapper) {
    release(n);
    return Py_NewRef(static_cast<PyObject*>(n->wrapper));
  }
  auto* p = PyObject_GC_New(PyNode, node_type);
  if (!p) return release(n), nullptr;
  p->node = n, n->wrapper = p;
  PyObject_GC_Track(p);
  return reinterpret_cast<PyObject*>(p);
}

PyTypeObject* make_node_type() {
  run_python_node = run_node, run_python_node_recorded = run_node_recorded;
  context_name = [](void* c) { return std::string(Py_TYPE(static_cast<PyObject*>(c))->tp_name); };
  release_context = [](void* c) { let_go(static_cast<PyObject*>(c)); };
  static PyType_Slot slots[] = {{Py_tp_dealloc, slot(dealloc)},
                                {Py_tp_repr, slot(represent)},
                                {Py_tp_methods, methods},
                                {Py_tp_getset, getset},
                                {Py_tp_traverse, slot(traverse)},
                                {Py_tp_clear, slot(clear)},
                                {0, nullptr}};
  static PyType_Spec spec = {"perflab.runtime.Node", sizeof(PyNode), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  return node_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
}

// attach(outputs, ctx, inputs, saved): ctx becomes the history of the outputs. inputs: a Tensor or None per argument of
// the function. Gives the saved tensors that ctx must keep itself (they are neither inputs nor outputs), None for the
// others.
PyObject* attach(PyObject* outputs, PyObject* ctx, PyObject* inputs, PyObject* saved) {
  Py_ssize_t nout = PyTuple_GET_SIZE(outputs), nin = PyTuple_GET_SIZE(inputs), nsaved = PyTuple_GET_SIZE(saved);
  auto node = Ref(make_node(static_cast<int>(nin), static_cast<int>(nsaved), static_cast<int>(nout), 0));
  node->context = Py_NewRef(ctx), node->reaches_python = true;
  auto wanted = [](PyObject* o) { return o != Py_None && impl_of(o)->requires_grad; };
  for (Py_ssize_t i = 0; i < nin; ++i)
    if (wanted(PyTuple_GET_ITEM(inputs, i)))
      set_edge(node.get(), static_cast<int>(i), impl_of(PyTuple_GET_ITEM(inputs, i)));
  node->sequence = sequence_after(sequence_behind(node.get()));
  node->keeps_values = nsaved > 0;
  PyObject* elsewhere = PyTuple_New(nsaved);
  for (Py_ssize_t k = 0; elsewhere && k < nsaved; ++k) {
    PyObject* s = PyTuple_GET_ITEM(saved, k);
    int which = kElsewhere;
    for (Py_ssize_t i = 0; i < nin; ++i)
      if (PyTuple_GET_ITEM(inputs, i) == s) which = static_cast<int>(i);
    for (Py_ssize_t i = 0; i < nout; ++i)
      if (PyTuple_GET_ITEM(outputs, i) == s) which = -1 - static_cast<int>(i);
    bool keeps = s != Py_None && which == kElsewhere;
    if (s != Py_None && !keeps) save(node->saved() + k, *impl_of(s), which, false);
    if (s == Py_None || keeps) node->saved()[k].which = kElsewhere;
    PyTuple_SET_ITEM(elsewhere, k, Py_NewRef(keeps ? s : Py_None));
  }
  if (node_made) node_made(node.get());
  for (Py_ssize_t k = 0; k < nout; ++k) {
    PyObject* o = PyTuple_GET_ITEM(outputs, k);
    TensorImpl* t = impl_of(o);
    if (kind(t->dtype) != DKind::kFloat) continue;
    if (t->grad_fn) release(t->grad_fn);
    t->grad_fn = Ref<Node>(node).take(), t->output = static_cast<uint32_t>(k), t->requires_grad = true;
    track(o);
  }
  return elsewhere;
}

}  // namespace perflab
