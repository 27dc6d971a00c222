// A stream of a simulated device: a queue of tasks, which one thread works off in order.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string>

namespace perflab {

class SimStream {
 public:
  // `fail` gets what a task throws, on the stream's thread.
  SimStream(std::string name, std::function<void(std::exception_ptr)> fail)
      : name_(std::move(name)), fail_(std::move(fail)) {}
  SimStream(const SimStream&) = delete;
  const std::string& name() const { return name_; }

  using Task = std::function<void()>;
  uint64_t add(Task);  // its place: all tasks up to it are done when has_passed(place)
  uint64_t place();    // of the last one
  bool has_passed(uint64_t place);
  void wait(uint64_t place);  // on any other thread; the caller has let go of the GIL
  void stop();                // when all is done
  uint64_t thread();          // the operating system's id, 0: it does not run
  // In a forked child there is no thread, and what was to be done is the parent's.
  std::mutex& mutex() { return mutex_; }
  void forget();

 private:
  void work();

  const std::string name_;
  const std::function<void(std::exception_ptr)> fail_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::deque<Task> tasks_;
  uint64_t added_ = 0, passed_ = 0;
  uint64_t thread_ = 0;
  bool running_ = false, stopping_ = false;
};

// Called on each thread of a stream when it begins and ends, so that it may go into Python. Null: there is none.
extern void (*enter_python_thread)();
extern void (*leave_python_thread)();
// In a catch block: the exception as one that another thread can throw.
extern std::exception_ptr (*keep_exception)();

}  // namespace perflab
