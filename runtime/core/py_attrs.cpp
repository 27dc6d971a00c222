// Attributes between Python values and the words of Attrs.
#include <algorithm>
#include <bit>

#include "py.h"

namespace perflab {

PyObject* dtype_objects[kDTypes] = {};

int word_count(char kind) { return kind == 't' || kind == 'a' ? 1 + kMaxDim : 1; }

namespace {

bool refuse(const std::string& op, const AttrSig& s, const char* wanted, PyObject* got) {
  PyErr_Format(PyExc_TypeError, "%s: %s must be %s, not %.80s", op.c_str(), s.name.c_str(), wanted,
               Py_TYPE(got)->tp_name);
  return false;
}

bool to_int(PyObject* o, int64_t& v) {
  if (PyLong_CheckExact(o)) {
    v = PyLong_AsLongLong(o);
    return v != -1 || !PyErr_Occurred();
  }
  PyObject* index = PyNumber_Index(o);
  if (!index) return false;
  v = PyLong_AsLongLong(index);
  Py_DECREF(index);
  return v != -1 || !PyErr_Occurred();
}

bool to_dtype(const std::string& op, PyObject* o, int64_t& v) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    for (int d = 0; d < kDTypes; ++d)
      if (dtype_objects[d] == o) {
        v = d;
        if (attempt) Py_DECREF(o);
        return true;
      }
    if (attempt) break;
    PyObject* spec = PyImport_ImportModule("perflab.runtime.spec");  // numpy's dtypes, Python's types, names
    PyObject* found = spec ? PyObject_CallMethod(spec, "as_dtype", "O", o) : nullptr;
    Py_XDECREF(spec);
    if (!found) return false;
    o = found;
  }
  PyErr_Format(PyExc_SystemError, "%s: as_dtype gave something that is no dtype", op.c_str());
  return false;
}

}  // namespace

bool items_to_words(const std::string& op, const AttrSig& s, PyObject* const* items, Py_ssize_t n, int64_t* words) {
  if (n > kMaxDim) {
    PyErr_Format(PyExc_ValueError, "%s: %s has %zd items, at most %d are possible", op.c_str(), s.name.c_str(), n,
                 kMaxDim);
    return false;
  }
  words[0] = n;
  for (Py_ssize_t i = 0; i < kMaxDim; ++i) {  // all words are written: programs are looked up by them
    words[1 + i] = 0;
    if (i < n && !to_int(items[i], words[1 + i])) {
      PyErr_Clear();
      return refuse(op, s, "ints", items[i]);
    }
  }
  return true;
}

bool to_words(const std::string& op, const AttrSig& s, PyObject* o, int64_t* words) {
  switch (s.kind) {
    case 'i':
      if (o == Py_None) return words[0] = kNone, true;
      if (to_int(o, words[0])) return true;
      if (PyErr_ExceptionMatches(PyExc_OverflowError)) return false;
      PyErr_Clear();
      return refuse(op, s, "an int", o);
    case 'b': {
      int truth = PyObject_IsTrue(o);
      words[0] = truth;
      return truth >= 0;
    }
    case 'f': {
      double v = PyFloat_AsDouble(o);
      if (v == -1 && PyErr_Occurred()) return PyErr_Clear(), refuse(op, s, "a number", o);
      words[0] = std::bit_cast<int64_t>(v);
      return true;
    }
    case 'd':
      if (o == Py_None) return words[0] = kNone, true;
      return to_dtype(op, o, words[0]);
    default: {
      if (s.kind == 'a' && o == Py_None) {
        std::fill_n(words, 1 + kMaxDim, 0);
        return words[0] = kNone, true;
      }
      if (PyTuple_Check(o) || PyList_Check(o))
        return items_to_words(op, s, PySequence_Fast_ITEMS(o), PySequence_Fast_GET_SIZE(o), words);
      if (PyIndex_Check(o)) return items_to_words(op, s, &o, 1, words);
      return refuse(op, s, s.kind == 'a' ? "None, an int or a tuple of ints" : "a tuple of ints", o);
    }
  }
}

PyObject* shape_tuple(const int64_t* items, int n) {
  PyObject* t = PyTuple_New(n);
  for (int i = 0; t && i < n; ++i) PyTuple_SET_ITEM(t, i, PyLong_FromLongLong(items[i]));
  return t;
}

namespace {
PyObject* from_words(const AttrSig& s, const int64_t* words) {
  if (s.kind != 'f' && s.kind != 'b' && words[0] == kNone) return Py_NewRef(Py_None);
  switch (s.kind) {
    case 'i':
      return PyLong_FromLongLong(words[0]);
    case 'b':
      return PyBool_FromLong(words[0] != 0);
    case 'f':
      return PyFloat_FromDouble(std::bit_cast<double>(words[0]));
    case 'd':
      return Py_NewRef(dtype_objects[words[0]]);
    default:
      return shape_tuple(words + 1, static_cast<int>(words[0]));
  }
}
}  // namespace

PyObject* to_dict(const Op& op, const Attrs& attrs) {
  PyObject* d = PyDict_New();
  for (const AttrSig& s : op.attrs) {
    PyObject* v = d ? from_words(s, attrs.v + s.at) : nullptr;
    if (!v || PyDict_SetItemString(d, s.name.c_str(), v) < 0) {
      Py_XDECREF(v);
      Py_XDECREF(d);
      return nullptr;
    }
    Py_DECREF(v);
  }
  return d;
}

}  // namespace perflab
