#include <unistd.h>

#include "bind.h"
#include "py.h"

namespace nb = nanobind;

NB_MODULE(_core, m) {
  using namespace perflab;
  nb::set_leak_warnings(false);  // what daemon threads hold when the interpreter ends is no leak
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    while (!p) pause();  // no exception: Python unwinds a thread as the interpreter ends, see py_restore.h
    try {
      std::rethrow_exception(p);
    } catch (const nb::builtin_exception&) {
      throw;
    } catch (const nb::python_error&) {
      throw;
    } catch (...) {
      raise_current();
    }
  });
  set_gil_hooks();
  set_error_hooks();
  set_hook_calls();
  set_mode_calls();
  set_function_calls();
  for (PyMethodDef* functions : {backward_functions, mode_functions, function_functions, recorder_functions})
    if (PyModule_AddFunctions(m.ptr(), functions) < 0) throw nb::python_error();
  for (auto [name, type] : {std::pair{"Tensor", make_tensor_type()},
                            {"OpHandle", make_op_type()},
                            {"Node", make_node_type()},
                            {"Annotation", make_annotation_type()}}) {
    if (!type) throw nb::python_error();
    m.attr(name) = nb::borrow(reinterpret_cast<PyObject*>(type));
  }
  bind_tensor(m);
  bind_op(m);
  bind_recorder(m);
  bind_optim(m);
  bind_random(m);
  bind_chrome(m);
  bind_threads(m);
  bind_gil(m);
  bind_device(m);
  bind_cuda(m);
  bind_memory(m);
}
