// Tensor's operators and subscripts, each a call of the op of that name.
#include <iterator>

#include "py.h"

namespace perflab {

PyObject* numpy_scalar = nullptr;

namespace {

// The ops behind the slots, found once when Python has declared them.
struct SlotOp {
  const char* name;
  const Op* op = nullptr;
};
SlotOp op_add{"add"}, op_sub{"sub"}, op_mul{"mul"}, op_div{"div"}, op_pow{"pow"}, op_matmul{"matmul"}, op_neg{"neg"},
    op_abs{"abs"};
SlotOp op_compare[6] = {{"lt"}, {"le"}, {"eq"}, {"ne"}, {"gt"}, {"ge"}};  // Py_LT ... Py_GE
SlotOp op_slice{"slice"}, op_select{"select"}, op_squeeze{"squeeze"}, op_unsqueeze{"unsqueeze"}, op_take{"take"},
    op_assign{"assign"};

PyObject* binary(const SlotOp& which, PyObject* a, PyObject* b) {
  Operand in[2];
  Array cells[2];
  if (!operand(a, in[0], cells[0]) || !operand(b, in[1], cells[1])) {
    if (PyErr_Occurred()) return nullptr;
    Py_RETURN_NOTIMPLEMENTED;
  }
  if (!settle_numbers(*which.op, in, cells)) return nullptr;
  return call_op(*which.op, in, 2, kNoAttrs);
}

PyObject* unary(const SlotOp& which, PyObject* a) {
  Operand in{impl_of(a), impl_of(a)};
  return call_op(*which.op, &in, 1, kNoAttrs);
}

PyObject* in_place(const SlotOp& which, PyObject* a, PyObject* b) {
  Operand in[2];
  Array cells[2];
  if (!operand(a, in[0], cells[0]) || !operand(b, in[1], cells[1])) {
    if (PyErr_Occurred()) return nullptr;
    Py_RETURN_NOTIMPLEMENTED;
  }
  if (!settle_numbers(*which.op, in, cells)) return nullptr;
  try {
    LateGil gil;
    apply_in_place(*which.op, in, 2, kNoAttrs);
  } catch (...) {
    return raise_current();
  }
  if (in[0].tensor->grad_fn) track(a);
  return Py_NewRef(a);
}

PyObject* nb_add(PyObject* a, PyObject* b) { return binary(op_add, a, b); }
PyObject* nb_sub(PyObject* a, PyObject* b) { return binary(op_sub, a, b); }
PyObject* nb_mul(PyObject* a, PyObject* b) { return binary(op_mul, a, b); }
PyObject* nb_div(PyObject* a, PyObject* b) { return binary(op_div, a, b); }
PyObject* nb_matmul(PyObject* a, PyObject* b) { return binary(op_matmul, a, b); }
PyObject* nb_pow(PyObject* a, PyObject* b, PyObject*) { return binary(op_pow, a, b); }
PyObject* nb_iadd(PyObject* a, PyObject* b) { return in_place(op_add, a, b); }
PyObject* nb_isub(PyObject* a, PyObject* b) { return in_place(op_sub, a, b); }
PyObject* nb_imul(PyObject* a, PyObject* b) { return in_place(op_mul, a, b); }
PyObject* nb_idiv(PyObject* a, PyObject* b) { return in_place(op_div, a, b); }
PyObject* nb_neg(PyObject* a) { return unary(op_neg, a); }
PyObject* nb_abs(PyObject* a) { return unary(op_abs, a); }
PyObject* nb_pos(PyObject* a) { return Py_NewRef(a); }
PyObject* compare(PyObject* a, PyObject* b, int how) { return binary(op_compare[how], a, b); }

int truth(PyObject* o) {
  TensorImpl* t = impl_of(o);
  if (t->numel == 1) return scalar_as<bool>(*t);
  PyErr_Format(PyExc_RuntimeError,
               "bool() of a Tensor with %lld elements is ambiguous: compare it, reduce it, or take one element",
               static_cast<long long>(t->numel));
  return -1;
}

Py_ssize_t length(PyObject* o) {
  TensorImpl* t = impl_of(o);
  if (t->ndim) return t->shape[0];
  PyErr_SetString(PyExc_TypeError, "len() of a 0-d Tensor");
  return -1;
}

// --- subscripts

// One axis's part of a key, normalised to the axis.
struct Part {
  int64_t start, size, step;
};

bool parse_int(PyObject* o, int64_t size, int axis, Part& part) {
  Py_ssize_t i = PyNumber_AsSsize_t(o, PyExc_IndexError);
  if (i == -1 && PyErr_Occurred()) return false;
  if (i < -size || i >= size) {
    PyErr_Format(PyExc_IndexError, "index %zd is out of range for axis %d of size %lld", i, axis,
                 static_cast<long long>(size));
    return false;
  }
  part = {i < 0 ? i + size : i, 1, 1};
  return true;
}

bool parse_slice(PyObject* o, int64_t size, Part& part) {
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(o, &start, &stop, &step) < 0) return false;
  Py_ssize_t n = PySlice_AdjustIndices(size, &start, &stop, step);
  part = {n ? start : 0, n, step};
  return true;
}

PyObject* call_one(const SlotOp& which, PyObject* o, const Attrs& attrs) {
  Operand in{impl_of(o), impl_of(o)};
  return call_op(*which.op, &in, 1, attrs);
}

PyObject* slice_axes(PyObject* o, const Part* parts) {
  TensorImpl* t = impl_of(o);
  Attrs attrs{};
  for (int k = 0; k < 3; ++k) attrs.v[k * (1 + kMaxDim)] = t->ndim;
  for (int i = 0; i < t->ndim; ++i) {
    attrs.v[1 + i] = parts[i].start;
    attrs.v[1 + kMaxDim + 1 + i] = parts[i].size;
    attrs.v[2 * (1 + kMaxDim) + 1 + i] = parts[i].step;
  }
  return call_one(op_slice, o, attrs);
}

PyObject* call_axes(const SlotOp& which, PyObject* o, const int64_t* axes, int n) {  // takes the reference of o
  if (!o || !n) return o;
  Attrs attrs{};
  attrs.v[0] = n;
  for (int i = 0; i < n; ++i) attrs.v[1 + i] = axes[i];
  PyObject* r = call_one(which, o, attrs);
  Py_DECREF(o);
  return r;
}

PyObject* refuse_key(PyObject* o) {
  return PyErr_Format(PyExc_TypeError, "a subscript may be ints, slices, None, ... or one tensor of ints, not %.80s",
                      Py_TYPE(o)->tp_name);
}

PyObject* take(PyObject* o, PyObject* indices) {
  TensorImpl* i = impl_of(indices);
  if (kind(i->dtype) != DKind::kInt)
    return PyErr_Format(PyExc_TypeError, "a subscript tensor must hold ints, not %s: for a mask use where()",
                        name(i->dtype));
  Operand in[] = {{impl_of(o), impl_of(o)}, {i, i}};
  Attrs attrs{};
  return call_op(*op_take.op, in, 2, attrs);
}

PyObject* subscript_tuple(PyObject* o, PyObject* const* items, Py_ssize_t n) {
  TensorImpl* t = impl_of(o);
  Py_ssize_t axes = 0, ellipses = 0;
  for (Py_ssize_t k = 0; k < n; ++k) {
    ellipses += items[k] == Py_Ellipsis;
    axes += items[k] != Py_None && items[k] != Py_Ellipsis;
  }
  if (axes > t->ndim || ellipses > 1)
    return PyErr_Format(PyExc_IndexError,
                        ellipses > 1 ? "more than one ... in a subscript" : "%zd subscripts for a Tensor with %d axes",
                        axes, static_cast<int>(t->ndim));
  Part parts[kMaxDim];
  int64_t gone[kMaxDim], added[kMaxDim];
  int ngone = 0, nadded = 0, axis = 0, result = 0;
  bool sliced = false;
  auto whole = [&] { parts[axis] = {0, t->shape[axis], 1}, ++axis, ++result; };
  for (Py_ssize_t k = 0; k < n; ++k) {
    PyObject* item = items[k];
    if (item == Py_None) {
      if (nadded == kMaxDim) return PyErr_Format(PyExc_IndexError, "more than %d axes", kMaxDim);
      added[nadded++] = result++;
    } else if (item == Py_Ellipsis) {
      for (Py_ssize_t m = t->ndim - axes; m > 0; --m) whole();
    } else if (PySlice_Check(item)) {
      if (!parse_slice(item, t->shape[axis], parts[axis])) return nullptr;
      ++axis, ++result, sliced = true;
    } else if (PyIndex_Check(item) && !is_tensor(item)) {
      if (!parse_int(item, t->shape[axis], axis, parts[axis])) return nullptr;
      gone[ngone++] = axis++, sliced = true;
    } else {
      return refuse_key(item);
    }
  }
  while (axis < t->ndim) whole();
  PyObject* r = sliced ? slice_axes(o, parts) : Py_NewRef(o);
  return call_axes(op_unsqueeze, call_axes(op_squeeze, r, gone, ngone), added, nadded);
}

int assign(PyObject* o, PyObject* key, PyObject* value) {
  if (!value) return PyErr_SetString(PyExc_TypeError, "a Tensor's elements cannot be deleted"), -1;
  PyObject* view = subscript(o, key);
  if (!view) return -1;
  PyObject* r = in_place(op_assign, view, value);
  Py_DECREF(view);
  if (r == Py_NotImplemented)
    PyErr_Format(PyExc_TypeError, "a Tensor's elements cannot be set to a %.80s", Py_TYPE(value)->tp_name);
  bool failed = !r || r == Py_NotImplemented;
  Py_XDECREF(r);
  return failed ? -1 : 0;
}

}  // namespace

