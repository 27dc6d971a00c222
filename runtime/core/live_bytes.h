// Bytes that are in use, and their peak. A thread counts in a cell of its own, without a locked instruction, up to an
// allowance; all allowances together are no more than the peak, so a higher one is seen by whoever reaches it. Exact
// but for what other threads are doing at that moment.
#pragma once
#include <atomic>

#include "memory_stats.h"

namespace perflab {

class LiveBytes {
 public:
  struct Cell {  // one thread at a time writes it
    std::atomic<int64_t> added{0}, freed{0}, allowance{0};
    Cell* next = nullptr;
    int64_t live() const { return added.load(std::memory_order_relaxed) - freed.load(std::memory_order_relaxed); }
  };
  Cell* make_cell();  // it outlives its thread

  void add(Cell& c, int64_t bytes) {
    c.added.store(c.added.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
    if (c.live() > c.allowance.load(std::memory_order_relaxed)) [[unlikely]]
      share(false);
  }
  void remove(Cell& c, int64_t bytes) {  // what another thread added: single cells go below zero
    c.freed.store(c.freed.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }
  void change_by_any(int64_t bytes);  // of threads that have no cell any more

  Stat stat();
  void reset_peak() { share(true); }
  void reset_accumulated();

 private:
  [[gnu::noinline]] void share(bool from_here);
  Stat sum() const;
  Cell rest_;
  Cell* first_ = &rest_;
  int64_t peak_ = 0, added_before_ = 0, freed_before_ = 0;  // before the sums began anew
};

}  // namespace perflab
