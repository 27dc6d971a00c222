// How Python is made to look for pending calls at its next function call, loop or return from C; and whether somebody
// computes in it now.
#pragma once
#include "py.h"

namespace perflab {

bool can_interrupt();  // whether it is known how, in this interpreter
// From any thread, without the GIL: the main thread, whose state this is, runs the pending calls.
void interrupt(PyThreadState* main);
bool gil_is_free();  // at this moment, and as far as it is known

}  // namespace perflab
