#include "py_sampler.h"

#include <pthread.h>
#include <unistd.h>

#include <cstdint>

#include "call_stack.h"
#include "clock.h"
#include "error.h"
#include "py_breaker.h"

namespace perflab {
namespace {

constexpr int kInstruction = 2;  // bytes

std::vector<StackSampler*> running;    // under the GIL
std::atomic<bool> is_pending{false};   // a call waits in Python's queue, which is short
PyThreadState* main_thread = nullptr;  // while some run

PyThreadState* checked_main() {
  if (!can_interrupt()) throw Error(ErrorKind::kValue, "this Python cannot be asked to call back");
  // in a forked child the thread that has just set it may not be there to add the call
  [[maybe_unused]] static const int registered = pthread_atfork(nullptr, nullptr, [] { is_pending = false; });
  return main_thread = PyThreadState_Get();
}

}  // namespace

StackSampler::StackSampler(double interval_s)
    : main_(checked_main()), ticker_(interval_s, "stack sampler", [this] { return ask(); }) {
  take_sample = take_due;
  running.push_back(this);
}

StackSampler::~StackSampler() { stop(); }

void StackSampler::stop() {
  std::erase(running, this);
  ticker_.stop();
}

bool StackSampler::ask() {  // on the ticker's thread
  if (!Py_IsInitialized()) return false;
  if (due_.exchange(true) && !seen_ && gil_is_free()) look();
  sample_is_due = true;
  if (!is_pending.exchange(true) && Py_AddPendingCall(on_pending_call, nullptr) != 0) is_pending = false;
  interrupt(main_);
  return true;
}

void StackSampler::look() {
  PyGILState_STATE state;
  try {
    state = PyGILState_Ensure();
  } catch (...) {  // Python ends threads that come this late, by unwinding them; see py_restore.h
    for (;;) pause();
  }
  if (due_) seen_ = table_.number_of(walk_stack(main_, SIZE_MAX));
  PyGILState_Release(state);
}

int StackSampler::on_pending_call(void*) {
  is_pending = false;
  take_due();
  return 0;
}

void StackSampler::take_due() {
  if (without_gil || !PyGILState_Check() || PyThreadState_Get() != main_thread) return;
  if (!sample_is_due.exchange(false)) return;
  const int64_t now = ticks();
  Stack stack = walk_stack(main_thread, SIZE_MAX);
  // A function that just begins did nothing yet: the time was its caller's.
  if (stack.size() > 1) {
    auto [code, instruction] = stack.front();
    if (instruction <= code->_co_firsttraceable * kInstruction) stack.erase(stack.begin());
  }
  for (StackSampler* s : running) {
    if (!s->due_.exchange(false)) continue;
    const uint32_t seen = s->seen_.exchange(0);
    s->samples_.push_back({now, seen ? seen : s->table_.number_of(Stack(stack))});
    s->spent_ += ticks() - now;
  }
}

PyObject* StackSampler::samples() const {
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(samples_.size()));
  for (size_t i = 0; list && i < samples_.size(); ++i) {
    PyObject* pair = Py_BuildValue("(LI)", static_cast<long long>(samples_[i].tick), samples_[i].stack);
    if (pair)
      PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), pair);
    else
      Py_CLEAR(list);
  }
  return list;
}

}  // namespace perflab
