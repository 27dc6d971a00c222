// Python's stack at events, where it is asked for; the core knows only its number.
#pragma once
#include "recorder.h"

namespace perflab {

// An event of the t0 of the event before it, which it belongs to; name: the number of the stack.
constexpr auto kStack = static_cast<EventKind>(14);
inline uint32_t (*stack_of_thread)() = nullptr;  // gives the number, 0 where there is none

inline void record_stack(int64_t t0) {
  const uint32_t number = stack_of_thread();
  if (!number) return;
  Event& e = next_event();
  e = Event{};
  e.t0 = e.t2 = t0, e.kind = kStack, e.name = number;
}

}  // namespace perflab
