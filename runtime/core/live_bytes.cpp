#include "live_bytes.h"

#include <algorithm>
#include <mutex>

#include "fork.h"

namespace perflab {
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

LiveBytes::Cell* LiveBytes::make_cell() {
  auto* c = new Cell;
  std::lock_guard guard(lock());
  c->next = first_, first_ = c;
  return c;
}

void LiveBytes::change_by_any(int64_t bytes) {
  (bytes > 0 ? rest_.added : rest_.freed).fetch_add(bytes > 0 ? bytes : -bytes, std::memory_order_relaxed);
  if (bytes > 0) share(false);
}

Stat LiveBytes::sum() const {
  Stat s;
  for (const Cell* c = first_; c; c = c->next)
    s.allocated += c->added.load(std::memory_order_relaxed), s.freed += c->freed.load(std::memory_order_relaxed);
  s.current = s.allocated - s.freed;
  s.peak = std::max(peak_, s.current);
  return s;
}

// Brings the peak up to date, and gives every thread an equal part of what is left below it.
void LiveBytes::share(bool from_here) {
  std::lock_guard guard(lock());
  const Stat s = sum();
  peak_ = from_here ? s.current : s.peak;
  int64_t count = 0;
  for (Cell* c = first_; c; c = c->next) ++count;
  for (Cell* c = first_; c; c = c->next)
    c->allowance.store(c->live() + (peak_ - s.current) / count, std::memory_order_relaxed);
}

Stat LiveBytes::stat() {
  std::lock_guard guard(lock());
  Stat s = sum();
  s.allocated -= added_before_, s.freed -= freed_before_;
  return s;
}

void LiveBytes::reset_accumulated() {
  std::lock_guard guard(lock());
  const Stat s = sum();
  added_before_ = s.allocated, freed_before_ = s.freed;
}

}  // namespace perflab
