#include <new>

#include "py.h"

namespace perflab {

PyObject* error_types[5] = {};

PyObject* raise_current() {
  try {
    throw;
  } catch (const PythonError&) {
    if (!PyErr_Occurred())
      PyErr_SetString(PyExc_SystemError, "the core unwound for a Python exception that is not there");
  } catch (const Error& e) {
    PyObject* type = error_types[static_cast<int>(e.kind)];
    PyErr_SetString(type ? type : PyExc_RuntimeError, e.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
  return nullptr;
}

}  // namespace perflab
