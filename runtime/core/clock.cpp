#include "clock.h"

#include <atomic>
#include <ctime>
#include <fstream>
#include <string>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace perflab {
namespace {

constexpr int64_t kSecond = 1'000'000'000, kLeastSpan = 10'000'000;
std::atomic<int64_t> fake_now{0};

int64_t read_ns(clockid_t id) {
  timespec t;
  clock_gettime(id, &t);
  return t.tv_sec * kSecond + t.tv_nsec;
}

// The hardware must promise a constant rate in all power states, and the kernel must trust it across cores: it moves
// current_clocksource away from "tsc" when it finds them apart, and so do many virtual machines.
bool tsc_is_sound() {
#if defined(__x86_64__)
  unsigned a, b, c, d;
  if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & (1u << 8))) return false;
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string name;
  return (file >> name) && name == "tsc";
#else
  return false;
#endif
}

struct Instant {
  int64_t tick, ns;
};

// Both clocks at one moment: of a few tries the one with the least time between the ticks around the other's reading.
Instant read_both() {
  Instant best{};
  int64_t least = INT64_MAX;
  for (int i = 0; i < 16; ++i) {
    int64_t before = ticks(), ns = read_ns(CLOCK_MONOTONIC), gap = ticks() - before;
    if (gap < least) least = gap, best = {before + gap / 2, ns};
  }
  return best;
}

struct Start {
  ClockSource source;
  Instant instant;
  int64_t epoch;  // of CLOCK_MONOTONIC; taken once, so that a clock set anew later does not tear a trace
  Start() : source(tsc_is_sound() ? ClockSource::kTsc : ClockSource::kMonotonic) {
    clock_source = source;
    instant = read_both();
    epoch = read_ns(CLOCK_REALTIME) - read_ns(CLOCK_MONOTONIC);
  }
} const start;

}  // namespace

int64_t slow_ticks() {
  return clock_source == ClockSource::kFake ? fake_now.load(std::memory_order_relaxed) : read_ns(CLOCK_MONOTONIC);
}

ClockScale clock_scale() {
  if (clock_source == ClockSource::kFake) return {0, 0, 1.0};
  if (clock_source == ClockSource::kMonotonic) return {0, start.epoch, 1.0};
  int64_t span = read_ns(CLOCK_MONOTONIC) - start.instant.ns;
  if (timespec rest{0, kLeastSpan - span}; span < kLeastSpan) nanosleep(&rest, nullptr);
  Instant now = read_both();
  double rate = static_cast<double>(now.ns - start.instant.ns) / static_cast<double>(now.tick - start.instant.tick);
  return {start.instant.tick, start.instant.ns + start.epoch, rate};
}

void set_fake_ticks(int64_t now) { clock_source = ClockSource::kFake, fake_now = now; }
void use_real_clock() { clock_source = start.source; }

}  // namespace perflab
