// Modelled time: how long a kernel, a copy, a launch would take on a device with these rates. While it is kept, the
// recorder's clock shows it.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "dtype.h"

namespace perflab {

struct SimSpec {
  std::array<double, kDTypes> flops{};       // a second, by the dtype of the computation
  double bandwidth = 1, copy_bandwidth = 1;  // bytes a second: of its memory, and to and from the CPU
  int64_t launch_ns = 0;                     // that the CPU spends to start one kernel or copy
};

// What a kernel or a copy has to do.
struct SimWork {
  double flops = 0, bytes = 0;
  DType dtype = DType::kFloat32;
  bool to_cpu_or_back = false;
};

struct SimLine {  // of a stream: when it will be free, in ns of modelled time
  int64_t free_at = 0;
};

// The one modelled timeline of the process, from one device's spec.
class SimClock {
 public:
  bool is_on() const { return on_.load(std::memory_order_relaxed); }
  void start(const SimSpec&);  // the recorder takes a time of 0 for none: it begins at 1 ms
  void stop();

  struct Span {
    int64_t launch, begin, end;
  };
  Span spend(SimLine&, const SimWork&);  // the host starts it, the stream does it
  void wait(SimLine& waiting, const SimLine& other);
  void wait_until(SimLine& waiting, int64_t time);
  int64_t host_waits(int64_t until);  // the host's time then
  int64_t now();

 private:
  std::atomic<bool> on_{false};
  std::mutex mutex_;
  SimSpec spec_;
  int64_t host_ = 0;
};
SimClock& sim_clock();

}  // namespace perflab
