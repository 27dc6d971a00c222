// OpHandle: the one callable behind every op function and method. Its parser walks the op's signature.
#include "py.h"
#include "structmember.h"

namespace perflab {

SymbolHook symbol_hook;

namespace {

struct OpHandle {
  PyObject_HEAD vectorcallfunc vectorcall;
  Op* op;
  bool in_place;
  PyObject **names, **aliases;  // interned, one per attribute
};
PyTypeObject* handle_type = nullptr;

constexpr int kFewInputs = 4;

bool is_symbol(PyObject* o) {
  return symbol_hook.type && PyObject_TypeCheck(o, reinterpret_cast<PyTypeObject*>(symbol_hook.type));
}

// A call with symbols among its arguments is written down instead of run.
PyObject* call_symbolic(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  PyObject* positional = PyTuple_New(n);
  for (Py_ssize_t i = 0; positional && i < n; ++i) PyTuple_SET_ITEM(positional, i, Py_NewRef(args[i]));
  PyObject* keywords = PyDict_New();
  for (Py_ssize_t k = 0; keywords && names && k < PyTuple_GET_SIZE(names); ++k)
    PyDict_SetItem(keywords, PyTuple_GET_ITEM(names, k), args[n + k]);
  PyObject* r = positional && keywords
                    ? PyObject_CallFunctionObjArgs(symbol_hook.call, self, positional, keywords, nullptr)
                    : nullptr;
  Py_XDECREF(positional);
  Py_XDECREF(keywords);
  return r;
}

// Index of the attribute called `name`, -1: there is none. Interned names are found by their address.
int find_attr(const OpHandle* h, PyObject* name) {
  int n = static_cast<int>(h->op->attrs.size());
  for (int i = 0; i < n; ++i)
    if (h->names[i] == name || h->aliases[i] == name) return i;
  for (int i = 0; i < n; ++i)
    if (!PyUnicode_Compare(h->names[i], name) || !PyUnicode_Compare(h->aliases[i], name)) return i;
  return -1;
}

bool parse_attrs(const OpHandle* h, PyObject* const* args, Py_ssize_t first, Py_ssize_t n, PyObject* names, Attrs& to) {
  const Op& op = *h->op;
  const char* name = op.name.c_str();
  int nattrs = static_cast<int>(op.attrs.size());
  uint64_t given = 0;
  Py_ssize_t at = first;
  if (op.spreads && at < n && PyIndex_Check(args[at])) {  // reshape(x, 2, 3)
    if (!items_to_words(op.name, op.attrs[0], args + at, n - at, to.v + op.attrs[0].at)) return false;
    given = 1, at = n;
  }
  for (int i = 0; at < n; ++at, ++i) {
    if (i >= nattrs) {
      PyErr_Format(PyExc_TypeError, "%s takes at most %zd positional arguments, %zd were given", name, first + nattrs,
                   n);
      return false;
    }
    if (!to_words(op.name, op.attrs[i], args[at], to.v + op.attrs[i].at)) return false;
    given |= uint64_t{1} << i;
  }
  for (Py_ssize_t k = 0; names && k < PyTuple_GET_SIZE(names); ++k) {
    PyObject* key = PyTuple_GET_ITEM(names, k);
    int i = find_attr(h, key);
    if (i < 0 || given >> i & 1) {
      PyErr_Format(PyExc_TypeError, i < 0 ? "%s has no parameter '%U'" : "%s got parameter '%U' twice", name, key);
      return false;
    }
    if (!to_words(op.name, op.attrs[i], args[n + k], to.v + op.attrs[i].at)) return false;
    given |= uint64_t{1} << i;
  }
  for (int i = 0; i < nattrs; ++i) {
    const AttrSig& s = op.attrs[i];
    if (given >> i & 1) continue;
    if (s.required) {
      PyErr_Format(PyExc_TypeError, "%s: parameter '%s' is missing", name, s.name.c_str());
      return false;
    }
    std::memcpy(to.v + s.at, s.preset.data(), s.preset.size() * sizeof(int64_t));
  }
  return true;
}

PyObject* refuse_input(const Op& op, Py_ssize_t i, PyObject* o) {
  if (PyErr_Occurred()) return nullptr;
  return PyErr_Format(PyExc_TypeError, "%s: argument %zd is a %.80s, not a Tensor or a number (tensor(...) makes one)",
                      op.name.c_str(), i + 1, Py_TYPE(o)->tp_name);
}

// The result, new or written into `out`.
PyObject* finish(const Op& op, const Operand* in, int nin, const Attrs& attrs, PyObject* out) {
  if (!out) return call_op(op, in, nin, attrs);
  if (op.nout != 1) return PyErr_Format(PyExc_TypeError, "%s has several outputs and takes no out", op.name.c_str());
  try {
    LateGil gil;
    apply_into(op, in, nin, attrs, impl_of(out));
  } catch (...) {
    return raise_current();
  }
  return Py_NewRef(out);
}

PyObject* call_list(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names, PyObject* out) {
  auto* h = reinterpret_cast<OpHandle*>(self);
  const Op& op = *h->op;
  if (n < 1) return PyErr_Format(PyExc_TypeError, "%s: a sequence of tensors is missing", op.name.c_str());
  if (is_symbol(args[0])) return call_symbolic(self, args, n, names);
  PyObject* list = PySequence_Fast(args[0], "expected a sequence of tensors");
  if (!list) return nullptr;
  Py_ssize_t count = PySequence_Fast_GET_SIZE(list);
  PyObject* result = nullptr;
  std::vector<Operand> in(static_cast<size_t>(count));
  std::vector<Array> cells(static_cast<size_t>(count));
  Py_ssize_t i = 0;
  for (; i < count; ++i) {
    PyObject* o = PySequence_Fast_GET_ITEM(list, i);
    if (is_symbol(o)) {
      result = call_symbolic(self, args, n, names);
      break;
    }
    if (!is_tensor(o)) {
      refuse_input(op, i, o);
      break;
    }
    operand(o, in[i], cells[i]);
  }
  Attrs attrs;
  if (i == count) {
    if (!count)
      PyErr_Format(error_types[static_cast<int>(ErrorKind::kValue)],
                   "%s: the sequence of tensors is empty: give at least one", op.name.c_str());
    else if (parse_attrs(h, args, 1, n, names, attrs))
      result = finish(op, in.data(), static_cast<int>(count), attrs, out);
  }
  Py_DECREF(list);
  return result;
}

template <int kMost>  // inputs that there is room for
PyObject* call_fixed(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names, PyObject* out) {
  auto* h = reinterpret_cast<OpHandle*>(self);
  const Op& op = *h->op;
  if (n < op.nin)
    return PyErr_Format(PyExc_TypeError, "%s takes %d tensors, %zd arguments were given", op.name.c_str(), op.nin, n);
  Operand in[kMost];
  Array cells[kMost];
  bool any = false;
  for (int i = 0; i < op.nin; ++i) {
    if (!operand(args[i], in[i], cells[i])) {
      for (int j = 0; j < op.nin; ++j)
        if (is_symbol(args[j])) return PyErr_Clear(), call_symbolic(self, args, n, names);
      return refuse_input(op, i, args[i]);
    }
    any |= in[i].tensor != nullptr;
  }
  if (!any) {
    for (int j = 0; j < op.nin; ++j)
      if (is_symbol(args[j])) return call_symbolic(self, args, n, names);
    return PyErr_Format(PyExc_TypeError, "%s: no Tensor among the arguments (tensor(...) makes one of a number)",
                        op.name.c_str());
  }
  Attrs attrs;
  if (!parse_attrs(h, args, op.nin, n, names, attrs)) return nullptr;
  if (op.nin > 1 && !settle_numbers(op, in, cells)) return nullptr;
  if (!h->in_place) return finish(op, in, op.nin, attrs, out);
  if (!in[0].tensor) return refuse_input(op, 0, args[0]);
  try {
    LateGil gil;
    apply_in_place(op, in, op.nin, attrs);
  } catch (...) {
    return raise_current();
  }
  if (in[0].tensor->grad_fn) track(args[0]);
  return Py_NewRef(args[0]);
}

PyObject* call_plain(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names, PyObject* out) {
  const Op& op = *reinterpret_cast<OpHandle*>(self)->op;
  if (op.list()) return call_list(self, args, n, names, out);
  if (op.nin > kFewInputs) [[unlikely]]
    return call_fixed<kMostInputs>(self, args, n, names, out);
  return call_fixed<kFewInputs>(self, args, n, names, out);
}

// The keyword `out` is taken from the others.
PyObject* call_with_out(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names, Py_ssize_t at) {
  PyObject* out = args[n + at];
  Py_ssize_t count = PyTuple_GET_SIZE(names);
  const bool given = out != Py_None;
  if (given && (!is_tensor(out) || reinterpret_cast<OpHandle*>(self)->in_place))
    return PyErr_Format(PyExc_TypeError, "%s: out must be a Tensor, of the form that makes a new one, not %.80s",
                        reinterpret_cast<OpHandle*>(self)->op->name.c_str(), Py_TYPE(out)->tp_name);
  std::vector<PyObject*> rest(args, args + n);
  PyObject* kept = count > 1 ? PyTuple_New(count - 1) : nullptr;
  if (count > 1 && !kept) return nullptr;
  for (Py_ssize_t k = 0, to = 0; k < count; ++k) {
    if (k == at) continue;
    rest.push_back(args[n + k]);
    PyTuple_SET_ITEM(kept, to++, Py_NewRef(PyTuple_GET_ITEM(names, k)));
  }
  PyObject* r = call_plain(self, rest.data(), n, kept, given ? out : nullptr);
  Py_XDECREF(kept);
  return r;
}

// A keyword that the op lacks has a meaning where the declaration gives it one (Op.keywords); nullptr without an error:
// it gives none.
PyObject* call_rewritten(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names, PyObject* name) {
  auto* record = static_cast<PyObject*>(reinterpret_cast<OpHandle*>(self)->op->record);
  PyObject* rewrites = PyObject_GetAttrString(record, "rewrites");
  PyObject* rewrite = rewrites ? PyDict_GetItemWithError(rewrites, name) : nullptr;
  PyObject* result = nullptr;
  if (rewrite) {
    std::vector<PyObject*> all{self};
    all.insert(all.end(), args, args + n + PyTuple_GET_SIZE(names));
    result = PyObject_Vectorcall(rewrite, all.data(), n + 1, names);
  }
  Py_XDECREF(rewrites);
  return result;
}

PyObject* call(PyObject* self, PyObject* const* args, size_t flagged, PyObject* names) {
  static PyObject* const out_name = PyUnicode_InternFromString("out");
  Py_ssize_t n = PyVectorcall_NARGS(flagged);
  Py_ssize_t out = -1;
  for (Py_ssize_t k = 0; names && k < PyTuple_GET_SIZE(names); ++k) {
    PyObject* name = PyTuple_GET_ITEM(names, k);
    if (name == out_name || !PyUnicode_Compare(name, out_name)) {
      out = k;
    } else if (find_attr(reinterpret_cast<OpHandle*>(self), name) < 0) {
      PyObject* result = call_rewritten(self, args, n, names, name);
      if (result || PyErr_Occurred()) return result;
    }
  }
  if (out >= 0) return call_with_out(self, args, n, names, out);
  return call_plain(self, args, n, names, nullptr);
}

PyObject* bind(PyObject* self, PyObject* object, PyObject*) {
  return object && object != Py_None ? PyMethod_New(self, object) : Py_NewRef(self);
}

PyObject* get_attribute(PyObject* self, PyObject* name) {  // what the handle lacks, the declaration says
  PyObject* own = PyObject_GenericGetAttr(self, name);
  auto* record = static_cast<PyObject*>(reinterpret_cast<OpHandle*>(self)->op->record);
  if (own || !PyErr_ExceptionMatches(PyExc_AttributeError)) return own;
  PyErr_Clear();
  return PyObject_GetAttr(record, name);
}

PyObject* get_from_record(PyObject* self, void* name) {
  return PyObject_GetAttrString(static_cast<PyObject*>(reinterpret_cast<OpHandle*>(self)->op->record),
                                static_cast<const char*>(name));
}

PyObject* represent(PyObject* self) {
  auto* h = reinterpret_cast<OpHandle*>(self);
  return PyUnicode_FromFormat("<op %s%s>", h->op->name.c_str(), h->in_place ? "_" : "");
}

PyObject* get_name(PyObject* self, void*) {
  auto* h = reinterpret_cast<OpHandle*>(self);
  return PyUnicode_FromFormat("%s%s", h->op->name.c_str(), h->in_place ? "_" : "");
}

PyObject* get_record(PyObject* self, void*) {
  return Py_NewRef(static_cast<PyObject*>(reinterpret_cast<OpHandle*>(self)->op->record));
}

void dealloc(PyObject* self) {
  auto* h = reinterpret_cast<OpHandle*>(self);
  for (size_t i = 0; i < h->op->attrs.size(); ++i) {
    Py_DECREF(h->names[i]);
    Py_DECREF(h->aliases[i]);
  }
  PyMem_Free(h->names);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

char doc_name[] = "__doc__", signature_name[] = "__signature__";
PyGetSetDef getset[] = {{"__name__", get_name, nullptr, "The op's name.", nullptr},
                        {"__qualname__", get_name, nullptr, nullptr, nullptr},
                        {"__doc__", get_from_record, nullptr, nullptr, doc_name},
                        {"__signature__", get_from_record, nullptr, nullptr, signature_name},
                        {"record", get_record, nullptr, "The op's declaration (runtime/registry.py).", nullptr},
                        {}};
PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(OpHandle, vectorcall), READONLY, nullptr}, {}};

}  // namespace

