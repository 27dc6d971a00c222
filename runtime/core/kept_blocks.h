// Blocks that threads keep when they free them, small ones and one large: taking one again touches no lock that others
// hold. For the allocator behind they are in use until it collects them, which it does before it asks the device for
// more. Call it without the allocator's lock.
#pragma once
#include <atomic>
#include <utility>
#include <vector>

#include "block.h"
#include "live_bytes.h"

namespace perflab {

class KeptBlocks {
 public:
  explicit KeptBlocks(int device);

  Block* take(size_t bytes, Stream, size_t asked);  // of exactly that size; null: this thread keeps none
  bool keep(Block*) noexcept;                       // false: it must go back
  // Of the large ones a thread keeps that which it freed last: what is free does not change for longer than until the
  // thread frees or asks for another. Where it has fewer than `bytes` or more than `most` it is `other`, and goes back.
  Block* take_large(size_t bytes, size_t most, Stream, size_t asked, Block*& other);
  Block* keep_large(Block*) noexcept;           // gives what must go back: this one, the one before, or null
  void count(const Block*, int sign) noexcept;  // one in use more or less that is not taken or kept

  LiveBytes& in_use() { return *in_use_; }  // rounded up, without what threads keep

  struct Taken {  // since the last time
    int64_t takes = 0, bytes = 0;
    int64_t asked = 0, asked_before = 0;  // for the blocks: now, and when they were kept

    void count(Block* b, size_t asked_now) noexcept {
      ++takes, bytes += static_cast<int64_t>(b->bytes), asked += static_cast<int64_t>(asked_now);
      asked_before += static_cast<int64_t>(std::exchange(b->asked, asked_now));
    }
    void add(const Taken& t) noexcept {
      takes += t.takes, bytes += t.bytes, asked += t.asked, asked_before += t.asked_before;
    }
  };
  struct Collected {
    std::vector<Block*> blocks;
    Taken small, large;
  };
  Collected collect();  // of all threads

 private:
  static constexpr size_t kEntries = 64;
  static constexpr int kMostOfASize = 16;
  static constexpr size_t kMostBytes = 2 * kMiB;
  struct Entry {
    size_t bytes = 0;
    Stream stream = 0;
    Block* head = nullptr;
    int count = 0;
  };
  // One thread's. Held by the thread itself for a few instructions, or by one that collects.
  struct alignas(64) Table {
    std::atomic<bool> held{false};
    bool owned = true;  // by a thread that lives; under the lock of all
    size_t bytes = 0;
    LiveBytes::Cell* in_use = nullptr;
    Block* large = nullptr;
    Taken small_taken, large_taken;
    Entry entries[kEntries];
    Table* next = nullptr;

    void hold() noexcept;
    void let_go() noexcept { held.store(false, std::memory_order_release); }
  };
  struct All;
  static Entry& entry(Table& t, size_t bytes) { return t.entries[bytes / kMinBlock % kEntries]; }
  Table* mine() noexcept;
  Table* make_mine() noexcept;

  const int device_;
  LiveBytes* const in_use_;
};

}  // namespace perflab
