// Functions whose both directions are Python (runtime/autograd/function.py), as nodes of the graph.
#include "device.h"
#include "history.h"
#include "modes.h"
#include "py.h"

namespace perflab {
namespace {

// ctx._run_backward(node, gradients) -> a tuple with a Tensor or None per edge
PyObject* call_backward(Node* n, PyObject* gradients) {  // takes the reference of gradients
  retain(n);
  PyObject* node = wrap_node(n);
  PyObject* r = node && gradients
                    ? PyObject_CallMethod(static_cast<PyObject*>(n->context), "_run_backward", "OO", node, gradients)
                    : nullptr;
  Py_XDECREF(node);
  Py_XDECREF(gradients);
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
  PyObject* r = call_backward(n, args);
  for (int i = 0; i < n->nedges; ++i) {
    PyObject* v = PyTuple_GET_ITEM(r, i);
    if (v != Py_None) outs[i] = Array(*impl_of(v));
  }
  Py_DECREF(r);
}

void run_node_on_tensors(Node* n, Tensor* cts, Tensor* outs) {
  PyObject* args = PyTuple_New(n->nout);
  for (int k = 0; args && k < n->nout; ++k)
    PyTuple_SET_ITEM(args, k, cts[k] ? wrap(Tensor(cts[k]).take()) : Py_NewRef(Py_None));
  PyObject* r = call_backward(n, args);
  for (int i = 0; i < n->nedges; ++i) {
    PyObject* v = PyTuple_GET_ITEM(r, i);
    if (v != Py_None) outs[i] = Tensor::share(impl_of(v));
  }
  Py_DECREF(r);
}

int index_in(PyObject* tuple, PyObject* o) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i)
    if (PyTuple_GET_ITEM(tuple, i) == o) return static_cast<int>(i);
  return -1;
}

void save_one(Node* n, int k, PyObject* value, PyObject* inputs, PyObject* outputs) {
  Saved& s = n->saved()[k];
  s.which = kElsewhere;
  if (value == Py_None) return;
  TensorImpl* t = impl_of(value);
  if (t->inference)
    throw Error(ErrorKind::kAutograd,
                backward_name(n) +
                    ": inference tensors cannot be saved for backward: take a copy() of it outside of "
                    "inference_mode()");
  int input = index_in(inputs, value), output = index_in(outputs, value);
  save(&s, *t, output >= 0 ? -1 - output : input >= 0 ? input : kAlone, false);
  n->keeps_values = true;
}

// From None, a leaf, or (node, output number); borrowed.
Edge edge_from(PyObject* to) {
  if (to == Py_None) return {};
  if (is_tensor(to)) return {nullptr, impl_of(to)};
  return {node_of(PyTuple_GET_ITEM(to, 0)), nullptr,
          static_cast<uint32_t>(PyLong_AsUnsignedLong(PyTuple_GET_ITEM(to, 1)))};
}

void set_given_edge(Node* n, int i, PyObject* to) {
  Edge& e = n->edges()[i] = edge_from(to);
  if (e.node) retain(e.node);
  if (e.leaf) retain(e.leaf);
}

Edge place_in_context(Node* n, int k) {
  PyObject* places = PyObject_GetAttrString(static_cast<PyObject*>(n->context), "_places");
  if (!places) throw PythonError();
  Edge place = edge_from(PyTuple_GET_ITEM(places, k));
  Py_DECREF(places);  // the context holds them
  return place;
}

// What becomes of an output.
enum Fate : long { kPlain, kNoGradient, kChanged };  // kChanged: an input, changed in place

void give_history(Node* n, TensorImpl* t, uint32_t output, Fate fate) {
  if (fate != kNoGradient && kind(t->dtype) == DKind::kComplex)
    throw Error(ErrorKind::kAutograd, backward_name(n) + ": output " + std::to_string(output) + " is " +
                                          name(t->dtype) +
                                          ", and complex tensors carry no gradients: mark it as not differentiable");
  if (fate == kNoGradient || kind(t->dtype) != DKind::kFloat) return;
  const Program* slices = nullptr;
  if (fate == kChanged) check_in_place(t, backward_name(n) + ": "), slices = slices_program(t);
  Ref<Node> node = Ref<Node>::share(n);
  if (fate == kChanged) return set_history(t, node.take(), output, slices);
  if (t->grad_fn) release(t->grad_fn);
  t->grad_fn = node.take(), t->output = output, t->requires_grad = true;
}

}  // namespace

