// Python's stack at events, where it is asked for; the core knows only its number.
#pragma once
#include <atomic>

#include "recorder.h"

namespace perflab {

inline uint32_t (*stack_of_thread)() = nullptr;  // gives the number, 0 where there is none

inline void record_stack(int64_t t0, uint32_t number = stack_of_thread()) {
  if (!number) return;
  Event& e = next_event();
  e = Event{};
  e.t0 = e.t2 = t0, e.kind = EventKind::kStack, e.name = number;
}

// A sample of the main thread's stack is due: whoever records an op there calls take_sample, which looks at the thread.
inline std::atomic<bool> sample_is_due{false};
inline void (*take_sample)() = nullptr;  // set before one is due

}  // namespace perflab
