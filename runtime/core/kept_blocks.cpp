#include "kept_blocks.h"

#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "device.h"
#include "fork.h"

namespace perflab {

// The tables of all threads, by device. They are never destroyed; a new thread gets that of one that has ended.
struct KeptBlocks::All {
  std::mutex mutex;
  Table* first[kMostDevices] = {};
  LiveBytes in_use[kMostDevices];
  All() { hold_across_fork(mutex, in_child); }

  static All& one() {
    static All& shared = *new All;
    return shared;
  }
  static void in_child() {  // what other threads had in hand at that moment is lost
    for (int d = 0; d < kMostDevices; ++d)
      for (Table* t = one().first[d]; t; t = t->next) {
        if (!tables || t != tables[d]) t->owned = false;
        if (!t->held.load()) continue;
        for (Entry& e : t->entries) e = {};
        t->bytes = 0, t->large = nullptr;
        t->let_go();
      }
  }

  static inline constinit thread_local Table** tables = nullptr;  // this thread's, by device
  static inline constinit thread_local bool ended = false;        // destructors of its other variables may still free
  struct Ending {
    bool armed = false;
    ~Ending() {
      ended = true;
      if (!tables) return;
      std::lock_guard lock(one().mutex);
      for (int d = 0; d < kMostDevices; ++d)
        if (tables[d]) tables[d]->owned = false;
      delete[] std::exchange(tables, nullptr);
    }
  };
};

KeptBlocks::KeptBlocks(int device) : device_(device), in_use_(&All::one().in_use[device]) {}

void KeptBlocks::Table::hold() noexcept {
  while (held.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
}

KeptBlocks::Table* KeptBlocks::mine() noexcept {
  if (All::tables && All::tables[device_]) [[likely]]
    return All::tables[device_];
  return make_mine();
}

// Null: this thread ends, or there is no memory.
KeptBlocks::Table* KeptBlocks::make_mine() noexcept {
  if (All::ended) return nullptr;
  static thread_local All::Ending ending;
  ending.armed = true;  // to be touched is what makes its destructor run
  try {
    if (!All::tables) All::tables = new Table* [kMostDevices] {};
    All& all = All::one();
    {
      std::lock_guard lock(all.mutex);
      for (Table* t = all.first[device_]; t; t = t->next)
        if (!t->owned) return t->owned = true, All::tables[device_] = t;
    }
    auto fresh = std::make_unique<Table>();
    fresh->in_use = in_use_->make_cell();
    std::lock_guard lock(all.mutex);
    fresh->next = all.first[device_];
    return all.first[device_] = All::tables[device_] = fresh.release();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

Block* KeptBlocks::take(size_t bytes, Stream stream, size_t asked) {
  Table* t = mine();
  if (!t) return nullptr;
  t->hold();
  Entry& e = entry(*t, bytes);
  Block* b = e.bytes == bytes && e.stream == stream ? e.head : nullptr;
  if (b) {
    e.head = b->next_kept, --e.count, t->bytes -= bytes;
    t->small_taken.count(b, asked);
  }
  t->let_go();
  if (b) in_use_->add(*t->in_use, static_cast<int64_t>(bytes));
  return b;
}

Block* KeptBlocks::take_large(size_t bytes, size_t most, Stream stream, size_t asked, Block*& other) {
  Table* t = mine();
  if (!t) return nullptr;
  t->hold();
  Block* b = std::exchange(t->large, nullptr);
  const bool serves = b && b->bytes >= bytes && b->bytes <= most && b->stream() == stream;
  if (serves) t->large_taken.count(b, asked);
  t->let_go();
  if (!serves) return other = b, nullptr;
  in_use_->add(*t->in_use, static_cast<int64_t>(b->bytes));
  return b;
}

bool KeptBlocks::keep(Block* b) noexcept {
  const FreeBlocks& home = *b->segment->home;
  Table* t = mine();
  if (!t || !home.small || home.pool || !b->streams.empty()) return false;
  t->hold();
  Entry& e = entry(*t, b->bytes);
  const bool same = !e.head || (e.bytes == b->bytes && e.stream == b->stream());
  const bool kept = same && e.count < kMostOfASize && t->bytes + b->bytes <= kMostBytes;
  if (kept) {
    e.bytes = b->bytes, e.stream = b->stream();
    b->next_kept = e.head, e.head = b, ++e.count, t->bytes += b->bytes;
    in_use_->remove(*t->in_use, static_cast<int64_t>(b->bytes));
  }
  t->let_go();
  return kept;
}

Block* KeptBlocks::keep_large(Block* b) noexcept {
  Table* t = mine();
  if (!t) {
    in_use_->change_by_any(-static_cast<int64_t>(b->bytes));
    return b;
  }
  in_use_->remove(*t->in_use, static_cast<int64_t>(b->bytes));
  if (b->segment->home->pool || !b->streams.empty()) return b;
  t->hold();
  b = std::exchange(t->large, b);
  t->let_go();
  return b;
}

void KeptBlocks::count(const Block* b, int sign) noexcept {
  const auto bytes = static_cast<int64_t>(b->bytes);
  Table* t = mine();
  if (!t)
    in_use_->change_by_any(sign * bytes);
  else if (sign > 0)
    in_use_->add(*t->in_use, bytes);
  else
    in_use_->remove(*t->in_use, bytes);
}

KeptBlocks::Collected KeptBlocks::collect() {
  Collected sum;
  All& all = All::one();
  std::lock_guard lock(all.mutex);
  for (Table* t = all.first[device_]; t; t = t->next) {
    sum.blocks.reserve(sum.blocks.size() + kEntries * kMostOfASize + 1);  // before it is held
    t->hold();
    for (Entry& e : t->entries) {
      for (Block* b = e.head; b; b = b->next_kept) sum.blocks.push_back(b);
      e.head = nullptr, e.count = 0;
    }
    t->bytes = 0;
    if (t->large) sum.blocks.push_back(std::exchange(t->large, nullptr));
    sum.small.add(std::exchange(t->small_taken, {}));
    sum.large.add(std::exchange(t->large_taken, {}));
    t->let_go();
  }
  return sum;
}

}  // namespace perflab
