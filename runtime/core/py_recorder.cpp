// What Python calls of the recorder in every step: Annotation, the context manager that names a part of the program on
// the timeline, and a few functions. Written against the C API they cost a third.
#include <cstddef>
#include <cstring>

#include "memory_use.h"
#include "py.h"
#include "recorder.h"
#include "structmember.h"

namespace perflab {
namespace {

struct Annotation {
  PyObject_HEAD PyObject* name;
  int64_t began;  // 0: outside of it, or nothing is recorded
};

Annotation* as_annotation(PyObject* o) { return reinterpret_cast<Annotation*>(o); }

// The recorder's number for a text: kept by text, as the same few are entered again and again.
bool number_of(PyObject* text, uint32_t& number) {
  static PyObject* known = PyDict_New();
  if (!known) return false;
  if (PyObject* found = PyDict_GetItemWithError(known, text)) {
    number = static_cast<uint32_t>(PyLong_AsUnsignedLong(found));
    return true;
  }
  if (PyErr_Occurred()) return false;
  // halves of surrogate pairs, which Python's texts may hold, survive
  PyObject* bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
  if (!bytes) return false;
  number = intern({PyBytes_AS_STRING(bytes), static_cast<size_t>(PyBytes_GET_SIZE(bytes))});
  Py_DECREF(bytes);
  PyObject* value = PyLong_FromUnsignedLong(number);
  bool kept = value && PyDict_SetItem(known, text, value) == 0;
  Py_XDECREF(value);
  return kept;
}

PyObject* make_of(PyTypeObject* type, PyObject* name) {
  if (!PyUnicode_Check(name)) {
    const char* dot = std::strrchr(type->tp_name, '.');
    return PyErr_Format(PyExc_TypeError, "%s: the name must be a str, not %s", dot ? dot + 1 : type->tp_name,
                        Py_TYPE(name)->tp_name);
  }
  PyObject* self = type->tp_alloc(type, 0);
  if (self) as_annotation(self)->name = Py_NewRef(name);
  return self;
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  if (!kwargs && PyTuple_GET_SIZE(args) == 1) [[likely]]
    return make_of(type, PyTuple_GET_ITEM(args, 0));
  static const char* names[] = {"name", nullptr};
  PyObject* name;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O", const_cast<char**>(names), &name)) return nullptr;
  return make_of(type, name);
}

// What Annotation(name) and record_function(name) are called by: a third less than by way of a tuple.
PyObject* make_by_vector(PyObject* type, PyObject* const* args, size_t flags, PyObject* names) {
  const Py_ssize_t n = PyVectorcall_NARGS(flags);
  if (n == 1 && !names) [[likely]]
    return make_of(reinterpret_cast<PyTypeObject*>(type), args[0]);
  PyObject *given = PyTuple_New(n), *named = PyDict_New(), *made = nullptr;
  bool packed = given && named;
  for (Py_ssize_t i = 0; packed && i < n; ++i) PyTuple_SET_ITEM(given, i, Py_NewRef(args[i]));
  for (Py_ssize_t i = 0; packed && names && i < PyTuple_GET_SIZE(names); ++i)
    packed = PyDict_SetItem(named, PyTuple_GET_ITEM(names, i), args[n + i]) == 0;
  if (packed) made = make(reinterpret_cast<PyTypeObject*>(type), given, named);
  Py_XDECREF(given), Py_XDECREF(named);
  return made;
}

// A subclass that does not say how its objects are made is called the same way.
PyObject* init_subclass(PyObject* self, PyObject*) {
  auto* type = reinterpret_cast<PyTypeObject*>(self);
  if (type->tp_new == make && type->tp_init == PyBaseObject_Type.tp_init) type->tp_vectorcall = make_by_vector;
  Py_RETURN_NONE;
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_DECREF(as_annotation(self)->name);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* enter(PyObject* self, PyObject*) {
  as_annotation(self)->began = is_recording() ? ticks() : 0;
  return Py_NewRef(self);
}

void record(EventKind kind, uint32_t name, int64_t began, int64_t end) {
  Event& e = next_event();
  e = Event{};
  e.t0 = began, e.t2 = end, e.kind = kind, e.name = name, e.scope = current_scope;
}

PyObject* leave(PyObject* self, PyObject* const*, Py_ssize_t) {
  int64_t began = std::exchange(as_annotation(self)->began, 0);
  uint32_t number;
  if (!began || !is_recording()) Py_RETURN_NONE;
  int64_t end = ticks();
  if (!number_of(as_annotation(self)->name, number)) return nullptr;
  record(EventKind::kAnnotation, number, began, end);
  Py_RETURN_NONE;
}

// --- functions

PyObject* is_on(PyObject*, PyObject*) { return PyBool_FromLong(is_recording()); }

PyObject* number_of_recording(PyObject*, PyObject*) {
  return PyLong_FromUnsignedLong(is_recording() ? recordings.load(std::memory_order_relaxed) : 0);
}

PyObject* now(PyObject*, PyObject*) { return PyLong_FromLongLong(ticks()); }

// function(*args, **kwargs), where args are a number, then these three. One call of C: what Python would do around it
// itself costs three times as much.
bool unpack(const char* name, PyObject* const* args, Py_ssize_t n, uint32_t& number) {
  if (n != 4 || !PyTuple_Check(args[2]) || !PyDict_Check(args[3])) {
    PyErr_Format(PyExc_TypeError, "%s takes a number, a function, a tuple and a dict", name);
    return false;
  }
  unsigned long value = PyLong_AsUnsignedLong(args[0]);
  if (value == static_cast<unsigned long>(-1) && PyErr_Occurred()) return false;
  number = static_cast<uint32_t>(value);
  return true;
}

// The tensors among a module's arguments that no op with a gradient made: what the batch is.
void record_inputs_in(PyObject* tuple) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple) && is_recording(); ++i) {
    PyObject* o = PyTuple_GET_ITEM(tuple, i);
    if (PyTuple_Check(o)) {
      record_inputs_in(o);
    } else if (is_tensor(o)) {
      const TensorImpl* t = impl_of(o);
      if (t->storage && !t->requires_grad) record_use(t->storage, kInput);
    }
  }
}

