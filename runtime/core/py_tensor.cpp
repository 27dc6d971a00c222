// The Python type Tensor: its attributes, methods and buffer. What is not hot is written in Python (runtime/tensor.py).
#include "device.h"
#include "history.h"
#include "modes.h"
#include "py.h"
#include "structmember.h"

namespace perflab {

PyTypeObject* tensor_type = nullptr;

namespace {

PyObject* autograd_error(const char* what) {
  PyErr_SetString(error_types[static_cast<int>(ErrorKind::kAutograd)], what);
  return nullptr;
}

PyObject* get_shape(PyObject* o, void*) { return shape_tuple(impl_of(o)->shape, impl_of(o)->ndim); }
PyObject* get_ndim(PyObject* o, void*) { return PyLong_FromLong(impl_of(o)->ndim); }
PyObject* get_dtype(PyObject* o, void*) { return Py_NewRef(dtype_objects[static_cast<int>(impl_of(o)->dtype)]); }
PyObject* get_device(PyObject* o, void*) { return PyLong_FromLong(impl_of(o)->device); }
PyObject* get_requires_grad(PyObject* o, void*) { return PyBool_FromLong(will_need_gradient(impl_of(o))); }
PyObject* get_is_leaf(PyObject* o, void*) {
  try {
    return PyBool_FromLong(!history(impl_of(o)));
  } catch (...) {
    return raise_current();
  }
}
PyObject* get_base(PyObject* o, void*) {
  TensorImpl* base = impl_of(o)->base;
  if (!base) Py_RETURN_NONE;
  retain(base);
  return wrap(base);
}
PyObject* is_view(PyObject* o, PyObject*) { return PyBool_FromLong(impl_of(o)->base != nullptr); }
PyObject* get_output_nr(PyObject* o, void*) { return PyLong_FromUnsignedLong(impl_of(o)->output); }
PyObject* get_version(PyObject* o, void*) {
  if (impl_of(o)->inference) return autograd_error("inference tensors do not track their version");
  return PyLong_FromUnsignedLong(impl_of(o)->version());
}
PyObject* is_inference(PyObject* o, PyObject*) { return PyBool_FromLong(impl_of(o)->inference); }

int set_requires_grad(PyObject* o, PyObject* v, void*) {
  int on = v ? PyObject_IsTrue(v) : -1;
  if (on < 0) return -1;
  TensorImpl* t = impl_of(o);
  if (on && kind(t->dtype) != DKind::kFloat)
    return PyErr_Format(error_types[static_cast<int>(ErrorKind::kAutograd)],
                        "only float tensors can require gradients, this one is %s", name(t->dtype)),
           -1;
  if (on && t->inference && !(modes & kInference))
    return autograd_error("requires_grad of an inference tensor outside of inference_mode(): take a copy() of it"), -1;
  if (!on && t->grad_fn) return autograd_error("requires_grad can be cleared on leaves alone: use detach()"), -1;
  t->requires_grad = on;
  return 0;
}

PyObject* get_grad(PyObject* o, void*) {
  TensorImpl* t = impl_of(o);
  Ref<TensorImpl> grad;
  {
    std::lock_guard guard(grad_lock(t));
    grad = Ref<TensorImpl>::share(t->grad);
  }
  if (!grad) Py_RETURN_NONE;
  return wrap(grad.take());
}

int set_grad(PyObject* o, PyObject* v, void*) {
  TensorImpl* t = impl_of(o);
  Ref<TensorImpl> grad;
  if (v && v != Py_None) {
    if (!is_tensor(v))
      return PyErr_Format(PyExc_TypeError, "grad must be a Tensor or None, not %.80s", Py_TYPE(v)->tp_name), -1;
    grad = Ref<TensorImpl>::share(impl_of(v));
    if (grad->dtype != t->dtype || !same_shape(*grad, *t))
      return PyErr_Format(error_types[static_cast<int>(ErrorKind::kAutograd)], "grad of %s %s for a tensor of %s %s",
                          name(grad->dtype), show(*grad).c_str(), name(t->dtype), show(*t).c_str()),
             -1;
    if (grad->device != t->device)
      return PyErr_Format(error_types[static_cast<int>(ErrorKind::kDevice)], "grad on %s for a tensor on %s",
                          device_name(grad->device).c_str(), device_name(t->device).c_str()),
             -1;
  }
  std::unique_lock guard(grad_lock(t));
  auto old = Ref(std::exchange(t->grad, grad.take()));
  guard.unlock();  // the old one's death may run Python
  return 0;
}

PyObject* get_grad_fn(PyObject* o, void*) {
  try {
    Node* n = history(impl_of(o));
    if (!n) Py_RETURN_NONE;
    retain(n);
    return wrap_node(n);
  } catch (...) {
    return raise_current();
  }
}

PyObject* number(const Array& a) {
  switch (kind(a.dtype)) {
    case DKind::kBool:
      return PyBool_FromLong(*a.as<bool>());
    case DKind::kInt:
      return a.dtype == DType::kUInt64 ? PyLong_FromUnsignedLongLong(*a.as<uint64_t>())
                                       : PyLong_FromLongLong(scalar_as<int64_t>(a));
    case DKind::kFloat:
      return PyFloat_FromDouble(scalar_as<double>(a));
    default: {
      auto z = scalar_as<std::complex<double>>(a);
      return PyComplex_FromDoubles(z.real(), z.imag());
    }
  }
}

PyObject* item_of_device(const Array& a) {  // waits for it
  try {
    return number(on_cpu(a));
  } catch (...) {
    return raise_current();
  }
}

PyObject* item(PyObject* o, PyObject*) {
  TensorImpl* t = impl_of(o);
  if (t->numel != 1)
    return PyErr_Format(PyExc_RuntimeError, "item() needs a tensor with one element, this one has shape %s",
                        show(*t).c_str());
  if (t->device) [[unlikely]]
    return item_of_device(*t);
  return number(*t);
}

TensorImpl* same_memory(const TensorImpl* of) {
  TensorImpl* t = make_tensor();
  t->alias(*of), t->inference = of->inference;
  return t;
}

PyObject* detach(PyObject* o, PyObject*) { return wrap(same_memory(impl_of(o))); }

// The memory, whatever the graph says: neither a read nor a change of it is recorded.
PyObject* get_data(PyObject* o, void*) { return wrap(same_memory(impl_of(o))); }

int set_data(PyObject* o, PyObject* v, void*) {
  if (!v || !is_tensor(v))
    return PyErr_Format(PyExc_TypeError, "data must be a Tensor, not %.80s", v ? Py_TYPE(v)->tp_name : "deleted"), -1;
  TensorImpl* t = impl_of(o);
  if (t->requires_grad && kind(impl_of(v)->dtype) != DKind::kFloat)
    return PyErr_Format(error_types[static_cast<int>(ErrorKind::kAutograd)],
                        "data of a tensor that requires grad must be floats, this one is %s", name(impl_of(v)->dtype)),
           -1;
  static_cast<Array&>(*t) = Array(*impl_of(v));
  t->weak = false;
  if (t->base) release(std::exchange(t->base, nullptr));  // it shows another memory now
  return 0;
}

PyObject* detach_in_place(PyObject* o, PyObject*) {
  TensorImpl* t = impl_of(o);
  if (t->base) return autograd_error("detach_() of a view, whose history is that of its base: use detach()");
  if (t->grad_fn) release(std::exchange(t->grad_fn, nullptr));
  t->requires_grad = false, t->output = 0;
  return Py_NewRef(o);
}

PyObject* requires_grad_method(PyObject* o, PyObject* args) {
  PyObject* on = Py_True;
  if (!PyArg_ParseTuple(args, "|O:requires_grad_", &on)) return nullptr;
  return set_requires_grad(o, on, nullptr) < 0 ? nullptr : Py_NewRef(o);
}

PyObject* stride(PyObject* o, PyObject* args) {
  TensorImpl* t = impl_of(o);
  PyObject* axis = nullptr;
  if (!PyArg_ParseTuple(args, "|O:stride", &axis)) return nullptr;
  if (!axis) return shape_tuple(t->strides, t->ndim);
  Py_ssize_t i = PyNumber_AsSsize_t(axis, PyExc_IndexError);
  if (i == -1 && PyErr_Occurred()) return nullptr;
  if (i < -t->ndim || i >= t->ndim)
    return PyErr_Format(PyExc_IndexError, "stride: axis %zd is out of range for shape %s", i, show(*t).c_str());
  return PyLong_FromLongLong(t->strides[i < 0 ? i + t->ndim : i]);
}
PyObject* storage_offset(PyObject* o, PyObject*) {
  TensorImpl* t = impl_of(o);
  const char* begin = t->storage ? static_cast<char*>(t->storage->data) : t->as<char>();
  return PyLong_FromLongLong((t->as<char>() - begin) / static_cast<int64_t>(item_size(t->dtype)));
}
PyObject* numel(PyObject* o, PyObject*) { return PyLong_FromLongLong(impl_of(o)->numel); }
PyObject* element_size(PyObject* o, PyObject*) { return PyLong_FromSize_t(item_size(impl_of(o)->dtype)); }
PyObject* get_itemsize(PyObject* o, void*) { return element_size(o, nullptr); }
PyObject* get_nbytes(PyObject* o, void*) { return PyLong_FromSize_t(impl_of(o)->bytes()); }
PyObject* data_ptr(PyObject* o, PyObject*) { return PyLong_FromVoidPtr(impl_of(o)->data); }
PyObject* is_contiguous(PyObject* o, PyObject*) { return PyBool_FromLong(impl_of(o)->contig); }

int get_buffer(PyObject* o, Py_buffer* view, int flags) {
  static const char* formats[kDTypes] = {"?", "B", "H", "I", "Q", "b", "h", "i", "q", "e", "", "f", "d", "Zf", "Zd"};
  static_assert(sizeof(int64_t) == sizeof(Py_ssize_t));
  TensorImpl* t = impl_of(o);
  view->obj = nullptr;
  if (t->requires_grad)
    return PyErr_SetString(PyExc_BufferError, "the memory of a tensor that requires grad: use detach() first"), -1;
  if (t->dtype == DType::kBFloat16)
    return PyErr_SetString(PyExc_BufferError, "bfloat16 has no format in the buffer protocol: use numpy()"), -1;
  if (t->device)
    return PyErr_Format(PyExc_BufferError, "the memory is on %s: use cpu() first", device_name(t->device).c_str()), -1;
  if (!t->contig && !(flags & PyBUF_STRIDES))
    return PyErr_SetString(PyExc_BufferError, "the tensor is not contiguous"), -1;
  auto* dims = new Py_ssize_t[2 * kMaxDim];
  int64_t item = static_cast<int64_t>(item_size(t->dtype));
  for (int i = 0; i < t->ndim; ++i) dims[i] = t->shape[i], dims[kMaxDim + i] = t->strides[i] * item;
  view->buf = t->data, view->len = t->numel * item, view->itemsize = item, view->readonly = 0;
  view->ndim = t->ndim, view->format = const_cast<char*>(formats[static_cast<int>(t->dtype)]);
  view->shape = dims, view->strides = dims + kMaxDim, view->suboffsets = nullptr, view->internal = dims;
  view->obj = Py_NewRef(o);
  return 0;
}

void release_buffer(PyObject*, Py_buffer* view) { delete[] static_cast<Py_ssize_t*>(view->internal); }

PyObject* tensor_new(PyTypeObject* type, PyObject* args,
                     PyObject*) {  // Tensor(tensor): the same memory, without history
  PyObject* source = nullptr;
  if (PyTuple_GET_SIZE(args) > 0) source = PyTuple_GET_ITEM(args, 0);
  if (!source || !is_tensor(source))
    return PyErr_SetString(PyExc_TypeError, "Tensor() takes a Tensor: tensor(data) makes one of numbers or an array"),
           nullptr;
  TensorImpl* t = make_tensor();
  t->alias(*impl_of(source));
  return wrap_as(type, t);
}

PyMethodDef methods[] = {
    {"backward", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(backward_method)),
     METH_VARARGS | METH_KEYWORDS,
     "backward(gradient=None, retain_graph=None, create_graph=False, inputs=None): adds the gradients of this tensor "
     "into the leaves' grad.\n\n"
     "gradient: of this tensor's shape and dtype; may be left out for a tensor with one element. retain_graph: keep "
     "what the graph saved, for another backward; by default as create_graph. create_graph: record the pass, so that "
     "the gradients have gradients. inputs: the tensors whose grad is added to, by default all leaves."},
    {"item", item, METH_NOARGS, "The one element, as a Python number."},
    {"detach", detach, METH_NOARGS, "The same memory, cut from the graph."},
    {"detach_", detach_in_place, METH_NOARGS, "Cuts this tensor from the graph, and gives it back."},
    {"is_inference", is_inference, METH_NOARGS, "Whether it was made in inference mode."},
    {"requires_grad_", requires_grad_method, METH_VARARGS,
     "requires_grad_(on=True): sets requires_grad, gives the tensor back."},
    {"stride", stride, METH_VARARGS,
     "stride(dim=None): the steps from element to element along each axis, or along one, in elements."},
    {"storage_offset", storage_offset, METH_NOARGS, "The place of the first element in the storage, in elements."},
    {"numel", numel, METH_NOARGS, "The number of elements."},
    {"element_size", element_size, METH_NOARGS, "The bytes of one element."},
    {"data_ptr", data_ptr, METH_NOARGS, "The address of the first element."},
    {"_is_view", is_view, METH_NOARGS, "Whether it shows the memory of another tensor, _base."},
    {"is_contiguous", is_contiguous, METH_NOARGS, "Whether the elements lie in C order without gaps."},
    {}};

PyGetSetDef getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"shape", get_shape, nullptr, "The size of each axis.", nullptr},
    {"ndim", get_ndim, nullptr, "The number of axes.", nullptr},
    {"dtype", get_dtype, nullptr, "The element type.", nullptr},
    {"_device", get_device, nullptr, "The number of the device.", nullptr},
    {"itemsize", get_itemsize, nullptr, "The bytes of one element.", nullptr},
    {"nbytes", get_nbytes, nullptr, "The bytes of all elements.", nullptr},
    {"requires_grad", get_requires_grad, set_requires_grad, "Whether gradients flow into this tensor.", nullptr},
    {"is_leaf", get_is_leaf, nullptr, "Whether no recorded op made this tensor.", nullptr},
    {"grad", get_grad, set_grad, "The accumulated gradient, or None.", nullptr},
    {"data", get_data, set_data, "The memory without history; assigned, that of another tensor takes its place.",
     nullptr},
    {"grad_fn", get_grad_fn, nullptr, "The node of the op that made this tensor, or None.", nullptr},
    {"output_nr", get_output_nr, nullptr, "Which output of grad_fn this is.", nullptr},
    {"_base", get_base, nullptr, "The tensor whose memory this view shows, or None.", nullptr},
    {"_hooks", get_tensor_hooks, set_tensor_hooks, "Of a leaf: what keeps its hooks.", nullptr},
    {"_version", get_version, nullptr, "How often the memory was changed in place.", nullptr},
    {}};

PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(PyTensor, dict), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(PyTensor, weak), READONLY, nullptr},
                         {}};

char doc[] =
    "A strided array on a device that gradients can flow through; made by tensor(), zeros(), from_numpy() and ops.\n\n"
    "It has PyTorch's methods and operators. Views of it (reshape, slices) share its memory.";

}  // namespace

PyTypeObject* make_tensor_type() {
  std::vector<PyType_Slot> slots(std::begin(life_slots), std::end(life_slots));
  for (PyType_Slot* s = operator_slots; s->slot; ++s) slots.push_back(*s);
  slots.insert(slots.end(), {{Py_tp_doc, doc},
                             {Py_tp_new, slot(tensor_new)},
                             {Py_tp_methods, methods},
                             {Py_tp_getset, getset},
                             {Py_tp_members, members},
                             {Py_bf_getbuffer, slot(get_buffer)},
                             {Py_bf_releasebuffer, slot(release_buffer)},
                             {0, nullptr}});
  release_wrapper = [](void* w) { let_go(static_cast<PyObject*>(w)); };
  PyType_Spec spec = {"perflab.runtime.Tensor", sizeof(PyTensor), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots.data()};
  return tensor_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
}

}  // namespace perflab
