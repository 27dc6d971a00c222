#include "py_ticker.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "py.h"
#include "py_restore.h"

namespace perflab {

Ticker::Ticker(double interval_s, const char* name, std::function<bool()> tick)
    : shared_(new Shared), process_(getpid()) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the threads that know them
  shared_->thread = std::thread(
      [shared = shared_, interval_s, name, tick = std::move(tick)] { shared->run(interval_s, name, tick); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait(lock, [&] { return shared_->number != 0; });
  thread_ = shared_->number;
}

void Ticker::stop() {
  Shared* ending = std::exchange(shared_, nullptr);
  if (!ending || getpid() != process_) return;
  {
    std::lock_guard lock(ending->mutex);
    ending->stopping = true;
  }
  ending->changed.notify_all();
  PyThreadState* state = PyEval_SaveThread();  // it may be waiting for the GIL
  ending->thread.join();
  restore_thread(state);
  delete ending;
}

void Ticker::Shared::run(double interval_s, const char* name, const std::function<bool()>& tick) {
  const auto interval = std::chrono::duration<double>(interval_s);
  std::unique_lock lock(mutex);
  pthread_setname_np(pthread_self(), name);
  number = static_cast<uint64_t>(gettid());
  changed.notify_all();
  while (!changed.wait_for(lock, interval, [&] { return stopping; })) {
    lock.unlock();
    if (!tick()) return;
    lock.lock();
  }
}

}  // namespace perflab
