#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <set>
#include <thread>

#include "check.h"
#include "error.h"
#include "recorder.h"
#include "stamp.h"

namespace perflab {
namespace {

void record(uint32_t name) {
  Event& e = next_event();
  e.t0 = e.t1 = e.t2 = ticks();
  e.kind = EventKind::kOp, e.name = name;
}

// Names by thread, in the order in which they came; gives the chunks back.
std::map<uint64_t, std::vector<uint32_t>> names() {
  std::map<uint64_t, std::vector<uint32_t>> by_thread;
  for (const Recorded& r : drain()) {
    for (size_t i = 0; i < r.count; ++i) by_thread[r.thread].push_back(r.events[i].name);
    release_chunk(r.chunk);
  }
  return by_thread;
}
size_t total(const std::map<uint64_t, std::vector<uint32_t>>& by_thread) {
  size_t n = 0;
  for (auto& [thread, events] : by_thread) n += events.size();
  return n;
}
bool ascending(const std::vector<uint32_t>& events) {
  for (size_t i = 0; i < events.size(); ++i)
    if (events[i] != i) return false;
  return true;
}

TEST(events_come_back_in_order) {
  start_recording(10);
  for (uint32_t i = 0; i < 10; ++i) record(i);
  stop_recording();
  CHECK(total(names()) == 10);
  constexpr uint32_t n = 100'000;  // several chunks
  start_recording(n);
  CHECK(is_recording());
  for (uint32_t i = 0; i < n; ++i) record(i);
  stop_recording();
  CHECK(!is_recording());
  auto all = names();
  CHECK(all.size() == 1 && all.begin()->first == static_cast<uint64_t>(gettid()));
  CHECK(total(all) == n && ascending(all.begin()->second));
  CHECK(dropped_events() == 0);
  CHECK(drain().empty());
}

TEST(a_session_is_bounded) {
  start_recording(1'000);
  for (uint32_t i = 0; i < 2'500; ++i) record(i);
  stop_recording();
  auto all = names();
  CHECK(total(all) == 1'000 && ascending(all.begin()->second));
  CHECK(dropped_events() == 1'500);

  start_recording(1'000);
  record(0);
  stop_recording();
  start_recording(10);  // what the thread had been granted before does not count
  CHECK(dropped_events() == 0);
  for (uint32_t i = 0; i < 20; ++i) record(i);
  stop_recording();
  CHECK(total(names()) == 10);
  CHECK(dropped_events() == 10);

  start_recording(0);
  record(0);
  stop_recording();
  CHECK(total(names()) == 0 && dropped_events() == 1);
}

TEST(what_was_forgotten_makes_room) {
  start_recording(300);
  for (int round = 0; round < 10; ++round) {
    for (uint32_t i = 0; i < 300; ++i) record(i);
    auto all = names();
    CHECK(total(all) == 300 && ascending(all.begin()->second));
    allow_more_events(300);
  }
  CHECK(dropped_events() == 0);
  for (uint32_t i = 0; i < 301; ++i) record(i);
  stop_recording();
  CHECK(total(names()) == 300 && dropped_events() == 1);
}

TEST(starting_forgets_what_was_not_drained) {
  start_recording(100);
  record(7);
  stop_recording();
  start_recording(100);
  CHECK_THROWS(Error, start_recording(100));
  record(0);
  stop_recording();
  stop_recording();
  auto all = names();
  CHECK(total(all) == 1 && ascending(all.begin()->second));
}

TEST(drained_events_outlive_later_sessions) {
  start_recording(100);
  for (uint32_t i = 0; i < 10; ++i) record(i);
  stop_recording();
  auto kept = drain();
  for (int session = 0; session < 5; ++session) {
    start_recording(200'000);
    for (uint32_t i = 0; i < 100'000; ++i) record(1'000'000);
    stop_recording();
    CHECK(total(names()) == 100'000);
  }
  CHECK(kept.size() == 1 && kept[0].count == 10);
  for (uint32_t i = 0; i < 10; ++i) CHECK(kept[0].events[i].name == i);
  release_chunk(kept[0].chunk);
}

TEST(each_thread_has_its_own_events) {
  constexpr uint32_t n = 50'000;
  constexpr int threads = 4;
  start_recording(threads * n + threads * 256);
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t)
    pool.emplace_back([] {
      for (uint32_t i = 0; i < n; ++i) record(i);
    });
  for (auto& t : pool) t.join();  // they are gone before anybody drains
  stop_recording();
  auto all = names();
  CHECK(all.size() == threads);
  for (auto& [thread, events] : all) CHECK(events.size() == n && ascending(events));
  CHECK(dropped_events() == 0);
}

TEST(threads_share_the_limit) {
  constexpr int threads = 4;
  start_recording(10'000);
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t)
    pool.emplace_back([] {
      for (uint32_t i = 0; i < 5'000; ++i) record(i);
    });
  for (auto& t : pool) t.join();
  stop_recording();
  auto all = names();
  CHECK(total(all) + dropped_events() == threads * 5'000);
  CHECK(total(all) <= 10'000 && total(all) > 10'000 - threads * 256);
}

// Sessions come and go while threads record without a pause. Everything but a thread's last event is whole.
TEST(draining_does_not_wait_for_threads) {
  std::atomic<bool> done{false};
  std::vector<std::thread> pool;
  for (int t = 0; t < 3; ++t)
    pool.emplace_back([&] {
      for (uint32_t i = 0; !done; ++i)
        if (is_recording())
          record(i);
        else
          std::this_thread::yield();
    });
  for (int session = 0; session < 100; ++session) {
    start_recording(session % 2 ? 500 : 1'000'000);
    while (!dropped_events() && session % 2) record(0);
    std::this_thread::yield();
    stop_recording();
    std::map<uint64_t, Recorded> last;
    auto all = drain();
    for (const Recorded& r : all) last[r.thread] = r;
    for (const Recorded& r : all) {
      size_t whole = r.count - (last[r.thread].events == r.events);
      for (size_t i = 0; i < whole; ++i) CHECK(r.events[i].kind == EventKind::kOp);
      for (size_t i = 1; i < whole; ++i)
        if (r.events[i].name) CHECK(r.events[i].name >= r.events[i - 1].name);
    }
    for (const Recorded& r : all) release_chunk(r.chunk);
  }
  done = true;
  for (auto& t : pool) t.join();
}

struct RecordsAtTheEnd {
  bool touched = false;
  ~RecordsAtTheEnd() { record(99); }
};
thread_local RecordsAtTheEnd at_the_end;

TEST(a_thread_may_record_while_it_ends) {
  start_recording(100);
  std::atomic<int> step{0};
  std::thread thread([&] {
    at_the_end.touched = true;  // made before the lane, so destroyed after it
    record(1);
    step = 1, step.notify_one();
    step.wait(1);
  });
  step.wait(0);
  CHECK(total(names()) == 1);  // nothing is left to keep the lane for
  step = 2, step.notify_one();
  thread.join();
  stop_recording();
  CHECK(total(names()) + dropped_events() == 1);
}

TEST(a_forked_child_starts_empty_and_off) {
  start_recording(1'000);
  record(0);
  pid_t child = fork();
  if (child == 0) {
    bool good = !is_recording() && drain().empty() && dropped_events() == 0;
    start_recording(10);
    record(0);
    stop_recording();
    auto all = names();
    _exit(good && total(all) == 1 && all.begin()->first == static_cast<uint64_t>(getpid()) ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  record(1);
  stop_recording();
  auto all = names();
  CHECK(total(all) == 2 && ascending(all.begin()->second));
}

TEST(a_child_forked_beside_busy_threads_can_record) {
  std::atomic<bool> done{false};
  std::thread busy([&] {
    while (!done) intern("busy");
  });
  for (int i = 0; i < 30; ++i) {
    pid_t child = fork();
    if (child == 0) {
      alarm(20);  // a deadlock ends it
      start_recording(10);
      record(intern("child"));
      stop_recording();
      _exit(total(names()) == 1 ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  done = true;
  busy.join();
}

TEST(stamps_are_shared_while_nothing_else_happens) {
  set_fake_ticks(100);
  {
    SharedStamps off;  // nothing is recorded
    set_fake_ticks(200);
    CHECK(last_stamp() == 200);
  }
  start_recording(10);
  CHECK(last_stamp() == 200);
  {
    SharedStamps outer;
    set_fake_ticks(300);
    CHECK(last_stamp() == 200 && stamp() == 300);
    {
      SharedStamps inner;
      set_fake_ticks(400);
      CHECK(last_stamp() == 300);
      CHECK(stamp_alone() == 400);
      set_fake_ticks(450);
      CHECK(last_stamp() == 450);  // and is shared again
      set_fake_ticks(480);
      CHECK(last_stamp() == 450);
      SharedStamps::end();
      CHECK(last_stamp() == 480 && stamp_alone() == 480);
      set_fake_ticks(500);
      CHECK(last_stamp() == 500);
    }
    CHECK(last_stamp() == 300);
  }
  CHECK(last_stamp() == 500);
  stop_recording();
  use_real_clock();
}

TEST(strings_are_interned_once) {
  uint32_t forward = intern("forward");
  CHECK(intern("") == 0 && forward != 0);
  CHECK(intern("backward") != forward);
  CHECK(intern("forward") == forward);
  CHECK(interned()[forward] == "forward" && interned()[0].empty());
}

TEST(threads_agree_on_interned_strings) {
  std::vector<std::vector<uint32_t>> ids(4);
  std::vector<std::thread> pool;
  for (auto& mine : ids)
    pool.emplace_back([&mine] {
      for (int i = 0; i < 500; ++i) mine.push_back(intern("text " + std::to_string(i)));
    });
  for (auto& t : pool) t.join();
  for (auto& mine : ids) CHECK(mine == ids[0]);
  CHECK(std::set<uint32_t>(ids[0].begin(), ids[0].end()).size() == 500);
}

}  // namespace
}  // namespace perflab
