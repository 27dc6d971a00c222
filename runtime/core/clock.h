// Monotonic time in ticks: the TSC where it is invariant (9 ns a read), else CLOCK_MONOTONIC in ns. A fake for tests.
#pragma once
#include <cstdint>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace perflab {

enum class ClockSource : uint8_t { kMonotonic, kTsc, kFake };
inline ClockSource clock_source = ClockSource::kMonotonic;  // clock.cpp chooses when the library is loaded
int64_t slow_ticks();

inline int64_t ticks() {
#if defined(__x86_64__)
  if (clock_source == ClockSource::kTsc) [[likely]]
    return static_cast<int64_t>(__rdtsc());
#endif
  return slow_ticks();
}

// The same, read when all that stands before it is done: plain ticks() may run ahead of a lock that is waited for.
inline int64_t ordered_ticks() {
#if defined(__x86_64__)
  if (clock_source == ClockSource::kTsc) [[likely]]
    _mm_lfence();
#endif
  return ticks();
}

struct ClockScale {  // epoch ns of a tick: ns0 + (tick - tick0) * ns_per_tick
  int64_t tick0, ns0;
  double ns_per_tick;
};
// Calibrated against CLOCK_MONOTONIC over the time since the library was loaded, so each call is a little more exact
// than the last: take one for all the events of a trace. Waits until there are 10 ms to calibrate over.
ClockScale clock_scale();

void set_fake_ticks(int64_t now);  // ticks() returns this, in ns, until use_real_clock()
void use_real_clock();             // both: while no other thread reads the clock

}  // namespace perflab
