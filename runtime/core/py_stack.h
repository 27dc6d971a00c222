// Python's stacks at events, while record_stacks(true) holds.
#pragma once
#include "py.h"

namespace perflab {

void record_stacks(bool on);
// By number, from 1: [(file, line, function), ...], the innermost first. A new reference, or null and Python's error.
PyObject* list_stacks();

}  // namespace perflab