namespace {

PyObject* named(const Op& op, PyObject* tuple) {  // takes the reference
  PyObject* args = PyTuple_Pack(1, tuple);
  PyObject* r = args ? PyTuple_Type.tp_new(static_cast<PyTypeObject*>(op.result_type), args, nullptr) : nullptr;
  Py_XDECREF(args);
  Py_DECREF(tuple);
  return r;
}

}  // namespace

PyObject* call_op(const Op& op, const Operand* in, int nin, const Attrs& attrs) {
  try {
    if (op.nout == 1) [[likely]] {
      TensorImpl* out;
      {
        LateGil gil;
        out = apply(op, in, nin, attrs);
      }
      return wrap(out);
    }
    std::vector<const Array*> arrays;
    for (int i = 0; i < nin; ++i) arrays.push_back(in[i].array);
    int nout = count_outputs(op, arrays.data(), nin, attrs);
    std::vector<TensorImpl*> outs(nout);
    {
      LateGil gil;
      apply(op, in, nin, attrs, outs.data(), nout);
    }
    PyObject* tuple = PyTuple_New(nout);
    for (int k = 0; k < nout; ++k) {
      if (tuple)
        PyTuple_SET_ITEM(tuple, k, wrap(outs[k]));
      else
        release(outs[k]);
    }
    return op.result_type && tuple ? named(op, tuple) : tuple;
  } catch (...) {
    return raise_current();
  }
}

