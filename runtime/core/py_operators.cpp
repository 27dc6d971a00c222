// Tensor's operators and subscripts, each a call of the op of that name.
#include <iterator>

#include "device.h"
#include "py.h"

namespace perflab {

SubscriptHook subscript_hook;

namespace {

// The ops behind the slots, found once when Python has declared them.
struct SlotOp {
  const char* name;
  const Op* op = nullptr;
};
// clang-format off
enum Slot {
  kAdd, kSub, kMul, kDiv, kFloorDivide, kRemainder, kPow, kMatmul, kAnd, kOr, kXor, kLeftShift, kRightShift,
  kNeg, kAbs, kInvert, kLess, kLessEqual, kEqual, kNotEqual, kGreater, kGreaterEqual,  // as Py_LT ... Py_GE
  kSlice, kSelect, kSqueeze, kUnsqueeze, kTake, kAssign, kSlots
};
SlotOp slots[kSlots] = {
    {"add"}, {"sub"}, {"mul"}, {"div"}, {"floor_divide"}, {"remainder"}, {"pow"}, {"matmul"}, {"bitwise_and"},
    {"bitwise_or"}, {"bitwise_xor"}, {"bitwise_left_shift"}, {"bitwise_right_shift"},
    {"neg"}, {"abs"}, {"bitwise_invert"}, {"lt"}, {"le"}, {"eq"}, {"ne"}, {"gt"}, {"ge"},
    {"slice"}, {"select"}, {"squeeze"}, {"unsqueeze"}, {"take"}, {"assign"}};
// clang-format on

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

template <Slot kSlot>
PyObject* nb_binary(PyObject* a, PyObject* b) {
  return binary(slots[kSlot], a, b);
}
template <Slot kSlot>
PyObject* nb_in_place(PyObject* a, PyObject* b) {
  return in_place(slots[kSlot], a, b);
}
template <Slot kSlot>
PyObject* nb_unary(PyObject* a) {
  return unary(slots[kSlot], a);
}
PyObject* nb_pow(PyObject* a, PyObject* b, PyObject*) { return binary(slots[kPow], a, b); }
PyObject* nb_ipow(PyObject* a, PyObject* b, PyObject*) { return in_place(slots[kPow], a, b); }
PyObject* nb_divmod(PyObject* a, PyObject* b) {
  PyObject* quotient = binary(slots[kFloorDivide], a, b);
  if (!quotient || quotient == Py_NotImplemented) return quotient;
  PyObject* rest = binary(slots[kRemainder], a, b);
  PyObject* both = rest ? PyTuple_Pack(2, quotient, rest) : nullptr;
  Py_DECREF(quotient);
  Py_XDECREF(rest);
  return both;
}
PyObject* nb_pos(PyObject* a) { return Py_NewRef(a); }
PyObject* compare(PyObject* a, PyObject* b, int how) { return binary(slots[kLess + how], a, b); }

int truth(PyObject* o) {
  TensorImpl* t = impl_of(o);
  if (t->numel == 1) {
    if (!t->device) return scalar_as<bool>(*t);
    try {
      return scalar_as<bool>(on_cpu(*t));
    } catch (...) {
      return raise_current(), -1;
    }
  }
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
  return call_one(slots[kSlice], o, attrs);
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

// Keys with arrays, lists or masks are Python's (runtime/subscript.py).
bool chooses_by_array(PyObject* item) {
  bool plain = item == Py_None || item == Py_Ellipsis || PySlice_Check(item) ||
               (PyIndex_Check(item) && !PyBool_Check(item) && !is_tensor(item) && !PySequence_Check(item));
  return !plain;
}

bool key_has_arrays(PyObject* key) {
  if (!PyTuple_Check(key)) return chooses_by_array(key);
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(key); ++k)
    if (chooses_by_array(PyTuple_GET_ITEM(key, k))) return true;
  return false;
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
    } else {
      if (!parse_int(item, t->shape[axis], axis, parts[axis])) return nullptr;
      gone[ngone++] = axis++, sliced = true;
    }
  }
  while (axis < t->ndim) whole();
  PyObject* r = sliced ? slice_axes(o, parts) : Py_NewRef(o);
  return call_axes(slots[kUnsqueeze], call_axes(slots[kSqueeze], r, gone, ngone), added, nadded);
}

// A value that is set may have more axes than the place, of size 1.
PyObject* without_leading_ones(PyObject* value, int ndim) {  // takes the reference
  if (!is_tensor(value)) return value;
  const TensorImpl* t = impl_of(value);
  int64_t gone[kMaxDim];
  int n = 0;
  while (t->ndim - n > ndim && t->shape[n] == 1) gone[n] = n, ++n;
  return call_axes(slots[kSqueeze], value, gone, n);
}

