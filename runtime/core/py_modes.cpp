// Modes whose work is Python's: dispatch modes, saved-tensor hooks, anomaly detection.
#include "device.h"
#include "modes.h"
#include "pass.h"
#include "py.h"

namespace perflab {
namespace {

// --- dispatch modes
std::vector<PyObject*>& dispatch_stack() {  // of this thread, the innermost last; counted
  static thread_local std::vector<PyObject*> stack;
  return stack;
}

void push_mode(PyObject* mode) {
  dispatch_stack().push_back(Py_NewRef(mode));
  modes |= kDispatch;
}

PyObject* pop_mode() {  // the caller's reference
  PyObject* mode = dispatch_stack().back();
  dispatch_stack().pop_back();
  if (dispatch_stack().empty()) modes &= ~kDispatch;
  return mode;
}

PyObject* number(const Array& a) {
  switch (kind(a.dtype)) {
    case DKind::kBool:
      return PyBool_FromLong(*a.as<bool>());
    case DKind::kInt:
      return PyLong_FromLongLong(scalar_as<int64_t>(a));
    case DKind::kComplex: {
      auto z = scalar_as<std::complex<double>>(a);
      return PyComplex_FromDoubles(z.real(), z.imag());
    }
    default:
      return PyFloat_FromDouble(scalar_as<double>(a));
  }
}

PyObject* arguments(const Op& op, const Operand* in, int nin) {
  PyObject* tuple = PyTuple_New(nin);
  for (int i = 0; tuple && i < nin; ++i)
    PyTuple_SET_ITEM(tuple, i, in[i].tensor ? wrap(Tensor::share(in[i].tensor).take()) : number(*in[i].array));
  return tuple && op.list() ? Py_BuildValue("(N)", tuple) : tuple;
}

PyObject* handle_of(const Op& op, bool in_place) {
  if (in_place) return make_handle(const_cast<Op&>(op), true);
  return PyObject_GetAttrString(static_cast<PyObject*>(op.record), "handle");
}

void take_results(PyObject* mode, const Op& op, PyObject* result, TensorImpl** out, int nout) {
  PyObject* one[] = {result};
  bool sequence = op.outputs && (PyTuple_Check(result) || PyList_Check(result));
  PyObject** items = sequence ? PySequence_Fast_ITEMS(result) : one;
  bool good = (sequence ? PySequence_Fast_GET_SIZE(result) : 1) == nout;
  for (int k = 0; good && k < nout; ++k) good = is_tensor(items[k]);
  if (!good) {
    PyErr_Format(PyExc_TypeError, "%.80s.__dispatch__ must return what %s gives, %d Tensor%s, not %R",
                 Py_TYPE(mode)->tp_name, op.name.c_str(), nout, nout == 1 ? "" : "s", result);
    throw PythonError();
  }
  for (int k = 0; k < nout; ++k) out[k] = Tensor::share(impl_of(items[k])).take();
}

void call_mode(const Op& op, const Operand* in, int nin, const Attrs& attrs, TensorImpl** out, int nout,
               bool in_place) {
  Gil gil("dispatch mode");
  PyObject* mode = pop_mode();
  PyObject *handle = handle_of(op, in_place), *args = arguments(op, in, nin), *kwargs = to_dict(op, attrs);
  PyObject* r =
      handle && args && kwargs ? PyObject_CallMethod(mode, "__dispatch__", "OOO", handle, args, kwargs) : nullptr;
  Py_XDECREF(handle);
  Py_XDECREF(args);
  Py_XDECREF(kwargs);
  push_mode(mode);
  Py_DECREF(mode);
  if (!r) throw PythonError();
  struct Drop {
    PyObject* o;
    ~Drop() { Py_DECREF(o); }
  } drop{r};
  if (!in_place) take_results(mode, op, r, out, nout);
}

PyObject* push_dispatch_mode(PyObject*, PyObject* mode) {
  push_mode(mode);
  Py_RETURN_NONE;
}

PyObject* pop_dispatch_mode(PyObject*, PyObject*) {
  if (dispatch_stack().empty()) return PyErr_SetString(PyExc_RuntimeError, "no dispatch mode is on"), nullptr;
  return pop_mode();
}

// --- what is saved, and how it comes back
thread_local PyObject *pack_hook = nullptr, *unpack_hook = nullptr;  // null: none. Counted
thread_local PyObject* node_callback = nullptr;                      // of anomaly mode

// The packed value takes the place of the memory: a storage without data, whose owner is (unpack, packed).
void pack(Saved& s) {
  PyObject* t = wrap(make_tensor(Array(s)));
  PyObject* packed = t ? PyObject_CallOneArg(pack_hook, t) : nullptr;
  Py_XDECREF(t);
  PyObject* pair = packed ? Py_BuildValue("(ON)", unpack_hook, packed) : nullptr;
  if (!pair) throw PythonError();
  s.drop();
  s.version = 0;
  s.storage = adopt_storage(nullptr, 0, pair, [](Storage* s) { let_go(static_cast<PyObject*>(s->owner)); });
}

Array unpack(Node* n, int k) {
  const Saved& s = n->saved()[k];
  Gil gil("unpack hook of " + backward_name(n));
  GradMode off(false);
  auto* pair = static_cast<PyObject*>(s.storage->owner);
  PyObject* r = PyObject_CallOneArg(PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1));
  if (!r) throw PythonError();
  if (!is_tensor(r)) {
    PyErr_Format(PyExc_TypeError, "an unpack hook must return a Tensor, not a %.80s", Py_TYPE(r)->tp_name);
    Py_DECREF(r);
    throw PythonError();
  }
  Array value(*impl_of(r));
  Py_DECREF(r);
  if (value.dtype != s.dtype || !same_shape(value, s))
    throw Error(ErrorKind::kAutograd, "an unpack hook gave a " + std::string(name(value.dtype)) + " " + show(value) +
                                          ", but what was packed is " + name(s.dtype) + " " + show(s));
  return value;
}

void see_node(Node* n) {
  Gil gil("hooks of what is saved");
  GradMode off(false);
  for (int k = 0; pack_hook && k < n->nsaved; ++k) {
    Saved& s = n->saved()[k];
    if (!s.storage || !s.data) continue;
    n->reaches_python = true;
    pack(s);
  }
  if (!node_callback) return;
  retain(n);
  PyObject* wrapper = wrap_node(n);
  PyObject* r = wrapper ? PyObject_CallOneArg(node_callback, wrapper) : nullptr;
  Py_XDECREF(wrapper);
  if (!r) throw PythonError();
  Py_DECREF(r);
}

void watch_nodes() { node_made = pack_hook || node_callback ? see_node : nullptr; }

PyObject* none_or(PyObject* o) { return Py_NewRef(o ? o : Py_None); }
PyObject* kept(PyObject* o) { return o == Py_None ? nullptr : Py_NewRef(o); }

// set_saved_hooks(pack, unpack) -> the pair before; None: none
PyObject* set_saved_hooks(PyObject*, PyObject* args) {
  PyObject *pack, *unpack;
  if (!PyArg_ParseTuple(args, "OO", &pack, &unpack)) return nullptr;
  PyObject* before = Py_BuildValue("(NN)", none_or(pack_hook), none_or(unpack_hook));
  Py_XDECREF(std::exchange(pack_hook, kept(pack)));
  Py_XDECREF(std::exchange(unpack_hook, kept(unpack)));
  watch_nodes();
  return before;
}

// --- anomaly detection
bool has_nan(const Array& a) {
  if (kind(a.dtype) != DKind::kFloat) return false;
  if (a.device) return has_nan(on_cpu(a));
  Array whole;
  if (a.dtype != DType::kFloat64 || !a.contig) whole = cast(a, DType::kFloat64);
  const double* x = (whole.data ? whole : a).as<double>();
  return std::any_of(x, x + a.numel, [](double v) { return v != v; });
}

// found(node, i): raises, gradient i of the node has a NaN; i == -1: the node itself raised, and goes on to do so.
thread_local PyObject* found_callback = nullptr;

void report(Node* n, int i) {
  retain(n);
  PyObject* wrapper = wrap_node(n);
  PyObject* r = wrapper ? PyObject_CallFunction(found_callback, "Oi", wrapper, i) : nullptr;
  Py_XDECREF(wrapper);
  if (!r) throw PythonError();
  Py_DECREF(r);
}

void check_gradients(Node* n, const Array* const* gradients, int count) {
  for (int i = 0; i < count; ++i)
    if (gradients[i] && has_nan(*gradients[i])) {
      Gil gil("anomaly mode");
      return report(n, i);
    }
}

void tell_failure(Node* n) {
  Gil gil("anomaly mode");
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  report(n, -1);
  PyErr_Restore(type, value, trace);
}

// set_anomaly(made, found, check_nan) -> the three before; None: off
PyObject* set_anomaly(PyObject*, PyObject* args) {
  PyObject *made, *found;
  int check_nan;
  if (!PyArg_ParseTuple(args, "OOp", &made, &found, &check_nan)) return nullptr;
  PyObject* before =
      Py_BuildValue("(NNO)", none_or(node_callback), none_or(found_callback), node_ran ? Py_True : Py_False);
  Py_XDECREF(std::exchange(node_callback, kept(made)));
  Py_XDECREF(std::exchange(found_callback, kept(found)));
  node_failed = found_callback ? tell_failure : nullptr;
  node_ran = found_callback && check_nan ? check_gradients : nullptr;
  watch_nodes();
  return before;
}

// --- autocast and inference mode

// set_autocast(dtype code or -1: off) -> what it was
PyObject* set_autocast(PyObject*, PyObject* code) {
  int before = modes & kAutocast ? static_cast<int>(autocast_dtype) : -1;
  long wanted = PyLong_AsLong(code);
  if (wanted == -1 && PyErr_Occurred()) return nullptr;
  modes = wanted < 0 ? modes & ~kAutocast : modes | kAutocast;
  if (wanted >= 0) autocast_dtype = static_cast<DType>(wanted);
  return PyLong_FromLong(before);
}

// autocast_code(): the dtype's code, -1: it is off
PyObject* autocast_code(PyObject*, PyObject*) {
  return PyLong_FromLong(modes & kAutocast ? static_cast<int>(autocast_dtype) : -1);
}

// lowered(tensor): what autocast makes of it for an op that runs in 16-bit floats; itself when autocast is off.
PyObject* lowered(PyObject*, PyObject* o) {
  if (!(modes & kAutocast) || !is_tensor(o)) return Py_NewRef(o);
  try {
    WithoutModes inside(kAutocast);
    Tensor cast = autocast_input(Autocast::kLower, impl_of(o));
    return cast ? wrap(cast.take()) : Py_NewRef(o);
  } catch (...) {
    return raise_current();
  }
}

PyObject* forget_casts(PyObject*, PyObject*) {
  clear_autocast_cache();
  Py_RETURN_NONE;
}

// set_autocast_family(handle, lower): what autocast does to the op's inputs; else they are cast to float32
PyObject* set_autocast_family(PyObject*, PyObject* args) {
  PyObject* handle;
  int lower;
  if (!PyArg_ParseTuple(args, "Op", &handle, &lower)) return nullptr;
  Op* op = handle_op(handle);
  if (!op) return PyErr_SetString(PyExc_TypeError, "not an op"), nullptr;
  op->autocast = lower ? Autocast::kLower : Autocast::kFloat32;
  Py_RETURN_NONE;
}

// set_inference(on) -> whether it was on
PyObject* set_inference(PyObject*, PyObject* on) {
  bool before = modes & kInference;
  modes = on == Py_True ? modes | kInference : modes & ~kInference;
  return PyBool_FromLong(before);
}

}  // namespace