PyTypeObject* make_op_type() {
  static PyType_Slot slots[] = {{Py_tp_call, slot(PyVectorcall_Call)},
                                {Py_tp_descr_get, slot(bind)},
                                {Py_tp_getattro, slot(get_attribute)},
                                {Py_tp_repr, slot(represent)},
                                {Py_tp_dealloc, slot(dealloc)},
                                {Py_tp_getset, getset},
                                {Py_tp_members, members},
                                {0, nullptr}};
  static PyType_Spec spec = {"perflab.runtime.OpHandle", sizeof(OpHandle), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
                                 Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             slots};
  return handle_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
}

PyObject* make_handle(Op& op, bool in_place) {
  auto* h = PyObject_New(OpHandle, handle_type);
  if (!h) return nullptr;
  h->vectorcall = call, h->op = &op, h->in_place = in_place;
  size_t n = op.attrs.size();
  h->names = static_cast<PyObject**>(PyMem_Calloc(2 * n + 1, sizeof(PyObject*)));
  h->aliases = h->names + n;
  for (size_t i = 0; i < n; ++i) {
    h->names[i] = PyUnicode_InternFromString(op.attrs[i].name.c_str());
    h->aliases[i] =
        PyUnicode_InternFromString((op.attrs[i].alias.empty() ? op.attrs[i].name : op.attrs[i].alias).c_str());
  }
  return reinterpret_cast<PyObject*>(h);
}

Op* handle_op(PyObject* o) { return Py_TYPE(o) == handle_type ? reinterpret_cast<OpHandle*>(o)->op : nullptr; }

}  // namespace perflab
