// When the core gives the GIL away and takes it back, each acquisition an event.
#include <unistd.h>

#include "call_stack.h"
#include "device.h"
#include "py.h"
#include "py_restore.h"
#include "recorder.h"
#include "sim_stream.h"

namespace perflab {
namespace {

thread_local PyThreadState* thread_state = nullptr;  // of this thread, while without_gil

void give_away() {
  thread_state = PyEval_SaveThread();
  without_gil = true;
}

void get_back() {
  without_gil = false;
  restore_thread(thread_state);
}

void record(uint32_t reason, int64_t asked, int64_t got, int64_t gave_back) {
  Event& e = next_event();
  e = Event{};
  e.t0 = asked, e.t1 = got, e.t2 = gave_back, e.kind = EventKind::kGil, e.name = reason;
}

}  // namespace

void restore_thread(PyThreadState* state) {
  try {
    PyEval_RestoreThread(state);
  } catch (...) {
    for (;;) pause();
  }
}

void LateGil::take_back() {
  int64_t asked = is_recording() ? ticks() : 0;
  get_back();
  if (asked) {
    int64_t got = ticks();
    record(intern("return to Python"), asked, got, got);
  }
  if (sample_is_due.load(std::memory_order_relaxed)) take_sample();  // that its ops could not take
}

Gil::Gil(const std::string& reason) : away_(without_gil), may_(std::exchange(engine_may_release, false)) {
  if (!away_) return;
  if (is_recording()) reason_ = intern(reason), asked_ = ticks();
  get_back();
  if (asked_) got_ = ticks();
}

Gil::~Gil() {
  engine_may_release = may_;
  if (!away_) return;
  if (asked_) record(reason_, asked_, got_, ticks());
  give_away();
}

namespace {

void wait_outside(void (*f)(void*), void* context) {
  if (without_gil || !PyGILState_Check()) return f(context);
  PyThreadState* state = PyEval_SaveThread();
  f(context);
  restore_thread(state);
}

// A thread of the core's own is in Python from its first kernel there, and without the GIL in between.
void enter() {
  PyGILState_Ensure();
  give_away();
}

void leave() {
  get_back();
  PyGILState_Release(PyGILState_UNLOCKED);
}

}  // namespace

void set_gil_hooks() {
  release_gil = give_away;
  wait_without_gil = wait_outside, enter_python_thread = enter, leave_python_thread = leave;
}

}  // namespace perflab
