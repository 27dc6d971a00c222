// From Python 3.13 on Py_AddPendingCall tells the main thread. Before, the thread that adds the call works out whether
// there is something to be done, and finds that there is nothing, as it may not run the call itself. The interpreter's
// flag is set here, as CPython does when a thread asks for the GIL; its place is in internal headers.
#define Py_BUILD_CORE
#include "py_breaker.h"

#include <atomic>
#if PY_VERSION_HEX < 0x030D0000 && defined(__has_include)
#if __has_include(<internal/pycore_interp.h>)
#define PERFLAB_HAS_BREAKER
#undef HAVE_STD_ATOMIC  // C's own, which C++ does not have
#include <internal/pycore_interp.h>
#endif
#endif

namespace perflab {

#ifdef Py_GIL_DISABLED
bool can_interrupt() { return false; }
void interrupt(PyThreadState*) {}
bool gil_is_free() { return false; }
#elif PY_VERSION_HEX >= 0x030D0000
bool can_interrupt() { return true; }
void interrupt(PyThreadState*) {}
bool gil_is_free() { return false; }
#elif defined(PERFLAB_HAS_BREAKER)

// That the limit stands beside it shows that the headers are those of this interpreter.
bool can_interrupt() { return PyInterpreterState_Main()->ceval.recursion_limit == Py_GetRecursionLimit(); }

#if PY_VERSION_HEX < 0x030C0000
namespace {
bool is_running(PyThreadState* thread) { return _PyThreadState_UncheckedGet() == thread; }
}  // namespace
bool gil_is_free() { return _PyThreadState_UncheckedGet() == nullptr; }
#else
namespace {
bool is_running(PyThreadState* thread) {
  const uintptr_t last = std::atomic_ref(thread->interp->ceval.gil->last_holder._value).load(std::memory_order_relaxed);
  return last == reinterpret_cast<uintptr_t>(thread);
}
}  // namespace
bool gil_is_free() {
  return std::atomic_ref(PyInterpreterState_Main()->ceval.gil->locked._value).load(std::memory_order_relaxed) == 0;
}
#endif

void interrupt(PyThreadState* main) {
  if (!is_running(main)) return;  // it looks by itself when it gets the GIL, and others would look in vain
  std::atomic_ref(main->interp->ceval.eval_breaker._value).store(1, std::memory_order_relaxed);
}

#else
bool can_interrupt() { return false; }
void interrupt(PyThreadState*) {}
bool gil_is_free() { return false; }
#endif

}  // namespace perflab
