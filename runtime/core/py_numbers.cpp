// What stands beside a tensor in an operation: numbers of Python and of NumPy, which give way to the tensor's dtype.
#include "py.h"

namespace perflab {

PyObject* numpy_types = nullptr;

namespace {

bool refuse_value(const std::string& what) {
  PyErr_SetString(error_types[static_cast<int>(ErrorKind::kValue)], what.c_str());
  return false;
}

bool to_cell(PyObject* o, Array& cell) {
  if (PyFloat_Check(o)) {
    cell.set_scalar(PyFloat_AS_DOUBLE(o));
  } else if (PyBool_Check(o)) {
    cell.set_scalar(o == Py_True);
  } else if (PyLong_Check(o)) {
    int overflow;
    int64_t v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (!overflow) {
      cell.set_scalar(v);
    } else {
      uint64_t u = overflow > 0 ? PyLong_AsUnsignedLongLong(o) : 0;
      if (overflow < 0 || PyErr_Occurred()) {
        PyErr_Clear();
        return refuse_value("an int needs more than 64 bits, which no integer dtype has: pass a float");
      }
      cell.set_scalar(u);
    }
  } else if (PyComplex_Check(o)) {
    Py_complex z = PyComplex_AsCComplex(o);
    cell.set_scalar(std::complex<double>(z.real, z.imag));
  } else {
    return false;
  }
  return cell.weak = true;
}

// A NumPy scalar or 0-d array as Python's number.
bool numpy_to_cell(PyObject* o, Array& cell) {
  int known = numpy_types ? PyObject_IsInstance(o, numpy_types) : 0;
  if (known <= 0) return false;
  PyObject* ndim = PyObject_GetAttrString(o, "ndim");
  bool scalar = ndim && PyLong_AsLong(ndim) == 0;
  Py_XDECREF(ndim);
  PyObject* number = scalar ? PyObject_CallMethod(o, "item", nullptr) : nullptr;
  if (!number) return false;
  if (!PyNumber_Check(number) || PyObject_IsInstance(number, numpy_types)) Py_SETREF(number, PyNumber_Float(o));
  bool ok = number && to_cell(number, cell);
  Py_XDECREF(number);
  return ok;
}

// Whether an integer fits an integer dtype.
bool fits(const Array& cell, DType d) {
  const unsigned bits = static_cast<unsigned>(item_size(d)) * 8;
  if (cell.dtype == DType::kUInt64) return d == DType::kUInt64;
  if (cell.dtype == DType::kBool) return true;
  const int64_t v = *cell.as<int64_t>();
  if (is_unsigned(d)) return v >= 0 && (bits == 64 || v < int64_t{1} << bits);
  return bits == 64 || (v >= -(int64_t{1} << (bits - 1)) && v < int64_t{1} << (bits - 1));
}

bool settle(const Op& op, Array& cell, DType d) {
  if (cell.dtype == DType::kFloat64 && d == DType::kFloat32) [[likely]] {
    cell.set_scalar(static_cast<float>(*cell.as<double>()));
    return true;
  }
  if (kind(d) == DKind::kInt && !fits(cell, d)) {
    const std::string shown =
        cell.dtype == DType::kUInt64 ? std::to_string(*cell.as<uint64_t>()) : std::to_string(*cell.as<int64_t>());
    return refuse_value(op.name + ": " + shown + " does not fit " + name(d) + ": convert the tensor with astype first");
  }
  set_scalar_as(cell, d, cell);
  return true;
}

}  // namespace

bool operand(PyObject* o, Operand& to, Array& cell) {
  if (is_tensor(o)) {
    to.array = to.tensor = impl_of(o);
    return true;
  }
  to = {&cell, nullptr};
  return to_cell(o, cell) || (!PyErr_Occurred() && numpy_to_cell(o, cell));
}

bool settle_numbers(const Op& op, Operand* in, Array* cells) {
  for (int i = 0; i < op.nin; ++i) {
    if (in[i].tensor || !(op.casts >> i & 1)) continue;
    for (int k = 0; k < op.nin; ++k) {
      if (!in[k].tensor || !(op.casts >> k & 1)) continue;
      DType d = in[k].tensor->dtype;
      if (cells[i].dtype != d && kind(cells[i].dtype) <= kind(d) && !settle(op, cells[i], d)) return false;
      break;
    }
  }
  return true;
}

}  // namespace perflab