int assign(PyObject* o, PyObject* key, PyObject* value) {
  if (!value) return PyErr_SetString(PyExc_TypeError, "a Tensor's elements cannot be deleted"), -1;
  if (key_has_arrays(key)) {
    PyObject* done = PyObject_CallFunctionObjArgs(subscript_hook.set, o, key, value, nullptr);
    Py_XDECREF(done);
    return done ? 0 : -1;
  }
  PyObject* view = subscript(o, key);
  if (!view) return -1;
  value = without_leading_ones(Py_NewRef(value), impl_of(view)->ndim);
  PyObject* r = value ? in_place(slots[kAssign], view, value) : nullptr;
  Py_DECREF(view);
  if (r == Py_NotImplemented)
    PyErr_Format(PyExc_TypeError, "a Tensor's elements cannot be set to a %.80s", Py_TYPE(value)->tp_name);
  bool failed = !r || r == Py_NotImplemented;
  Py_XDECREF(r);
  Py_XDECREF(value);
  return failed ? -1 : 0;
}

}  // namespace

PyObject* subscript(PyObject* o, PyObject* key) {
  TensorImpl* t = impl_of(o);
  if (PyLong_Check(key) && t->ndim && !PyBool_Check(key)) {
    Part part;
    if (!parse_int(key, t->shape[0], 0, part)) return nullptr;
    Attrs attrs;
    attrs.v[0] = 0, attrs.v[1] = part.start;
    return call_one(slots[kSelect], o, attrs);
  }
  if (is_tensor(key) && (impl_of(key)->dtype == DType::kInt64 || impl_of(key)->dtype == DType::kInt32)) {
    Operand in[] = {{t, t}, {impl_of(key), impl_of(key)}};
    Attrs attrs;
    attrs.v[0] = 0, attrs.v[1] = true;  // along axis 0, negative ones from the end
    return call_op(*slots[kTake].op, in, 2, attrs);
  }
  if (key_has_arrays(key)) return PyObject_CallFunctionObjArgs(subscript_hook.get, o, key, nullptr);
  if (PyTuple_Check(key)) return subscript_tuple(o, &PyTuple_GET_ITEM(key, 0), PyTuple_GET_SIZE(key));
  return subscript_tuple(o, &key, 1);
}

void bind_operators() {
  for (SlotOp& s : slots) {
    s.op = find_op(s.name);
    if (!s.op) throw Error(ErrorKind::kValue, std::string("Tensor's operators need an op called ") + s.name);
  }
}

PyType_Slot operator_slots[] = {{Py_nb_add, slot(nb_binary<kAdd>)},
                                {Py_nb_subtract, slot(nb_binary<kSub>)},
                                {Py_nb_multiply, slot(nb_binary<kMul>)},
                                {Py_nb_true_divide, slot(nb_binary<kDiv>)},
                                {Py_nb_floor_divide, slot(nb_binary<kFloorDivide>)},
                                {Py_nb_remainder, slot(nb_binary<kRemainder>)},
                                {Py_nb_divmod, slot(nb_divmod)},
                                {Py_nb_power, slot(nb_pow)},
                                {Py_nb_matrix_multiply, slot(nb_binary<kMatmul>)},
                                {Py_nb_and, slot(nb_binary<kAnd>)},
                                {Py_nb_or, slot(nb_binary<kOr>)},
                                {Py_nb_xor, slot(nb_binary<kXor>)},
                                {Py_nb_lshift, slot(nb_binary<kLeftShift>)},
                                {Py_nb_rshift, slot(nb_binary<kRightShift>)},
                                {Py_nb_inplace_add, slot(nb_in_place<kAdd>)},
                                {Py_nb_inplace_subtract, slot(nb_in_place<kSub>)},
                                {Py_nb_inplace_multiply, slot(nb_in_place<kMul>)},
                                {Py_nb_inplace_true_divide, slot(nb_in_place<kDiv>)},
                                {Py_nb_inplace_floor_divide, slot(nb_in_place<kFloorDivide>)},
                                {Py_nb_inplace_remainder, slot(nb_in_place<kRemainder>)},
                                {Py_nb_inplace_power, slot(nb_ipow)},
                                {Py_nb_inplace_and, slot(nb_in_place<kAnd>)},
                                {Py_nb_inplace_or, slot(nb_in_place<kOr>)},
                                {Py_nb_inplace_xor, slot(nb_in_place<kXor>)},
                                {Py_nb_inplace_lshift, slot(nb_in_place<kLeftShift>)},
                                {Py_nb_inplace_rshift, slot(nb_in_place<kRightShift>)},
                                {Py_nb_negative, slot(nb_unary<kNeg>)},
                                {Py_nb_absolute, slot(nb_unary<kAbs>)},
                                {Py_nb_invert, slot(nb_unary<kInvert>)},
                                {Py_nb_positive, slot(nb_pos)},
                                {Py_nb_bool, slot(truth)},
                                {Py_tp_richcompare, slot(compare)},
                                {Py_tp_hash, slot(_Py_HashPointer)},
                                {Py_mp_length, slot(length)},
                                {Py_mp_subscript, slot(subscript)},
                                {Py_mp_ass_subscript, slot(assign)},
                                {0, nullptr}};

}  // namespace perflab
