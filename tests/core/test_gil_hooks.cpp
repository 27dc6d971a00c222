#include <cerrno>
#include <thread>

#include "check.h"
#include "clock.h"
#include "gil_hooks.h"

namespace perflab {
namespace {

// CPython's locks and what its take_gil and drop_gil do with them, through the hooks.
pthread_cond_t cond = PTHREAD_COND_INITIALIZER, switch_cond = PTHREAD_COND_INITIALIZER;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, switch_mutex = PTHREAD_MUTEX_INITIALIZER;
const GilLocks locks{&cond, &switch_cond, &mutex, &switch_mutex};

int lock() { return reinterpret_cast<int (*)(pthread_mutex_t*)>(gil_hook(kGilLock))(&mutex); }
void signal(pthread_cond_t& which) { reinterpret_cast<int (*)(pthread_cond_t*)>(gil_hook(kGilSignal))(&which); }
int wait() {  // in vain
  timespec past{};
  auto hook = reinterpret_cast<int (*)(pthread_cond_t*, pthread_mutex_t*, const timespec*)>(gil_hook(kGilTimedWait));
  return hook(&cond, &mutex, &past);
}
void unlock() { pthread_mutex_unlock(&mutex); }

void take(int64_t at) {
  set_fake_ticks(at);
  lock();
  signal(switch_cond);
  unlock();
}
void drop(int64_t at) {
  set_fake_ticks(at);
  lock();
  signal(cond);
  unlock();
}
template <class F>
void in_another_thread(F body) {
  std::thread(body).join();
}

bool same(const GilHold& hold, int64_t wait, int64_t acquired, int64_t requested, int64_t released, int flags) {
  return hold.wait == wait && hold.acquired == acquired && hold.requested == requested && hold.released == released &&
         hold.flags == flags;
}

struct Recorded {
  GilHold holds[8]{};
  explicit Recorded(size_t room) {
    set_fake_ticks(100);
    gil_begin(locks, {holds, room});
  }
  ~Recorded() {
    gil_end();
    use_real_clock();
  }
};

TEST(the_gil_goes_from_thread_to_thread) {
  Recorded recorded(8);
  GilMark begin = gil_mark();
  drop(110);
  in_another_thread([] { take(120), drop(150); });
  take(160);
  set_fake_ticks(170);
  auto holds = gil_since(begin);
  CHECK(holds.size() == 3);
  CHECK(same(holds[0], 100, 100, 0, 110, kGilBefore));
  CHECK(same(holds[1], 120, 120, 0, 150, 0));
  CHECK(same(holds[2], 160, 160, 0, 170, kGilAfter));
  CHECK(holds[0].thread == holds[2].thread && holds[0].thread != holds[1].thread);
  CHECK(gil_mark().lost == 0 && gil_mark().odd == 0);
}

TEST(a_waiter_whose_patience_ends_requests_it) {
  Recorded recorded(8);
  GilMark begin = gil_mark();
  in_another_thread([] {
    set_fake_ticks(110);
    lock();
    CHECK(wait() == ETIMEDOUT);
    set_fake_ticks(120);
    CHECK(wait() == ETIMEDOUT);  // the first request stays
    unlock();
    set_fake_ticks(130);
    auto meanwhile = gil_since(gil_mark());
    CHECK(meanwhile.size() == 2 && same(meanwhile[1], 130, 130, 0, 130, kGilWaiting | kGilBefore));
  });
  drop(140);
  auto holds = gil_since(begin);
  CHECK(holds.size() == 1 && same(holds[0], 100, 100, 110, 140, kGilBefore));
}

TEST(a_mark_cuts_what_reaches_over_it) {
  Recorded recorded(8);
  set_fake_ticks(105);
  GilMark later = gil_mark();
  drop(110);
  CHECK(gil_since(later).size() == 1);
  CHECK(same(gil_since(later)[0], 105, 105, 0, 110, kGilBefore));
}

TEST(what_is_forgotten_makes_room) {
  Recorded recorded(4);
  for (int64_t at = 110; at < 130; at += 10) drop(at), take(at + 5);
  gil_forget(115);  // the first one ended at 110, the second at 120
  drop(130);
  CHECK(gil_mark().hold == 2);
  take(135), drop(140);
  const GilMark begin{115, 0, 0, 0};
  auto holds = gil_since(begin);
  CHECK(holds.size() == 3 && gil_mark().lost == 0);
  CHECK(same(holds[0], 115, 115, 0, 120, 0) && same(holds[1], 125, 125, 0, 130, 0) &&
        same(holds[2], 135, 135, 0, 140, 0));
  take(145);
  gil_forget(200);  // what is held now stays
  drop(210);
  CHECK(gil_mark().hold == 1);
}

TEST(a_ring_that_is_full_counts_on) {
  Recorded recorded(2);
  for (int64_t at = 110; at < 150; at += 10) drop(at), take(at + 5);
  CHECK(gil_mark().lost == 3 && gil_mark().hold == 2);
}

TEST(what_goes_past_the_hooks_is_odd) {
  Recorded recorded(8);
  in_another_thread([] { drop(110); });  // not the holder
  CHECK(gil_mark().odd == 1);
  take(120);
  take(130);
  CHECK(gil_mark().odd == 2);
}

TEST(calls_are_watched) {
  GilCalls calls{};
  gil_watch(&calls);
  lock(), signal(cond);
  wait(), wait();
  unlock();
  in_another_thread([] { lock(), unlock(); });
  gil_watch(nullptr);
  signal(cond);
  CHECK(calls.count == 3);
  CHECK(calls.call[0] == GilCall{kGilLock, &mutex, nullptr} && calls.call[1] == GilCall{kGilSignal, &cond, nullptr});
  CHECK(calls.call[2] == GilCall{kGilTimedWait, &cond, &mutex});
}

}  // namespace
}  // namespace perflab
