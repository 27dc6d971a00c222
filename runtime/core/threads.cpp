#include "threads.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <thread>

#include "error.h"
#include "fork.h"
#include "patience.h"

namespace perflab {
namespace {

constexpr int kMost = 256;

constexpr int64_t kPartsEach = 4;  // a thread that is interrupted leaves its other parts to the others

struct Job {
  int64_t n, part;
  void (*work)(const void*, int64_t, int64_t);
  const void* context;
  std::atomic<int64_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr error{};  // of the first that failed
  int inside = 0;              // helpers that work on it

  void take_parts() noexcept {
    try {
      for (int64_t i; (i = next.fetch_add(part, std::memory_order_relaxed)) < n;)
        work(context, i, std::min(n, i + part));
    } catch (...) {
      next = n;
      if (!failed.exchange(true)) error = std::current_exception();
    }
  }
};

// Signals are for the threads that know them.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

class Pool {
 public:
  std::atomic<int> size{std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMost)};

  Pool() {
    hold_across_fork(mutex_, [] { pool().forget_threads(); });
  }

  static Pool& pool() {
    static Pool& shared = *new Pool;  // never destroyed: its threads end with the process
    return shared;
  }

  // A fresh start: what was learned of the helpers before is forgotten.
  void resize(int n) {
    std::lock_guard lock(mutex_);
    size.store(n, std::memory_order_relaxed);
    patience_ = {};
  }

  void run(Job& job) {
    if (!offer(job)) return job.work(job.context, 0, job.n);
    const int64_t begun = now();
    job.take_parts();
    const int64_t worked = now();
    std::unique_lock lock(mutex_);
    job_ = nullptr;  // who wakes from now on finds nothing
    done_.wait(lock, [&] { return job.inside == 0; });
    patience_.note(worked - begun, now() - worked);
    if (job.error) std::rethrow_exception(job.error);
  }

 private:
  bool offer(Job& job) {
    const int64_t most = size.load(std::memory_order_relaxed), parts = std::min(job.n / job.part, kPartsEach * most);
    const int helpers = static_cast<int>(std::min(most, parts)) - 1;
    if (helpers <= 0) return false;
    job.part *= (job.n / job.part + parts - 1) / parts;
    {
      std::lock_guard lock(mutex_);
      if (job_ || !patience_.next()) return false;
      while (threads_ < helpers && start()) ++threads_;
      job_ = &job, places_ = helpers;
    }
    for (int i = 0; i < helpers; ++i) wake_.notify_one();
    return true;
  }

  static int64_t now() { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

  bool start() {
    SignalsHeld held;
    try {
      std::thread([this] { help(); }).detach();
      return true;
    } catch (const std::system_error&) {  // fewer threads do as well
      return false;
    }
  }

  void help() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return job_ && places_ > 0; });
      Job* job = job_;
      --places_, ++job->inside;
      lock.unlock();
      job->take_parts();
      lock.lock();
      if (--job->inside == 0) done_.notify_all();  // of other jobs there may be who waits, too
    }
  }

  // In a forked child there is none of them, and nobody waits any more.
  void forget_threads() {
    new (&wake_) std::condition_variable;
    new (&done_) std::condition_variable;
    job_ = nullptr, places_ = threads_ = 0;
    patience_ = {};
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  Job* job_ = nullptr;
  Patience patience_;
  int places_ = 0;   // for threads that may still join the job
  int threads_ = 0;  // that were started
};

}  // namespace

int num_threads() { return Pool::pool().size.load(std::memory_order_relaxed); }

void set_num_threads(int n) {
  if (n < 1 || n > kMost)
    throw Error(ErrorKind::kValue,
                "the number of threads must be from 1 to " + std::to_string(kMost) + ", not " + std::to_string(n));
  Pool::pool().resize(n);
}

void share_parts(int64_t n, int64_t grain, void (*work)(const void*, int64_t, int64_t), const void* context) {
  Job job{n, grain, work, context};
  Pool::pool().run(job);
}

}  // namespace perflab
