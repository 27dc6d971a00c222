// Making tensors, and the graph's switches.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "allocator.h"
#include "bind.h"
#include "caching_allocator.h"
#include "device.h"
#include "modes.h"
#include "pinned.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace perflab {
namespace {

DType code_of(nb::handle dtype) {
  for (int d = 0; d < kDTypes; ++d)
    if (dtype_objects[d] == dtype.ptr()) return static_cast<DType>(d);
  throw nb::type_error("not one of perflab.runtime's dtypes");
}

void set_dtypes(nb::sequence dtypes) {
  for (int d = 0; d < kDTypes; ++d) dtype_objects[d] = nb::object(dtypes[d]).release().ptr();
}

void set_errors(nb::object shape, nb::object dtype, nb::object index, nb::object autograd, nb::object value,
                nb::object axis, nb::object device) {
  int i = 0;
  for (nb::object* o : {&shape, &dtype, &index, &autograd, &value, &axis, &device})
    error_types[i++] = o->release().ptr();
}

nb::object empty(const std::vector<int64_t>& shape, nb::handle dtype, int device, int pinned_by) {
  Array a;
  if (shape.size() > kMaxDim)
    throw Error(ErrorKind::kShape,
                "at most " + std::to_string(kMaxDim) + " axes are possible, not " + std::to_string(shape.size()));
  a.dtype = code_of(dtype), a.ndim = static_cast<uint8_t>(shape.size());
  for (int i = 0; i < a.ndim; ++i) {
    if (shape[i] < 0) throw Error(ErrorKind::kShape, "negative size in shape " + show(shape.data(), a.ndim));
    a.shape[i] = shape[i];
  }
  a.pack();
  if (device < 0 || device >= device_count())
    throw Error(ErrorKind::kDevice, "there is no device " + std::to_string(device));
  if (pinned_by)
    a = pinned_like(a, a.dtype, perflab::device(pinned_by));
  else
    fill_storage_on(device, a);
  return nb::steal(wrap(make_tensor(std::move(a))));
}

std::string layout_of(const Py_buffer& b, Layout& to) {  // what is wrong with the buffer, or empty
  const char* format = b.format ? b.format : "B";
  static const std::pair<const char*, DType> formats[] = {
      {"?", DType::kBool},    {"b", DType::kInt8},    {"B", DType::kUInt8},      {"h", DType::kInt16},
      {"H", DType::kUInt16},  {"i", DType::kInt32},   {"I", DType::kUInt32},     {"l", DType::kInt64},
      {"L", DType::kUInt64},  {"q", DType::kInt64},   {"Q", DType::kUInt64},     {"e", DType::kFloat16},
      {"f", DType::kFloat32}, {"d", DType::kFloat64}, {"Zf", DType::kComplex64}, {"Zd", DType::kComplex128}};
  bool known = false;
  for (auto [f, d] : formats)
    if (!std::strcmp(f, format) && item_size(d) == static_cast<size_t>(b.itemsize)) to.dtype = d, known = true;
  if (reinterpret_cast<uintptr_t>(b.buf) % std::min<size_t>(b.itemsize ? b.itemsize : 1, 8))
    return "the elements are not aligned to their size: pass array.copy()";
  if (!known)
    return std::string("elements of format '") + format + "' have no dtype here: convert them with astype first";
  if (b.ndim > kMaxDim) return "more than " + std::to_string(kMaxDim) + " axes";
  to.ndim = static_cast<uint8_t>(b.ndim), to.data = b.buf;
  for (int i = 0; i < b.ndim; ++i) {
    if (b.strides[i] % b.itemsize) return "the strides are no multiples of the element size: pass a copy";
    to.shape[i] = b.shape[i], to.strides[i] = b.strides[i] / b.itemsize;
  }
  to.measure();
  return {};
}

// `like`: a tensor on whose device the values are wanted; on the CPU the tensor shares the array's memory.
nb::object from_numpy(nb::object array, nb::object like) {
  // The buffer protocol lacks bfloat16: its arrays come as uint16.
  const nb::object given = nb::getattr(array, "dtype", nb::none());
  const bool brain = given.equal(nb::borrow(dtype_objects[static_cast<int>(DType::kBFloat16)]).attr("numpy"));
  if (brain) array = array.attr("view")("uint16");
  nb::object view = nb::steal(PyMemoryView_FromObject(array.ptr()));
  if (!view) throw nb::python_error();
  const Py_buffer& b = *PyMemoryView_GET_BUFFER(view.ptr());
  Array a;
  std::string wrong = layout_of(b, a);
  if (brain) a.dtype = DType::kBFloat16;
  if (!wrong.empty()) throw Error(ErrorKind::kDType, "from_numpy: " + wrong);
  if (b.readonly)
    throw Error(ErrorKind::kValue, "from_numpy: the array is read-only, and a tensor is not: pass array.copy()");
  a.storage = adopt_storage(a.data, a.bytes(), view.release().ptr(),
                            [](Storage* s) { let_go(static_cast<PyObject*>(s->owner)); });
  if (is_tensor(like.ptr()) && impl_of(like.ptr())->device) a = transfer(a, impl_of(like.ptr())->device);
  return nb::steal(wrap(make_tensor(std::move(a))));
}

// The same memory read as another dtype with elements of the same size.
nb::object reinterpret(nb::handle tensor, nb::handle dtype) {
  if (!is_tensor(tensor.ptr())) throw nb::type_error("reinterpret takes a Tensor");
  const TensorImpl& from = *impl_of(tensor.ptr());
  DType to = code_of(dtype);
  if (item_size(from.dtype) != item_size(to))
    throw Error(ErrorKind::kDType,
                std::string(name(from.dtype)) + " elements cannot be read as " + name(to) + ": their sizes differ");
  Array a;
  a.alias(from);
  a.dtype = to;
  return nb::steal(wrap(make_tensor(std::move(a))));
}

nb::tuple storage(nb::handle tensor) {  // address and bytes
  if (!is_tensor(tensor.ptr())) throw nb::type_error("storage takes a Tensor");
  const Storage* s = impl_of(tensor.ptr())->storage;
  return nb::make_tuple(reinterpret_cast<uintptr_t>(s ? s->data : nullptr), s ? s->bytes : 0);
}

nb::object set_default_dtype(nb::handle dtype) {
  DType d = code_of(dtype);
  if (kind(d) != DKind::kFloat)
    throw Error(ErrorKind::kDType, std::string("the default dtype must be a float, not ") + name(d));
  return nb::borrow(dtype_objects[static_cast<int>(std::exchange(default_dtype, d))]);
}

nb::object promote_dtypes(nb::handle a, nb::handle b) {  // None: nothing holds both
  DType to;
  if (!promote(code_of(a), code_of(b), to)) return nb::none();
  return nb::borrow(dtype_objects[static_cast<int>(to)]);
}

// In inference mode nothing is recorded, whatever is asked for.
bool set_grad_mode(bool on) { return std::exchange(grad_enabled, on && !(modes & kInference)); }

nb::dict live_stats() {
  nb::dict d;
  d["allocated_bytes"] = live_storage_bytes(), d["reserved_bytes"] = host_allocator().reserved_bytes();
  d["live_tensors"] = live_tensors(), d["live_nodes"] = live_nodes();
  return d;
}

}  // namespace

void bind_tensor(nb::module_& m) {
  m.def("set_dtypes", set_dtypes);
  m.def("set_errors", set_errors);
  m.def("empty", empty, "shape"_a, "dtype"_a, "device"_a = 0, "pinned_by"_a = 0);
  m.def("from_numpy", from_numpy, "array"_a, "like"_a.none() = nb::none());
  m.def("reinterpret", reinterpret, "tensor"_a, "dtype"_a);
  m.def("storage", storage, "tensor"_a);
  m.def("set_default_dtype", set_default_dtype, "dtype"_a);
  m.def("default_dtype", [] { return nb::borrow(dtype_objects[static_cast<int>(default_dtype)]); });
  m.def("promote_dtypes", promote_dtypes, "a"_a, "b"_a);
  m.def("set_numpy_types", [](nb::tuple types) { numpy_types = types.release().ptr(); });
  m.def("grad_mode", set_grad_mode, "on"_a);
  m.def("is_grad_enabled", [] { return grad_enabled; });
  m.def("is_inference_mode_enabled", [] { return (modes & kInference) != 0; });
  m.def("live_stats", live_stats);
}

}  // namespace perflab
