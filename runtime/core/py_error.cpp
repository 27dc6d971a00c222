#include <new>

#include "allocator.h"
#include "out_of_memory.h"
#include "py.h"

namespace perflab {

PyObject* error_types[6] = {};

PyObject* raise_current() {
  try {
    throw;
  } catch (const PythonError&) {
    if (!PyErr_Occurred())
      PyErr_SetString(PyExc_SystemError, "the core unwound for a Python exception that is not there");
  } catch (const Error& e) {
    PyObject* type = error_types[static_cast<int>(e.kind)];
    PyErr_SetString(type ? type : PyExc_RuntimeError, e.what());
  } catch (const OutOfMemory& e) {
    PyErr_Format(PyExc_MemoryError,
                 "no memory for %zu bytes (%zu are reserved): use smaller tensors, or let go of some first", e.asked,
                 reserved_bytes());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
  return nullptr;
}

}  // namespace perflab
