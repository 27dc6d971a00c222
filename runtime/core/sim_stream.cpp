#include "sim_stream.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <new>
#include <thread>

namespace perflab {

void (*enter_python_thread)() = nullptr;
void (*leave_python_thread)() = nullptr;
std::exception_ptr (*keep_exception)() = std::current_exception;

uint64_t SimStream::add(Task task) {
  std::lock_guard lock(mutex_);
  if (!running_) {
    sigset_t all, before;  // signals are for the threads that know them
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([this] { work(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    running_ = true;
  }
  tasks_.push_back(std::move(task));
  wake_.notify_one();
  return ++added_;
}

uint64_t SimStream::place() {
  std::lock_guard lock(mutex_);
  return added_;
}

bool SimStream::has_passed(uint64_t place) {
  std::lock_guard lock(mutex_);
  return passed_ >= place;
}

void SimStream::wait(uint64_t place) {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return passed_ >= place; });
}

void SimStream::stop() {
  std::unique_lock lock(mutex_);
  if (!running_) return;
  stopping_ = true;
  wake_.notify_one();
  done_.wait(lock, [&] { return !running_; });
  stopping_ = false;
}

uint64_t SimStream::thread() {
  std::lock_guard lock(mutex_);
  return thread_;
}

void SimStream::forget() {
  new (&wake_) std::condition_variable;
  new (&done_) std::condition_variable;
  tasks_.clear();
  passed_ = added_, running_ = stopping_ = false;
}

void SimStream::work() {
  pthread_setname_np(pthread_self(), name_.substr(0, 15).c_str());
  if (enter_python_thread) enter_python_thread();
  std::unique_lock lock(mutex_);
  thread_ = static_cast<uint64_t>(gettid());
  for (;;) {
    wake_.wait(lock, [&] { return !tasks_.empty() || stopping_; });
    if (tasks_.empty()) break;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    try {
      task();
    } catch (...) {
      fail_(keep_exception());
    }
    task = nullptr;  // what it holds goes before others see that it is done
    lock.lock();
    ++passed_;
    done_.notify_all();
  }
  lock.unlock();
  if (leave_python_thread) leave_python_thread();
  lock.lock();
  running_ = false, thread_ = 0;
  done_.notify_all();
}

}  // namespace perflab
