// What Python calls of the recorder in every step: Annotation, the context manager that names a part of the program on
// the timeline, and a few functions. Written against the C API they cost a third.
#include <cstddef>
#include <cstring>

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

PyObject* now(PyObject*, PyObject*) { return PyLong_FromLongLong(ticks()); }

PyObject* set_scope(PyObject*, PyObject* scope) {
  unsigned long number = PyLong_AsUnsignedLong(scope);
  if (number == static_cast<unsigned long>(-1) && PyErr_Occurred()) return nullptr;
  return PyLong_FromUnsignedLong(std::exchange(current_scope, static_cast<uint32_t>(number)));
}

PyObject* record_composite(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 2) {
    PyErr_SetString(PyExc_TypeError, "record_composite takes a name's number and a tick");
    return nullptr;
  }
  unsigned long name = PyLong_AsUnsignedLong(args[0]);
  long long began = PyLong_AsLongLong(args[1]);
  if (PyErr_Occurred()) return nullptr;
  if (is_recording()) record(EventKind::kComposite, static_cast<uint32_t>(name), began, ticks());
  Py_RETURN_NONE;
}

PyCFunction fast(PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t)) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

}  // namespace

PyMethodDef recorder_functions[] = {{"is_recording", is_on, METH_NOARGS, nullptr},
                                    {"recorder_ticks", now, METH_NOARGS, nullptr},
                                    {"set_scope", set_scope, METH_O, nullptr},
                                    {"record_composite", fast(record_composite), METH_FASTCALL, nullptr},
                                    {}};

PyTypeObject* make_annotation_type() {
  static PyMethodDef methods[] = {
      {"__enter__", enter, METH_NOARGS, nullptr}, {"__exit__", fast(leave), METH_FASTCALL, nullptr}, {}};
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
  return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
}

}  // namespace perflab