PyObject* subscript(PyObject* o, PyObject* key) {
  TensorImpl* t = impl_of(o);
  if (PyTuple_Check(key)) return subscript_tuple(o, &PyTuple_GET_ITEM(key, 0), PyTuple_GET_SIZE(key));
  if (is_tensor(key)) return take(o, key);
  if (PyLong_Check(key) && t->ndim && !PyBool_Check(key)) {
    Part part;
    if (!parse_int(key, t->shape[0], 0, part)) return nullptr;
    Attrs attrs;
    attrs.v[0] = 0, attrs.v[1] = part.start;
    return call_one(op_select, o, attrs);
  }
  return subscript_tuple(o, &key, 1);
}

namespace {

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
        PyErr_Format(error_types[static_cast<int>(ErrorKind::kValue)],
                     "%R needs more than 64 bits, which no integer dtype has: pass a float", o);
        return false;
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
    std::string shown =
        cell.dtype == DType::kUInt64 ? std::to_string(*cell.as<uint64_t>()) : std::to_string(*cell.as<int64_t>());
    PyErr_Format(error_types[static_cast<int>(ErrorKind::kValue)],
                 "%s: %s does not fit %s: convert the tensor with astype first", op.name.c_str(), shown.c_str(),
                 name(d));
    return false;
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
  if (to_cell(o, cell)) return true;
  if (PyErr_Occurred() || !numpy_scalar || !PyObject_TypeCheck(o, reinterpret_cast<PyTypeObject*>(numpy_scalar)))
    return false;
  PyObject* number = PyObject_CallMethod(o, "item", nullptr);
  if (!number) return false;
  bool known = to_cell(number, cell);
  Py_DECREF(number);
  return known;
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

void bind_operators() {
  for (SlotOp* s :
       {&op_add,        &op_sub,        &op_mul,        &op_div,        &op_pow,        &op_matmul,    &op_neg,
        &op_abs,        &op_slice,      &op_select,     &op_squeeze,    &op_unsqueeze,  &op_take,      &op_assign,
        &op_compare[0], &op_compare[1], &op_compare[2], &op_compare[3], &op_compare[4], &op_compare[5]}) {
    s->op = find_op(s->name);
    if (!s->op) throw Error(ErrorKind::kValue, std::string("Tensor's operators need an op called ") + s->name);
  }
}

PyType_Slot operator_slots[] = {{Py_nb_add, slot(nb_add)},
                                {Py_nb_subtract, slot(nb_sub)},
                                {Py_nb_multiply, slot(nb_mul)},
                                {Py_nb_true_divide, slot(nb_div)},
                                {Py_nb_matrix_multiply, slot(nb_matmul)},
                                {Py_nb_power, slot(nb_pow)},
                                {Py_nb_inplace_add, slot(nb_iadd)},
                                {Py_nb_inplace_subtract, slot(nb_isub)},
                                {Py_nb_inplace_multiply, slot(nb_imul)},
                                {Py_nb_inplace_true_divide, slot(nb_idiv)},
                                {Py_nb_negative, slot(nb_neg)},
                                {Py_nb_positive, slot(nb_pos)},
                                {Py_nb_absolute, slot(nb_abs)},
                                {Py_nb_bool, slot(truth)},
                                {Py_tp_richcompare, slot(compare)},
                                {Py_tp_hash, slot(_Py_HashPointer)},
                                {Py_mp_length, slot(length)},
                                {Py_mp_subscript, slot(subscript)},
                                {Py_mp_ass_subscript, slot(assign)},
                                {0, nullptr}};

}  // namespace perflab
