// Where Python starts a backward pass.
#include <thread>

#include "history.h"
#include "py.h"

namespace perflab {
namespace {

PyObject* autograd_type() { return error_types[static_cast<int>(ErrorKind::kAutograd)]; }

struct Start {  // a request, and what keeps alive what it borrows
  Request request;
  std::vector<Tensor> tensors, gradients;  // null gradient: ones
  std::vector<Ref<Node>> nodes;
  bool create_graph = false;

  Edge edge_of(TensorImpl* t) {
    tensors.push_back(Tensor::share(t));
    Node* n = history(t);
    if (!n) return {nullptr, t, 0};
    nodes.push_back(Ref<Node>::share(n));
    return {n, nullptr, t->output};
  }
};

void add_root(Start& s, PyObject* root, PyObject* gradient) {
  if (!is_tensor(root)) throw Error(ErrorKind::kAutograd, std::string("backward() of a ") + Py_TYPE(root)->tp_name);
  TensorImpl* t = impl_of(root);
  if (!needs_gradient(t))
    throw Error(ErrorKind::kAutograd, "backward() of a tensor that does not require grad and has no grad_fn");
  Tensor ct;
  if (gradient != Py_None) {
    if (!is_tensor(gradient)) {
      PyErr_Format(PyExc_TypeError, "gradient must be a Tensor, not %.80s", Py_TYPE(gradient)->tp_name);
      throw PythonError();
    }
    ct = Tensor::share(impl_of(gradient));
    if (!same_shape(*ct, *t) || ct->dtype != t->dtype)
      throw Error(ErrorKind::kAutograd, std::string("gradient is ") + name(ct->dtype) + " " + show(*ct) +
                                            ", but the tensor is " + name(t->dtype) + " " + show(*t));
  } else if (t->numel != 1) {
    throw Error(ErrorKind::kAutograd,
                "backward() without gradient= needs a tensor with one element, this one has shape " + show(*t));
  } else {
    ct = Tensor(make_tensor(ones(*t)));
  }
  s.request.roots.push_back(s.edge_of(t));
  s.gradients.push_back(std::move(ct));
}

// One for each input, null where none came; empty where all went into the leaves.
std::vector<Tensor> run_here(Start& s) {
  if (s.create_graph) return backward_recorded(s.request, std::move(s.gradients));
  std::vector<Array> cts;
  for (Tensor& t : s.gradients) cts.emplace_back(*t);
  s.gradients.clear();
  std::vector<Tensor> found;
  LateGil gil;
  for (Array& a : backward(s.request, std::move(cts)))
    found.push_back(defined(a) ? Tensor(make_tensor(std::move(a))) : Tensor());
  return found;
}

thread_local int depth = 0;  // of passes within passes on this thread

// A pass within many passes runs on a thread of its own, whose stack is empty. The caller waits.
std::vector<Tensor> run_on_new_thread(Start& s) {
  std::vector<Tensor> found;
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  bool recording_gradients = grad_enabled;
  PyThreadState* mine = PyEval_SaveThread();
  std::thread([&] {
    PyGILState_STATE gil = PyGILState_Ensure();
    grad_enabled = recording_gradients;
    depth = 1;
    try {
      found = run_here(s);
    } catch (...) {
      raise_current();
      PyErr_Fetch(&type, &value, &trace);
    }
    PyGILState_Release(gil);
  }).join();
  PyEval_RestoreThread(mine);
  if (!type) return found;
  PyErr_Restore(type, value, trace);
  throw PythonError();
}

std::vector<Tensor> run(Start& s) {
  constexpr int kDeep = 60;
  if (depth >= kDeep) return run_on_new_thread(s);
  struct Deeper {
    Deeper() { ++depth; }
    ~Deeper() { --depth; }
  } deeper;
  return run_here(s);
}

}  // namespace

// run_backward(tensors, gradients, keep_graph, create_graph, inputs, into_leaves): a Tensor or None for each of the
// inputs, which are all different; an empty tuple where gradients go into the leaves.
PyObject* run_backward(PyObject*, PyObject* args) {
  PyObject *roots, *gradients, *inputs;
  int keep, create_graph, into_leaves;
  if (!PyArg_ParseTuple(args, "O!O!ppO!p", &PyTuple_Type, &roots, &PyTuple_Type, &gradients, &keep, &create_graph,
                        &PyTuple_Type, &inputs, &into_leaves))
    return nullptr;
  try {
    Start s;
    s.request.keep_graph = keep, s.request.into_leaves = into_leaves, s.create_graph = create_graph;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(roots); ++i)
      add_root(s, PyTuple_GET_ITEM(roots, i), PyTuple_GET_ITEM(gradients, i));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); ++i)
      s.request.inputs.push_back(s.edge_of(impl_of(PyTuple_GET_ITEM(inputs, i))));
    std::vector<Tensor> found = run(s);
    Py_ssize_t n = into_leaves ? 0 : PyTuple_GET_SIZE(inputs);
    PyObject* result = PyTuple_New(n);
    for (Py_ssize_t i = 0; result && i < n; ++i)
      PyTuple_SET_ITEM(result, i, found[i] ? wrap(found[i].take()) : Py_NewRef(Py_None));
    return result;
  } catch (...) {
    return raise_current();
  }
}

PyObject* backward_method(PyObject* o, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"gradient", "retain_graph", "create_graph", "inputs", nullptr};
  PyObject *gradient = Py_None, *retain_graph = Py_None, *inputs = Py_None;
  int create_graph = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOpO:backward", const_cast<char**>(names), &gradient, &retain_graph,
                                   &create_graph, &inputs))
    return nullptr;
  if (inputs != Py_None) {  // rarer, and in Python: runtime/autograd/backward.py
    PyObject* module = PyImport_ImportModule("perflab.runtime.autograd");
    PyObject* r =
        module ? PyObject_CallMethod(module, "backward", "OOOiO", o, gradient, retain_graph, create_graph, inputs)
               : nullptr;
    Py_XDECREF(module);
    return r;
  }
  int keep = retain_graph == Py_None ? create_graph : PyObject_IsTrue(retain_graph);
  if (keep < 0) return nullptr;
  try {
    Start s;
    s.request.keep_graph = keep, s.create_graph = create_graph;
    add_root(s, o, gradient);
    run(s);
  } catch (...) {
    return raise_current();
  }
  Py_RETURN_NONE;
}

// current_pass(): the number of the backward pass that this thread is in, 0 none.
PyObject* python_current_pass(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(current_pass()); }

// pass_reaches(tensor): whether a gradient can come to it in the pass that this thread is in.
PyObject* python_pass_reaches(PyObject*, PyObject* o) {
  if (!is_tensor(o)) return PyErr_Format(PyExc_TypeError, "expected a Tensor, not a %.80s", Py_TYPE(o)->tp_name);
  try {
    TensorImpl* t = impl_of(o);
    Node* n = history(t);
    return PyBool_FromLong(pass_reaches(n ? Edge{n, nullptr, t->output} : Edge{nullptr, t, 0}));
  } catch (...) {
    return raise_current();
  }
}

PyMethodDef backward_functions[] = {{"run_backward", run_backward, METH_VARARGS, nullptr},
                                    {"current_pass", python_current_pass, METH_NOARGS, nullptr},
                                    {"pass_reaches", python_pass_reaches, METH_O, nullptr},
                                    {}};

}  // namespace perflab
