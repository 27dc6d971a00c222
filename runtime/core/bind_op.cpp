// Ops as Python declares them (runtime/registry.py), and the way back: shape rules, kernels and gradients written in
// Python.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace perflab {
namespace {

// The registry's functions; held for ever.
PyObject *infer_callback = nullptr, *kernel_callback = nullptr, *trace_callback = nullptr;

DTypeRule dtype_rule(const std::string& name) {
  constexpr const char* names[] = {"promote", "float", "bool", "first",  "second",        "real",
                                   "sum",     "index", "attr", "python", "python_promote"};
  for (size_t i = 0; i < std::size(names); ++i)
    if (name == names[i]) return static_cast<DTypeRule>(i);
  throw nb::value_error(("no dtype rule called " + name).c_str());
}

nb::object define(nb::object record, const std::string& name, int nin, nb::object rule, const std::string& dtypes,
                  uint32_t casts, uint32_t likes, uint32_t differentiable, bool pointwise, nb::object returns,
                  nb::sequence attrs, bool spreads) {
  if (find_op(name)) throw nb::value_error(("there is an op called " + name + " already").c_str());
  if (nin > kMostInputs)
    throw nb::value_error((name + " has more than " + std::to_string(kMostInputs) + " inputs: make it a list").c_str());
  auto op = std::make_unique<Op>();
  op->id = static_cast<uint16_t>(ops().size()), op->name = name, op->nin = nin, op->dtype_rule = dtype_rule(dtypes);
  op->casts = casts, op->likes = likes, op->differentiable = differentiable, op->pointwise = pointwise,
  op->spreads = spreads;
  if (!returns.is_none()) {
    op->nout = static_cast<int>(nb::len(nb::object(returns.attr("_fields"))));
    op->result_type = returns.release().ptr();
  }
  op->updates = nb::cast<bool>(record.attr("updates"));
  for (nb::handle h : attrs) {
    AttrSig s;
    s.name = nb::cast<std::string>(h[0]), s.alias = nb::cast<std::string>(h[1]),
    s.kind = nb::cast<std::string>(h[2])[0];
    s.required = nb::cast<bool>(h[3]), s.at = static_cast<uint8_t>(op->words);
    int words = word_count(s.kind);
    if (op->words + words > kMaxAttr) throw nb::value_error((name + " has more attributes than fit").c_str());
    op->words += words;
    if (!s.required) {
      s.preset.resize(words);
      if (!to_words(name, s, nb::object(h[4]).ptr(), s.preset.data())) throw nb::python_error();
    }
    op->attrs.push_back(std::move(s));
  }
  if (!rule.is_none()) {
    auto wanted = nb::cast<std::string>(rule);
    const ShapeRule* found = shape_rule(wanted);
    if (!found) throw nb::value_error(("no shape rule called " + wanted).c_str());
    std::string kinds;
    for (const AttrSig& s : op->attrs) kinds += s.kind;
    if (!kinds.starts_with(found->attrs))
      throw nb::value_error(
          (name + ": the shape rule " + wanted + " reads attributes of kinds " + found->attrs + ", the op has " + kinds)
              .c_str());
    op->infer = found->infer;
    if ((op->outputs = found->outputs)) op->nout = 0;
    op->contracts = wanted == "matmul";
    op->moves = wanted.starts_with("transfer");
  }
  for (const NativeKernel& k : native_kernels())
    if (name == k.op) op->native[static_cast<int>(k.dtype)] = k.kernel;
  op->record = record.inc_ref().ptr();
  ops().push_back(std::move(op));
  return nb::steal(make_handle(*ops().back(), false));
}

std::vector<std::string> finish_ops() {
  bind_operators();
  std::vector<std::string> orphans;
  for (const NativeKernel& k : native_kernels())
    if (!find_op(k.op) && (orphans.empty() || orphans.back() != k.op)) orphans.push_back(k.op);
  return orphans;
}

// --- shape rules and kernels in Python
nb::object specs(In in, int nin) {
  nb::list l;
  for (int i = 0; i < nin; ++i)
    l.append(nb::make_tuple(nb::steal(shape_tuple(in[i]->shape, in[i]->ndim)), static_cast<int>(in[i]->dtype)));
  return l;
}

nb::object tensors(const Array* const* arrays, int n) {
  nb::list l;
  for (int i = 0; i < n; ++i) {
    TensorImpl* t = make_tensor();
    t->alias(*arrays[i]);
    if (!t->storage && t->data) {  // a number: numpy needs memory that stays
      t->fill_storage();
      copy_into(*arrays[i], *t);
    }
    l.append(nb::steal(wrap(t)));
  }
  return l;
}

nb::object attributes(const Op& op, const Attrs& attrs) {
  PyObject* d = to_dict(op, attrs);
  if (!d) throw PythonError();
  return nb::steal(d);
}

template <class F>
void in_python(const Op& op, F f) {
  Gil gil("python kernel of " + op.name);
  GradMode off(false);
  try {
    f();
  } catch (nb::python_error& e) {
    e.restore();
    throw PythonError();
  }
}

void infer_in_python(const Op& op, In in, int nin, const Attrs& attrs, Array* out, int nout) {
  in_python(op, [&] {
    nb::object r = nb::borrow(infer_callback)(nb::borrow(static_cast<PyObject*>(op.record)), specs(in, nin),
                                              attributes(op, attrs));
    if (static_cast<int>(nb::len(r)) != nout)
      throw Error(ErrorKind::kShape, op.name + ": its shape rule gave " + std::to_string(nb::len(r)) +
                                         " outputs, it declares " + std::to_string(nout));
    for (int k = 0; k < nout; ++k) {
      nb::object shape = r[k][0];
      out[k].ndim = static_cast<uint8_t>(nb::len(shape));
      if (nb::len(shape) > kMaxDim)
        throw Error(ErrorKind::kShape, op.name + ": more than " + std::to_string(kMaxDim) + " axes");
      for (int i = 0; i < out[k].ndim; ++i) out[k].shape[i] = nb::cast<int64_t>(shape[i]);
      out[k].dtype = static_cast<DType>(nb::cast<int>(r[k][1]));
      out[k].pack();
    }
  });
}

void kernel_in_python(const Op& op, In in, int nin, const Attrs& attrs, Array* out, int nout) {
  in_python(op, [&] {
    std::vector<const Array*> outs;
    for (int k = 0; k < nout; ++k) outs.push_back(out + k);
    nb::borrow(kernel_callback)(nb::borrow(static_cast<PyObject*>(op.record)), tensors(in, nin), attributes(op, attrs),
                                tensors(outs.data(), nout));
  });
}

// --- gradients
// Attributes of a call inside a formula: values given, references to the forward call's, presets for the rest.
void set_attrs(Call& c, nb::dict given, nb::dict forwarded, const Op& forward) {
  auto attr = [](const Op& op, nb::handle name) -> const AttrSig& {
    auto wanted = nb::cast<std::string>(name);
    for (const AttrSig& s : op.attrs)
      if (s.name == wanted || s.alias == wanted) return s;
    throw nb::value_error((op.name + " has no attribute " + wanted).c_str());
  };
  for (const AttrSig& s : c.op->attrs)
    if (!s.required) std::memcpy(c.attrs.v + s.at, s.preset.data(), s.preset.size() * sizeof(int64_t));
  for (auto [key, value] : given) {
    const AttrSig& s = attr(*c.op, key);
    if (!to_words(c.op->name, s, value.ptr(), c.attrs.v + s.at)) throw nb::python_error();
  }
  for (auto [key, value] : forwarded) {
    const AttrSig &to = attr(*c.op, key), &from = attr(forward, value);
    int words = word_count(from.kind);
    if (word_count(to.kind) < words)
      throw nb::value_error(
          (c.op->name + ": attribute " + to.name + " cannot take the forward op's " + from.name).c_str());
    for (int w = 0; w < words; ++w)
      c.from_forward.emplace_back(static_cast<uint8_t>(to.at + w), static_cast<uint8_t>(from.at + w));
  }
}

Array constant(nb::handle value) {
  Array a;
  Operand unused;
  if (!operand(value.ptr(), unused, a)) throw nb::type_error("a constant of a gradient must be a number");
  return a;
}

std::unique_ptr<Program> to_program(nb::dict d, const Op& forward, int nout) {
  auto p = std::make_unique<Program>();
  for (nb::handle s : nb::list(d["saves"])) p->saves.push_back({nb::cast<int>(s[0]), nb::cast<bool>(s[1])});
  for (nb::handle c : nb::list(d["constants"])) p->constants.push_back(constant(c));
  p->first_temporary = static_cast<uint16_t>(nout + p->saves.size() + p->constants.size());
  for (nb::handle t : nb::list(d["calls"])) {
    Call c{};
    nb::object handle = t[0];
    c.op = handle_op(handle.ptr());
    if (!c.op) throw nb::type_error("a gradient may call ops alone");
    for (nb::handle s : nb::list(t[1])) c.in.push_back(nb::cast<uint16_t>(s));
    c.out = nb::cast<uint16_t>(t[2]), c.nout = nb::cast<uint16_t>(t[3]);
    for (nb::handle s : nb::list(t[4])) c.dead.push_back(nb::cast<uint16_t>(s));
    c.donate = nb::cast<bool>(t[5]) && c.op->pointwise;
    set_attrs(c, nb::dict(t[6]), nb::dict(t[7]), forward);
    p->calls.push_back(std::move(c));
  }
  for (nb::handle s : nb::list(d["outs"])) p->outs.push_back(nb::cast<int>(s));
  p->nslots = nb::cast<uint16_t>(d["nslots"]), p->specialised = nb::cast<bool>(d["specialised"]);
  return p;
}

std::unique_ptr<Program> trace_in_python(const Op& op, const Operand* in, int nin, int nout, uint32_t mask,
                                         const Attrs& attrs) {
  try {
    nb::list ndims;
    for (int i = 0; i < nin; ++i) ndims.append(static_cast<int>(in[i].array->ndim));
    nb::object d = nb::borrow(trace_callback)(nb::borrow(static_cast<PyObject*>(op.record)), ndims, nout, mask,
                                              attributes(op, attrs));
    return to_program(nb::cast<nb::dict>(d), op, nout);
  } catch (nb::python_error& e) {
    e.restore();
    throw PythonError();
  }
}

void set_callbacks(nb::object infer, nb::object kernel, nb::object trace, nb::object symbol_type,
                   nb::object symbol_call) {
  infer_callback = infer.release().ptr(), kernel_callback = kernel.release().ptr(),
  trace_callback = trace.release().ptr();
  symbol_hook.type = symbol_type.release().ptr(), symbol_hook.call = symbol_call.release().ptr();
  infer_python = infer_in_python, run_python_kernel = kernel_in_python, trace_program = trace_in_python;
}

void set_subscripts(nb::object get, nb::object set) {
  subscript_hook.get = get.release().ptr(), subscript_hook.set = set.release().ptr();
}

nb::object in_place_form(nb::object handle) {
  Op* op = handle_op(handle.ptr());
  if (!op || op->list() || op->outputs) throw nb::type_error("only ops with one output have an in-place form");
  return nb::steal(make_handle(*op, true));
}

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (auto& op : ops()) names.push_back(op->name);
  return names;
}

std::vector<std::string> native_dtypes(const std::string& op_name) {
  std::vector<std::string> names;
  const Op* op = find_op(op_name);
  for (int d = 0; op && d < kDTypes; ++d)
    if (op->native[d]) names.emplace_back(kDTypeNames[d]);
  return names;
}

}  // namespace

void bind_op(nb::module_& m) {
  m.def("define_op", define, "record"_a, "name"_a, "nin"_a, "rule"_a.none(), "dtype_rule"_a, "casts"_a, "likes"_a,
        "differentiable"_a, "pointwise"_a, "returns"_a.none(), "attrs"_a, "spreads"_a);
  m.def("finish_ops", finish_ops);
  m.def("set_callbacks", set_callbacks);
  m.def("set_subscripts", set_subscripts, "get"_a, "set"_a);
  m.def("inplace", in_place_form);
  m.def("op_names", op_names);
  m.def("native_dtypes", native_dtypes);
  m.def("load_blas", [](const std::string& path) { load_blas(path.c_str()); });
}

}  // namespace perflab
