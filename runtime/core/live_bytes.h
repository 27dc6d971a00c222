// Bytes of the storages that are alive, and their peak. A thread counts for itself, without a locked instruction, up to
// an allowance; all allowances together are no more than the peak, so a higher one is seen by whoever reaches it. Exact
// but for what other threads are doing at that moment.
#pragma once
#include <atomic>
#include <cstdint>

namespace perflab {

class LiveBytes {
 public:
  static void add(int64_t bytes) {
    Cell& c = mine_ ? *mine_ : make();
    const int64_t added = c.added.load(std::memory_order_relaxed) + bytes;
    c.added.store(added, std::memory_order_relaxed);
    if (added - c.freed.load(std::memory_order_relaxed) > c.allowance.load(std::memory_order_relaxed)) [[unlikely]]
      share();
  }
  static void remove(int64_t bytes) {  // a thread may drop what another made: single cells go below zero
    Cell& c = mine_ ? *mine_ : make();
    c.freed.store(c.freed.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }

  struct Totals {
    int64_t added, freed, peak;
  };
  static Totals totals();
  static void reset_peak();

 private:
  struct Cell {
    std::atomic<int64_t> added{0}, freed{0}, allowance{0};
    Cell* next = nullptr;
    int64_t live() const { return added.load(std::memory_order_relaxed) - freed.load(std::memory_order_relaxed); }
  };
  [[gnu::noinline]] static Cell& make();
  [[gnu::noinline]] static void share();
  static void share_locked(bool from_here);
  static inline constinit thread_local Cell* mine_ = nullptr;
  static Cell* cells_;
  static int64_t peak_;
};

}  // namespace perflab
