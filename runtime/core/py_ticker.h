// A thread that does something at each interval, until it is stopped.
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace perflab {

class Ticker {  // the GIL is held, in all of it
 public:
  // `tick` runs on the thread, without the GIL; where it gives false the thread ends. `name` is the thread's.
  Ticker(double interval_s, const char* name, std::function<bool()> tick);
  ~Ticker() { stop(); }
  Ticker(const Ticker&) = delete;
  void stop();  // nothing the second time, and in a forked child
  uint64_t thread() const { return thread_; }

 private:
  struct Shared {  // with the thread
    std::mutex mutex;
    std::condition_variable changed;
    bool stopping = false;
    std::atomic<uint64_t> number{0};
    std::thread thread;
    void run(double interval_s, const char* name, const std::function<bool()>& tick);
  };
  // Left as it is in a forked child: it has no such thread, and the end of a condition variable would wait for it.
  Shared* shared_;
  const int process_;
  uint64_t thread_;
};

}  // namespace perflab
