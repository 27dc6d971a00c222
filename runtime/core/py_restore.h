// The GIL back after PyEval_SaveThread.
#pragma once
#include <Python.h>

namespace perflab {

// While the interpreter ends, Python ends the other threads that ask for the GIL, by unwinding their stacks. Ours have
// destructors on them, and nanobind's, that may not be unwound: such a thread stops here, and goes with the process.
void restore_thread(PyThreadState*);

}  // namespace perflab
