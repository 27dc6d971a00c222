// What Python sees of the graph's nodes.
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

// state: "values", "shape" (only that was saved), "packed" by a hook, or "freed"
PyObject* saved_values(PyObject* o, PyObject*) {
  Node* n = node_of(o);
  PyObject* list = PyList_New(0);
  for (int k = 0; list && k < n->nsaved; ++k) {
    const Saved& s = n->saved()[k];
    if (s.which == kElsewhere) continue;
    bool shape_alone = n->program && static_cast<size_t>(k) < n->program->saves.size() && n->program->saves[k].spec;
    const char* state = shape_alone ? "shape" : s.packed() ? "packed" : s.storage ? "values" : "freed";
    PyObject* which = s.which == kAlone ? Py_NewRef(Py_None) : PyLong_FromLong(s.which);
    PyObject* row =
        Py_BuildValue("(NONs)", which, dtype_objects[static_cast<int>(s.dtype)], shape_tuple(s.shape, s.ndim), state);
    if (!row || PyList_Append(list, row) < 0) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  return list;
}

PyMethodDef methods[] = {{"name", node_name, METH_NOARGS, "The node's name, such as AddBackward0."},
                         {"_sequence_nr", sequence_nr, METH_NOARGS, "Its number: nodes made later have higher ones."},
                         {"_saved", saved_values, METH_NOARGS,
                          "[(input number, -1-k for output k or None, dtype, shape, state)] of what it saved."},
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

}  // namespace perflab
