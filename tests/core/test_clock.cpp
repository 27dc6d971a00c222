#include <ctime>

#include "check.h"
#include "clock.h"

namespace perflab {
namespace {

int64_t monotonic() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * int64_t{1'000'000'000} + t.tv_nsec;
}
int64_t epoch() {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return t.tv_sec * int64_t{1'000'000'000} + t.tv_nsec;
}
int64_t to_ns(const ClockScale& s, int64_t tick) {
  return s.ns0 + static_cast<int64_t>(static_cast<double>(tick - s.tick0) * s.ns_per_tick);
}

TEST(ticks_do_not_go_back) {
  int64_t last = ticks();
  for (int i = 0; i < 100'000; ++i) {
    int64_t now = ticks();
    CHECK(now >= last);
    last = now;
  }
}

TEST(ticks_convert_to_epoch_time) {
  int64_t apart_before = epoch() - monotonic();
  int64_t low = monotonic(), tick = ticks(), high = monotonic();
  ClockScale scale = clock_scale();
  int64_t apart_after = epoch() - monotonic();
  // Where somebody sets the clock in the meantime, there is nothing to compare with.
  if (apart_after - apart_before > 1'000'000 || apart_before - apart_after > 1'000'000) return;
  int64_t ns = to_ns(scale, tick), slack = 10'000'000;  // epochs drift apart slowly, by the rate that NTP corrects
  CHECK(ns > low + apart_before - slack);
  CHECK(ns < high + apart_before + slack);
}

TEST(scale_agrees_with_the_monotonic_clock) {
  int64_t tick0 = ticks(), low = monotonic();
  ClockScale scale = clock_scale();
  while (monotonic() - low < 20'000'000) {
  }
  int64_t high = monotonic(), tick1 = ticks();
  double ns = static_cast<double>(tick1 - tick0) * scale.ns_per_tick;
  CHECK(ns >= static_cast<double>(high - low) * 0.999);  // the ticks are outside: preemption only adds to them
}

TEST(fake_clock_stands_still) {
  set_fake_ticks(5);
  CHECK(ticks() == 5 && ticks() == 5);
  set_fake_ticks(1'000);
  CHECK(ticks() == 1'000);
  ClockScale scale = clock_scale();
  CHECK(to_ns(scale, 1'000) == 1'000);
  use_real_clock();
  CHECK(ticks() != ticks() || clock_source == ClockSource::kMonotonic);
}

TEST(without_a_tsc_ticks_are_ns) {
  const ClockSource real = clock_source;
  clock_source = ClockSource::kMonotonic;
  int64_t low = monotonic(), tick = ticks(), high = monotonic();
  CHECK(low <= tick && tick <= high);
  CHECK(clock_scale().ns_per_tick == 1.0);
  clock_source = real;
}

}  // namespace
}  // namespace perflab
