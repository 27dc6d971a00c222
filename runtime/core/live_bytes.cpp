#include "live_bytes.h"

#include <mutex>

#include "fork.h"

namespace perflab {

LiveBytes::Cell* LiveBytes::cells_ = nullptr;
int64_t LiveBytes::peak_ = 0;

namespace {

std::mutex& lock() {
  static std::mutex& shared = []() -> std::mutex& {
    auto* m = new std::mutex;  // never destroyed: threads may free after static destruction
    hold_across_fork(*m);
    return *m;
  }();
  return shared;
}

}  // namespace

LiveBytes::Cell& LiveBytes::make() {
  auto* c = new Cell;  // outlives its thread on purpose
  std::lock_guard guard(lock());
  c->next = cells_, cells_ = c;
  return *(mine_ = c);
}

// Brings the peak up to date, and gives every thread an equal part of what is left below it.
void LiveBytes::share_locked(bool from_here) {
  int64_t live = 0, cells = 0;
  for (Cell* c = cells_; c; c = c->next) live += c->live(), ++cells;
  if (from_here || live > peak_) peak_ = live;
  for (Cell* c = cells_; c; c = c->next)
    c->allowance.store(c->live() + (peak_ - live) / cells, std::memory_order_relaxed);
}

void LiveBytes::share() {
  std::lock_guard guard(lock());
  share_locked(false);
}

LiveBytes::Totals LiveBytes::totals() {
  std::lock_guard guard(lock());
  Totals t{0, 0, 0};
  for (Cell* c = cells_; c; c = c->next)
    t.added += c->added.load(std::memory_order_relaxed), t.freed += c->freed.load(std::memory_order_relaxed);
  t.peak = peak_;
  return t;
}

void LiveBytes::reset_peak() {
  std::lock_guard guard(lock());
  share_locked(true);
}

}  // namespace perflab
