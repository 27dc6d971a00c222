// Where Python starts a backward pass.
#include <thread>

#include "history.h"
#include "modes.h"
#include "py.h"
#include "py_restore.h"

namespace perflab {
namespace {

// A tensor in the graph, kept alive with its node.
struct Place {
  Tensor tensor;
  Ref<Node> node;
  Edge edge;

  explicit Place(TensorImpl* t) : tensor(Tensor::share(t)), node(Ref<Node>::share(history(t))) {
    edge = node ? Edge{node.get(), nullptr, t->output} : Edge{nullptr, t, 0};
  }
};

// Checked to be one for this tensor; null: ones.
Tensor gradient_for(TensorImpl* t, PyObject* gradient) {
  if (!needs_gradient(t))
    throw Error(ErrorKind::kAutograd, "backward() of a tensor that does not require grad and has no grad_fn");
  if (gradient == Py_None) {
    if (t->numel != 1)
      throw Error(ErrorKind::kAutograd,
                  "backward() without gradient= needs a tensor with one element, this one has shape " + show(*t));
    return {};
  }
  if (!is_tensor(gradient)) {
    PyErr_Format(PyExc_TypeError, "gradient must be a Tensor, not %.80s", Py_TYPE(gradient)->tp_name);
    throw PythonError();
  }
  TensorImpl* ct = impl_of(gradient);
  if (!same_shape(*ct, *t) || ct->dtype != t->dtype)
    throw Error(ErrorKind::kAutograd, std::string("gradient is ") + name(ct->dtype) + " " + show(*ct) +
                                          ", but the tensor is " + name(t->dtype) + " " + show(*t));
  return Tensor::share(ct);
}

Array array_for(TensorImpl* t, PyObject* gradient) {
  Tensor ct = gradient_for(t, gradient);
  return ct ? Array(*ct) : filled(*t, 1);
}

thread_local int depth = 0;  // of passes within passes on this thread

// A pass within many passes runs on a thread of its own, whose stack is empty. The caller waits.
template <class F>
void run_on_new_thread(F pass) {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  ThreadModes modes_here;
  PyThreadState* mine = PyEval_SaveThread();
  std::thread([&] {
    PyGILState_STATE gil = PyGILState_Ensure();
    modes_here.put_on();
    depth = 1;
    try {
      pass();
    } catch (...) {
      raise_current();
      PyErr_Fetch(&type, &value, &trace);
    }
    modes_here.take_off();
    PyGILState_Release(gil);
  }).join();
  restore_thread(mine);
  if (!type) return;
  PyErr_Restore(type, value, trace);
  throw PythonError();
}

template <class F>
void run(F pass) {
  constexpr int kDeep = 60;
  if (depth >= kDeep) return run_on_new_thread(pass);
  struct Deeper {
    Deeper() { ++depth; }
    ~Deeper() { --depth; }
  } deeper;
  pass();
}

// Gives one for each input, null where none came; empty where all went into the leaves.
std::vector<Tensor> run_several(const Request& request, PyObject* roots, PyObject* gradients, bool create_graph) {
  std::vector<Tensor> found;
  auto each = [&](auto make) {
    std::vector<decltype(make(nullptr, nullptr))> cts;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(roots); ++i)
      cts.push_back(make(impl_of(PyTuple_GET_ITEM(roots, i)), PyTuple_GET_ITEM(gradients, i)));
    return cts;
  };
  WithoutModes no_casts(kAutocast);  // backward computes in the dtypes of forward
  if (create_graph || modes & kDispatch) {
    auto cts = each([](TensorImpl* t, PyObject* g) {
      Tensor ct = gradient_for(t, g);
      return ct ? ct : Tensor(make_tensor(filled(*t, 1)));
    });
    run([&] { found = backward_on_tensors(request, cts, create_graph); });
    return found;
  }
  auto cts = each(array_for);
  run([&] {
    LateGil gil;
    for (Array& a : backward(request, cts)) found.push_back(defined(a) ? Tensor(make_tensor(std::move(a))) : Tensor());
  });
  return found;
}

std::vector<Place> places(PyObject* tensors) {
  std::vector<Place> all;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tensors); ++i) {
    PyObject* o = PyTuple_GET_ITEM(tensors, i);
    if (!is_tensor(o)) throw Error(ErrorKind::kAutograd, std::string("a gradient of a ") + Py_TYPE(o)->tp_name);
    all.emplace_back(impl_of(o));
  }
  return all;
}

std::vector<Edge> edges(const std::vector<Place>& places) {
  std::vector<Edge> all;
  for (const Place& p : places) all.push_back(p.edge);
  return all;
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
    std::vector<Place> from = places(roots), to = places(inputs);
    std::vector<Edge> from_edges = edges(from), to_edges = edges(to);
    Request request{from_edges, to_edges, into_leaves != 0, keep != 0};
    std::vector<Tensor> found = run_several(request, roots, gradients, create_graph);
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
  if (create_graph || inputs != Py_None ||
      modes & kDispatch) {  // slower things, and in Python: runtime/autograd/backward.py
    PyObject* module = PyImport_ImportModule("perflab.runtime.autograd");
    PyObject* r = module ? PyObject_CallMethod(module, "backward", "OOOOO", o, gradient, retain_graph,
                                               create_graph ? Py_True : Py_False, inputs)
                         : nullptr;
    Py_XDECREF(module);
    return r;
  }
  int keep = retain_graph == Py_None ? 0 : PyObject_IsTrue(retain_graph);
  if (keep < 0) return nullptr;
  try {
    Array ct = array_for(impl_of(o), gradient);
    Place root(impl_of(o));
    Request request{{&root.edge, 1}, {}, true, keep != 0};
    run([&] {
      LateGil gil;
      backward(request, {&ct, 1});
    });
  } catch (...) {
    return raise_current();
  }
  Py_RETURN_NONE;
}

// current_pass(): the number of the backward pass that this thread is in, 0 none.
PyObject* python_current_pass(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(current_pass()); }

// running_node(): the number of the node that this thread's backward pass runs, or ran last; 0 none.
PyObject* python_running_node(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(running_node()); }

// next_node(): nodes that this thread makes from now on have at least this number, earlier ones have lower ones.
PyObject* python_next_node(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(next_sequence_at_least()); }

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
                                    {"running_node", python_running_node, METH_NOARGS, nullptr},
                                    {"next_node", python_next_node, METH_NOARGS, nullptr},
                                    {"pass_reaches", python_pass_reaches, METH_O, nullptr},
                                    {}};

}  // namespace perflab
