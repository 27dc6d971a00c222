// A thread that takes the GIL now and then and records how long that took: samples, where the GIL cannot be traced.
#pragma once
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace perflab {

class GilProbe {
 public:
  explicit GilProbe(double interval_s);  // the GIL is held, in all of it
  ~GilProbe() { stop(); }
  GilProbe(const GilProbe&) = delete;
  void stop();  // nothing the second time, and in a forked child
  uint64_t thread() const { return thread_id_; }
  uint64_t samples() const { return is_running() ? shared_->samples.load() : last_; }

 private:
  bool is_running() const { return shared_ && thread_.joinable(); }
  struct Shared {  // with the thread
    std::mutex mutex;
    std::condition_variable changed;
    bool stopping = false;
    std::atomic<uint64_t> thread{0}, samples{0};
    void run(double interval_s);
    bool sample();
  };
  // Left as it is in a forked child: there the end of a condition variable waits for its waiter for ever.
  Shared* shared_;
  uint64_t thread_id_ = 0, last_ = 0;  // samples, when it was stopped
  int process_;
  std::thread thread_;
};

}  // namespace perflab
