// Hooks: which run, and in which order, is Python's to say (runtime/autograd/hooks.py); here the engine calls it.
#include "history.h"
#include "py.h"

namespace perflab {

namespace {

PyObject* tuple_of(std::span<const Tensor> tensors) {
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(tensors.size()));
  if (!tuple) throw PythonError();
  for (size_t i = 0; i < tensors.size(); ++i)
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i),
                     tensors[i] ? wrap(Tensor(tensors[i]).take()) : Py_NewRef(Py_None));
  return tuple;
}

Tensor tensor_or_null(PyObject* o) { return is_tensor(o) ? Tensor::share(impl_of(o)) : Tensor(); }

// hooks.run(when, gradients, of_outputs) -> gradients
void run_of_node(Node* n, HookTime when, std::span<Tensor> gradients, std::span<const Tensor> of_outputs) {
  Gil gil("hooks of " + backward_name(n));
  PyObject* hooks = Py_NewRef(static_cast<PyObject*>(n->hooks));
  PyObject* r =
      PyObject_CallMethod(hooks, "run", "iNN", static_cast<int>(when), tuple_of(gradients), tuple_of(of_outputs));
  Py_DECREF(hooks);
  if (!r) throw PythonError();
  for (size_t i = 0; i < gradients.size(); ++i)
    gradients[i] = tensor_or_null(PyTuple_GET_ITEM(r, static_cast<Py_ssize_t>(i)));
  Py_DECREF(r);
}

// hooks.run(gradient) -> gradient
Tensor run_of_leaf(TensorImpl* leaf, Tensor gradient) {
  Gil gil("hooks of a leaf");
  if (!leaf->hooks) return gradient;
  PyObject* hooks = Py_NewRef(static_cast<PyObject*>(leaf->hooks));
  PyObject* r = PyObject_CallMethod(hooks, "run", "N", wrap(gradient.take()));
  Py_DECREF(hooks);
  if (!r) throw PythonError();
  Tensor result = tensor_or_null(r);
  Py_DECREF(r);
  return result;
}

// hooks.accumulated(leaf)
void run_accumulated(TensorImpl* leaf) {
  Gil gil("hooks of a leaf");
  if (!leaf->hooks) return;
  PyObject* hooks = Py_NewRef(static_cast<PyObject*>(leaf->hooks));
  retain(leaf);
  PyObject* r = PyObject_CallMethod(hooks, "accumulated", "N", wrap(leaf));
  Py_DECREF(hooks);
  if (!r) throw PythonError();
  Py_DECREF(r);
}

// hooks.move_retained(output, to, to_output)
void move_retained(Node* from, uint32_t output, Node* to, uint32_t to_output) {
  Gil gil("hooks of " + backward_name(from));
  retain(to);
  PyObject* r = PyObject_CallMethod(static_cast<PyObject*>(from->hooks), "move_retained", "INI", output, wrap_node(to),
                                    to_output);
  if (!r) throw PythonError();
  Py_DECREF(r);
}

void release_of_tensor(TensorImpl* t) {
  leaves_with_hooks.fetch_sub(1, std::memory_order_relaxed);
  let_go(static_cast<PyObject*>(t->hooks));
}

PyObject* or_none(void* hooks) { return Py_NewRef(hooks ? static_cast<PyObject*>(hooks) : Py_None); }

}  // namespace

PyObject* get_tensor_hooks(PyObject* o, void*) { return or_none(impl_of(o)->hooks); }
PyObject* get_node_hooks(PyObject* o, void*) { return or_none(node_of(o)->hooks); }

int set_tensor_hooks(PyObject* o, PyObject* v, void*) {
  TensorImpl* t = impl_of(o);
  void* old = t->hooks;
  t->hooks = v && v != Py_None ? Py_NewRef(v) : nullptr;
  leaves_with_hooks.fetch_add((t->hooks != nullptr) - (old != nullptr), std::memory_order_relaxed);
  Py_XDECREF(static_cast<PyObject*>(old));
  if (t->hooks) track(o);
  return 0;
}

int set_node_hooks(PyObject* o, PyObject* v, void*) {
  Node* n = node_of(o);
  if (n->hooks || !v) return PyErr_SetString(PyExc_AttributeError, "a node's hooks are set once"), -1;
  n->hooks = Py_NewRef(v);
  n->reaches_python = true;
  nodes_with_hooks.fetch_add(1, std::memory_order_relaxed);
  return 0;
}

void set_hook_calls() {
  run_node_hooks = run_of_node, run_leaf_hooks = run_of_leaf, run_accumulated_hooks = run_accumulated;
  move_retained_grad = move_retained, release_hooks = release_of_tensor;
  check_signals = [] {
    Gil gil("signals");
    if (PyErr_CheckSignals() < 0) throw PythonError();
  };
}

}  // namespace perflab
