// How Python is made to look for pending calls at its next function call, loop or return from C.
#pragma once
#include "py.h"

namespace perflab {

bool can_interrupt();  // whether it is known how, in this interpreter
// From any thread, without the GIL: the main thread, whose state this is, runs the pending calls.
void interrupt(PyThreadState* main);

}  // namespace perflab