// attach_function(ctx, edges, inputs, outputs, fates, saved): ctx becomes the history of the outputs.
// edges: for each argument None, a leaf, or (node, output number), as they were before forward ran; inputs, outputs:
// Tensors or None; saved: what save_for_backward got.
PyObject* attach_function(PyObject*, PyObject* args) {
  PyObject *ctx, *edges, *inputs, *outputs, *fates, *saved;
  if (!PyArg_ParseTuple(args, "OO!O!O!O!O!", &ctx, &PyTuple_Type, &edges, &PyTuple_Type, &inputs, &PyTuple_Type,
                        &outputs, &PyTuple_Type, &fates, &PyTuple_Type, &saved))
    return nullptr;
  int nin = static_cast<int>(PyTuple_GET_SIZE(edges)), nout = static_cast<int>(PyTuple_GET_SIZE(outputs)),
      nsaved = static_cast<int>(PyTuple_GET_SIZE(saved));
  try {
    Ref<Node> node(make_node(nin, nsaved, nout, 0));
    node->context = Py_NewRef(ctx), node->reaches_python = true;
    for (int i = 0; i < nin; ++i) set_given_edge(node.get(), i, PyTuple_GET_ITEM(edges, i));
    node->sequence = sequence_after(sequence_behind(node.get()));
    for (int k = 0; k < nsaved; ++k) save_one(node.get(), k, PyTuple_GET_ITEM(saved, k), inputs, outputs);
    if (nout && PyTuple_GET_ITEM(outputs, 0) != Py_None && impl_of(PyTuple_GET_ITEM(outputs, 0))->device)
      node->device = impl_of(PyTuple_GET_ITEM(outputs, 0))->device,
      node->stream = device(node->device).current_stream();
    announce(node.get());
    for (int k = 0; k < nout; ++k) {
      PyObject* o = PyTuple_GET_ITEM(outputs, k);
      if (o == Py_None) continue;
      give_history(node.get(), impl_of(o), static_cast<uint32_t>(k),
                   static_cast<Fate>(PyLong_AsLong(PyTuple_GET_ITEM(fates, k))));
      track(o);
    }
  } catch (...) {
    return raise_current();
  }
  Py_RETURN_NONE;
}

// saved_tensors(node): what its save_for_backward got, each with its place in the graph.
PyObject* saved_tensors(PyObject*, PyObject* o) {
  Node* n = node_of(o);
  PyObject* tuple = PyTuple_New(n->nsaved);
  try {
    for (int k = 0; tuple && k < n->nsaved; ++k) {
      const Saved& s = n->saved()[k];
      if (s.which != kElsewhere && !s.storage)
        throw Error(ErrorKind::kAutograd,
                    backward_name(n) +
                        ": its saved tensors were freed by a backward pass through the graph. Pass "
                        "retain_graph=True to that backward()");
      PyObject* t = s.which == kElsewhere ? Py_NewRef(Py_None) : wrap(rejoin(n, k).take());
      if (!t) throw PythonError();
      PyTuple_SET_ITEM(tuple, k, t);
    }
  } catch (...) {
    Py_DECREF(tuple);
    return raise_current();
  }
  return tuple;
}

PyMethodDef function_functions[] = {
    {"attach_function", attach_function, METH_VARARGS, nullptr}, {"saved_tensors", saved_tensors, METH_O, nullptr}, {}};

void set_function_calls() {
  run_python_node = run_node, run_python_node_recorded = run_node_on_tensors, place_of_alone = place_in_context;
  context_name = [](void* c) { return std::string(Py_TYPE(static_cast<PyObject*>(c))->tp_name); };
}

}  // namespace perflab
