#include "py_gil_probe.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>

#include "py.h"
#include "recorder.h"

namespace perflab {

GilProbe::GilProbe(double interval_s) : shared_(new Shared), process_(getpid()) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the threads that know them
  thread_ = std::thread([shared = shared_, interval_s] { shared->run(interval_s); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait(lock, [&] { return shared_->thread != 0; });
  thread_id_ = shared_->thread;
}

void GilProbe::stop() {
  if (!thread_.joinable()) return;
  if (getpid() != process_) return thread_.detach();  // it is not in the child
  {
    std::lock_guard lock(shared_->mutex);
    shared_->stopping = true;
  }
  shared_->changed.notify_all();
  PyThreadState* state = PyEval_SaveThread();  // it may be waiting for the GIL
  thread_.join();
  PyEval_RestoreThread(state);
  last_ = shared_->samples;
  delete shared_;
  shared_ = nullptr;
}

void GilProbe::Shared::run(double interval_s) {
  const auto interval = std::chrono::duration<double>(interval_s);
  std::unique_lock lock(mutex);
  pthread_setname_np(pthread_self(), "GIL probe");
  thread = static_cast<uint64_t>(gettid());
  changed.notify_all();
  while (!changed.wait_for(lock, interval, [&] { return stopping; })) {
    lock.unlock();
    if (!sample()) return;
    lock.lock();
  }
}

// False: the interpreter ends, and the GIL is not to be had any more.
bool GilProbe::Shared::sample() {
  if (!Py_IsInitialized()) return false;
  const int64_t asked = ticks();
  PyGILState_STATE state;
  try {
    state = PyGILState_Ensure();
  } catch (...) {  // Python ends threads that come this late, by unwinding them; see py_gil.cpp
    for (;;) pause();
  }
  const int64_t got = ticks();
  PyGILState_Release(state);
  ++samples;
  if (!is_recording()) return true;
  Event& e = next_event();
  e = Event{};
  e.t0 = asked, e.t1 = e.t2 = got, e.kind = EventKind::kGil, e.name = intern("probe");
  return true;
}

}  // namespace perflab
