// What the core throws; py_error.cpp turns each kind into the Python exception of that name (runtime/errors.py).
#pragma once
#include <stdexcept>
#include <string>

namespace perflab {

enum class ErrorKind { kShape, kDType, kIndex, kAutograd, kValue, kAxis, kDevice };

struct Error : std::runtime_error {
  ErrorKind kind;
  Error(ErrorKind kind, const std::string& what) : runtime_error(what), kind(kind) {}
};

// Python's own exception is set already; the core only unwinds.
struct PythonError : std::runtime_error {
  PythonError() : runtime_error("an exception raised in Python") {}
};

}  // namespace perflab
