// What the allocator counts, under the names of PyTorch's memory_stats.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>

namespace perflab {

struct Stat {
  int64_t current = 0, peak = 0, allocated = 0, freed = 0;
  void add(int64_t n) {
    current += n;
    (n > 0 ? allocated : freed) += n > 0 ? n : -n;
    peak = std::max(peak, current);
  }
  void pass(int64_t in, int64_t out) {  // that came and went
    allocated += in, freed += out, current += in - out;
    peak = std::max(peak, current);
  }
};

struct PoolStats {  // of the small pool, the large one, or both
  Stat allocation, segment, active, inactive_split;
  Stat allocated_bytes, reserved_bytes, active_bytes, inactive_split_bytes, requested_bytes;

  template <class F>
  void each(F f) {
    f("allocation", allocation), f("segment", segment), f("active", active), f("inactive_split", inactive_split);
    f("allocated_bytes", allocated_bytes), f("reserved_bytes", reserved_bytes), f("active_bytes", active_bytes);
    f("inactive_split_bytes", inactive_split_bytes), f("requested_bytes", requested_bytes);
  }
};

struct MemoryStats {
  PoolStats all, small_pool, large_pool;
  Stat oversize_allocations, oversize_segments;  // from the option max_split_bytes on
  int64_t retries = 0, ooms = 0;                 // second tries after the cache was emptied; failures
  int64_t device_allocs = 0, device_frees = 0;   // calls of the source

  template <class F>
  void each(F f) {
    for (PoolStats* p : {&all, &small_pool, &large_pool}) p->each([&](const char*, Stat& s) { f(s); });
    f(oversize_allocations), f(oversize_segments);
  }
};

}  // namespace perflab