PyMethodDef mode_functions[] = {{"push_dispatch_mode", push_dispatch_mode, METH_O, nullptr},
                                {"pop_dispatch_mode", pop_dispatch_mode, METH_NOARGS, nullptr},
                                {"set_saved_hooks", set_saved_hooks, METH_VARARGS, nullptr},
                                {"set_anomaly", set_anomaly, METH_VARARGS, nullptr},
                                {"set_autocast", set_autocast, METH_O, nullptr},
                                {"autocast_code", autocast_code, METH_NOARGS, nullptr},
                                {"lowered", lowered, METH_O, nullptr},
                                {"clear_autocast_cache", forget_casts, METH_NOARGS, nullptr},
                                {"set_autocast_family", set_autocast_family, METH_VARARGS, nullptr},
                                {"set_inference", set_inference, METH_O, nullptr},
                                {}};

ThreadModes::ThreadModes()
    : grad_enabled_(grad_enabled),
      modes_(modes),
      scope_(current_scope),
      autocast_dtype_(autocast_dtype),
      made_(node_made),
      ran_(node_ran),
      failed_(node_failed),
      pack_(pack_hook),
      unpack_(unpack_hook),
      node_(node_callback),
      found_(found_callback),
      dispatch_(dispatch_stack()) {}

void ThreadModes::put_on() {
  exchange();
  for (PyObject* o : {pack_hook, unpack_hook, node_callback, found_callback}) Py_XINCREF(o);
  for (PyObject* o : dispatch_stack()) Py_INCREF(o);
}

void ThreadModes::take_off() {
  for (PyObject* o : {pack_hook, unpack_hook, node_callback, found_callback}) Py_XDECREF(o);
  for (PyObject* o : dispatch_stack()) Py_DECREF(o);
  exchange();
}

void ThreadModes::exchange() {
  std::swap(grad_enabled_, grad_enabled), std::swap(modes_, modes), std::swap(scope_, current_scope);
  std::swap(autocast_dtype_, autocast_dtype), std::swap(made_, node_made), std::swap(ran_, node_ran);
  std::swap(failed_, node_failed), std::swap(pack_, pack_hook), std::swap(unpack_, unpack_hook);
  std::swap(node_, node_callback), std::swap(found_, found_callback), std::swap(dispatch_, dispatch_stack());
}

void set_mode_calls() { call_dispatch_mode = call_mode, unpack_saved = unpack; }

}  // namespace perflab
