#include <memory>
#include <new>

#include "out_of_memory.h"
#include "py.h"
#include "sim_stream.h"

namespace perflab {

PyObject* error_types[7] = {};
PyObject* out_of_memory_type = nullptr;

namespace {

struct KeptError {  // an exception of Python's on its way to another thread
  std::shared_ptr<PyObject> value;
};

// The exception in flight; of Python's, what this thread's interpreter state holds.
std::exception_ptr keep() {
  try {
    throw;
  } catch (const PythonError&) {
    Gil gil("an error");
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback) PyException_SetTraceback(value, traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return std::make_exception_ptr(KeptError{std::shared_ptr<PyObject>(value, let_go)});
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

void set_error_hooks() { keep_exception = keep; }

PyObject* raise_current() {
  try {
    throw;
  } catch (const PythonError&) {
    if (!PyErr_Occurred())
      PyErr_SetString(PyExc_SystemError, "the core unwound for a Python exception that is not there");
  } catch (const KeptError& e) {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(e.value.get())), e.value.get());
  } catch (const Error& e) {
    PyObject* type = error_types[static_cast<int>(e.kind)];
    PyErr_SetString(type ? type : PyExc_RuntimeError, e.what());
  } catch (const OutOfMemory& e) {
    PyErr_SetString(out_of_memory_type ? out_of_memory_type : PyExc_MemoryError, describe(e).c_str());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
  return nullptr;
}

}  // namespace perflab
