// A thread that takes the GIL now and then and records how long that took: samples, where the GIL cannot be traced.
#pragma once
#include <atomic>

#include "py_ticker.h"

namespace perflab {

class GilProbe {
 public:
  explicit GilProbe(double interval_s);  // the GIL is held, in all of it
  void stop() { ticker_.stop(); }        // nothing the second time, and in a forked child
  uint64_t thread() const { return ticker_.thread(); }
  uint64_t samples() const { return samples_; }

 private:
  bool sample();
  std::atomic<uint64_t> samples_{0};
  Ticker ticker_;  // ends first
};

}  // namespace perflab
