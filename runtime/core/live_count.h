// How many of a thing are alive (or bytes of it), as one counter a thread, each written by its own thread alone: a
// shared counter would cost a locked instruction at every change. A thread may drop what another made, so single
// counters go below zero; the sum is right.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>

namespace perflab {

template <class Tag>
class LiveCount {
 public:
  static void add(int64_t n) {
    Cell* c = mine_ ? mine_ : make();
    c->n.store(c->n.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  static int64_t sum() {
    std::lock_guard guard(lock_);
    int64_t total = 0;
    for (Cell* c = cells_; c; c = c->next) total += c->n.load(std::memory_order_relaxed);
    return total;
  }

 private:
  struct Cell {
    std::atomic<int64_t> n{0};
    Cell* next = nullptr;
  };
  [[gnu::noinline]] static Cell* make() {
    auto* c = new Cell;  // outlives its thread on purpose
    std::lock_guard guard(lock_);
    c->next = cells_, cells_ = c;
    return mine_ = c;
  }
  static inline std::mutex lock_;
  static inline Cell* cells_ = nullptr;
  static inline thread_local Cell* mine_ = nullptr;
};

}  // namespace perflab
