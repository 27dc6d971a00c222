// Stamps of events. Reading the clock is most of what an event costs, so where C++ runs op after op with nothing else
// in between, as in a node's backward program, they share stamps: an op begins when the one before it ended, and what
// is freed has the moment of what happened last, some tens of nanoseconds before.
#pragma once
#include <utility>

#include "clock.h"
#include "recorder.h"

namespace perflab {

inline constinit thread_local int64_t shared_stamp = 0;  // the last one; 0: none is shared
inline constexpr int64_t kPassed = -1;                   // what comes next must not have the last one's moment

inline int64_t stamp() {  // now
  const int64_t now = ticks();
  if (shared_stamp) shared_stamp = now;
  return now;
}
inline int64_t last_stamp() { return shared_stamp > 0 ? shared_stamp : stamp(); }
inline int64_t
stamp_alone() {  // now, of this alone: an op that shared it would seem to have allocated what was before it
  const int64_t now = ticks();
  if (shared_stamp) shared_stamp = kPassed;
  return now;
}

// Until its end this thread shares them, or until something of another length comes, such as Python.
class SharedStamps {
 public:
  SharedStamps() : outer_(std::exchange(shared_stamp, is_recording() ? ticks() : 0)) {}
  ~SharedStamps() { shared_stamp = outer_; }
  SharedStamps(const SharedStamps&) = delete;
  static void end() { shared_stamp = 0; }

 private:
  int64_t outer_;
};

}  // namespace perflab