PyObject* record_inputs(PyObject*, PyObject* tuple) {
  if (!PyTuple_Check(tuple)) return PyErr_Format(PyExc_TypeError, "record_inputs takes a tuple");
  record_inputs_in(tuple);
  Py_RETURN_NONE;
}

PyObject* call_in_scope(PyObject*, PyObject* const* args, Py_ssize_t n) {
  uint32_t scope;
  if (!unpack("call_in_scope", args, n, scope)) return nullptr;
  uint32_t outer = std::exchange(current_scope, scope);
  if (!outer) record_inputs_in(args[2]);
  PyObject* result = PyObject_Call(args[1], args[2], args[3]);
  current_scope = outer;
  return result;
}

PyObject* call_as(EventKind kind, const char* name, PyObject* const* args, Py_ssize_t n) {
  uint32_t number;
  if (!unpack(name, args, n, number)) return nullptr;
  int64_t began = ticks();
  PyObject* result = PyObject_Call(args[1], args[2], args[3]);
  if (is_recording()) record(kind, number, began, ticks());
  return result;
}

PyObject* call_annotated(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return call_as(EventKind::kAnnotation, "call_annotated", args, n);
}

PyObject* call_composite(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return call_as(EventKind::kComposite, "call_composite", args, n);
}

PyCFunction fast(PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t)) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

}  // namespace

PyMethodDef recorder_functions[] = {{"is_recording", is_on, METH_NOARGS, nullptr},
                                    {"recorder_ticks", now, METH_NOARGS, nullptr},
                                    {"recording_number", number_of_recording, METH_NOARGS, nullptr},
                                    {"record_inputs", record_inputs, METH_O, nullptr},
                                    {"call_in_scope", fast(call_in_scope), METH_FASTCALL, nullptr},
                                    {"call_annotated", fast(call_annotated), METH_FASTCALL, nullptr},
                                    {"call_composite", fast(call_composite), METH_FASTCALL, nullptr},
                                    {}};

PyTypeObject* make_annotation_type() {
  static PyMethodDef methods[] = {{"__enter__", enter, METH_NOARGS, nullptr},
                                  {"__exit__", fast(leave), METH_FASTCALL, nullptr},
                                  {"__init_subclass__", init_subclass, METH_NOARGS | METH_CLASS, nullptr},
                                  {}};
  static PyMemberDef members[] = {{"name", T_OBJECT, offsetof(Annotation, name), READONLY, nullptr}, {}};
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("Names what happens in its with block on the timeline, where one is recorded.")},
      {Py_tp_new, slot(make)},
      {Py_tp_dealloc, slot(dealloc)},
      {Py_tp_methods, methods},
      {Py_tp_members, members},
      {0, nullptr}};
  static PyType_Spec spec{"perflab.runtime._core.Annotation", sizeof(Annotation), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  auto* type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (type) type->tp_vectorcall = make_by_vector;
  return type;
}

}  // namespace perflab
