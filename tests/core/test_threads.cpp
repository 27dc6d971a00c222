#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "check.h"
#include "error.h"
#include "patience.h"
#include "threads.h"

namespace perflab {
namespace {

class Threads {  // a number of threads, for one test
 public:
  explicit Threads(int n) : before_(num_threads()) { set_num_threads(n); }
  ~Threads() { set_num_threads(before_); }

 private:
  int before_;
};

// Whether every item was visited once, and every part began at a multiple of the grain.
bool covers(int64_t n, int64_t grain) {
  std::vector<std::atomic<int>> visits(static_cast<size_t>(n));
  std::atomic<bool> even{true};
  share(n, grain, [&](int64_t begin, int64_t end) {
    if (begin % grain) even = false;
    for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
  });
  for (const auto& v : visits)
    if (v != 1) return false;
  return even;
}

TEST(parts_cover_the_work_once) {
  for (int threads : {1, 2, 5}) {
    Threads set(threads);
    for (int64_t n : {0, 1, 7, 8, 15, 16, 17, 1000}) {
      for (int64_t grain : {1, 8, 2000}) CHECK(covers(n, grain));
    }
  }
}

TEST(several_threads_work_at_once) {
  Threads set(3);
  std::atomic<int> met{0};
  share(3, 1, [&](int64_t, int64_t) {  // each waits for the others
    ++met;
    while (met < 3) std::this_thread::yield();
  });
  CHECK(met == 3);
}

TEST(shared_work_may_share_again) {
  Threads set(3);
  std::atomic<int64_t> sum{0};
  share(8, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      share(100, 10, [&](int64_t from, int64_t to) { sum += to - from; });
    }
  });
  CHECK(sum == 800);
}

TEST(many_callers_at_once) {
  Threads set(3);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int k = 0; k < 4; ++k) {
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) wrong += !covers(64, 4);
    });
  }
  for (std::thread& t : callers) t.join();
  CHECK(wrong == 0);
}

// Two callers wait at once, each for a helper of its own; both helpers end together. The work outlives the test where
// a caller is forgotten.
TEST(callers_that_wait_at_once_are_all_woken) {
  Threads set(3);
  struct Shared {
    std::atomic<int> helpers{0};
    std::atomic<bool> released{false};
  };
  auto s = std::make_shared<Shared>();
  std::vector<std::future<void>> callers;
  for (int k = 0; k < 2; ++k) {
    std::packaged_task<void()> call([s, k] {
      const auto caller = std::this_thread::get_id();
      share(2 + k, 1, [&](int64_t, int64_t) {  // the second asks for one helper more, as the first has one
        if (std::this_thread::get_id() != caller) {
          ++s->helpers;
          while (!s->released) std::this_thread::yield();
        }
        while (s->helpers <= k) std::this_thread::yield();
      });
    });
    callers.push_back(call.get_future());
    std::thread(std::move(call)).detach();
    while (s->helpers <= k) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // until it waits
  }
  s->released = true;
  for (auto& caller : callers) CHECK(caller.wait_for(std::chrono::seconds(30)) == std::future_status::ready);
}

TEST(who_waits_for_helpers_works_alone_for_a_while) {
  constexpr int64_t kWork = 1'000'000, kLongWait = 4'000'000;
  auto alone = [](Patience& p) {
    int jobs = 0;
    while (!p.next()) ++jobs;
    return jobs;
  };
  Patience p;
  CHECK(alone(p) == 0);
  p.note(kWork, kWork / 4);  // the last part of another
  CHECK(alone(p) == 0);
  for (int jobs : {1, 3, 7, 15, 31, 63, 63}) {
    p.note(kWork, kLongWait);
    CHECK(alone(p) == jobs);
  }
  p.note(kWork, 0);
  CHECK(alone(p) == 0);
  p.note(kWork, kLongWait);
  CHECK(alone(p) == 63);
  for (int i = 0; i < 6; ++i) p.note(kWork, 0);
  p.note(kWork, kLongWait);
  CHECK(alone(p) == 1);
  p.note(10 * kLongWait, kLongWait);  // of long work, a short wait
  p.note(1000, Patience::kShortest);
  CHECK(alone(p) == 0);
}

TEST(an_exception_reaches_the_caller) {
  for (int threads : {1, 3}) {
    Threads set(threads);
    CHECK_THROWS(Error, share(100, 1, [](int64_t begin, int64_t end) {
                   if (begin <= 57 && 57 < end) throw Error(ErrorKind::kValue, "the 57th");
                 }));
    CHECK(covers(64, 4));
  }
}

TEST(a_forked_child_has_threads_of_its_own) {
  Threads set(2);
  CHECK(covers(64, 4));
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<int> met{0};
    share(2, 1, [&](int64_t, int64_t) {
      ++met;
      while (met < 2) std::this_thread::yield();
    });
    _exit(met == 2 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(impossible_numbers_of_threads_are_refused) {
  CHECK_THROWS(Error, set_num_threads(0));
  CHECK_THROWS(Error, set_num_threads(257));
}

}  // namespace
}  // namespace perflab
