// Python's stack of the main thread at each interval, without signals and without a hook on its calls: a thread of its
// own has Python call back. That comes when Python next calls a function, goes round a loop or returns from C; or
// with the next op that is recorded, whichever is first, so that what an operator computes is not its caller's. Where
// nothing comes for an interval and the GIL is free, the thread takes it for a moment to look what it is that computes
// or waits without it; whatever comes next is the end of that.
#pragma once
#include <atomic>
#include <vector>

#include "py_stack.h"
#include "py_ticker.h"

namespace perflab {

class StackSampler {  // the GIL is held, in all of it
 public:
  // On the main thread. Throws Error(kValue) where that cannot be called back.
  explicit StackSampler(double interval_s);
  ~StackSampler();
  void stop();                              // nothing the second time, and in a forked child
  int64_t spent() const { return spent_; }  // ticks that samples took
  // [(tick, number of the stack), ...] and the stacks, as StackTable::list(). New references, or null and the error.
  PyObject* samples() const;
  PyObject* stacks() const { return table_.list(); }

 private:
  struct Sample {
    int64_t tick;
    uint32_t stack;
  };
  static void take_due();
  static int on_pending_call(void*);
  bool ask();
  void look();
  PyThreadState* const main_;
  std::atomic<bool> due_{false};
  std::atomic<uint32_t> seen_{0};  // the stack of what computes or waits without the GIL; 0: not known
  std::vector<Sample> samples_;
  StackTable table_;
  int64_t spent_ = 0;
  Ticker ticker_;  // ends first
};

}  // namespace perflab
