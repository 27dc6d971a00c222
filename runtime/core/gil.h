// The process-wide tracer of the GIL: every thread's waits and holds, whoever takes it, exact to the clock.
//
// It writes hooks into the relocation slots through which the module that holds CPython calls three functions of
// pthreads (gil_slots.h), finds out by one release and one acquisition which condition variables are the GIL's, and
// records from then on (gil_hooks.h). Nothing is recorded, and nothing costs anything, while nobody traces.
#pragma once
#include <string>
#include <vector>

#include "gil_hooks.h"

namespace perflab {

struct GilTraced {
  std::vector<GilHold> holds;  // in order; behind them who still waits
  uint64_t lost = 0;           // acquisitions for which there was no room
  std::string trouble;         // empty, or what makes the records doubtful
};

// A stretch of time in which the GIL is traced. Several may overlap, in any threads: the records are shared, and the
// last one to stop takes the hooks away. Throws std::runtime_error that says why the GIL cannot be traced here. The GIL
// is held, and may be given away, in all of it.
class GilTrace {
 public:
  explicit GilTrace(size_t room);  // for so many records, if it is the first
  ~GilTrace();
  GilTrace(const GilTrace&) = delete;
  size_t count() const;       // of holds so far
  GilTraced read() const;     // so far; nothing after stop(), and in a forked child
  void forget(int64_t tick);  // records that ended before, unless another one shares them
  GilTraced stop();

 private:
  GilTraced so_far() const;
  std::string leave();  // what of the hooks had to stay
  unsigned life_ = 0;   // of the process that it runs in; 0: it does not run
  GilMark begin_{};
};

}  // namespace perflab
