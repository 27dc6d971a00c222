#include "allocator.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>

#include "block_pool.h"
#include "fork.h"

namespace perflab {

#ifdef PERFLAB_MALLOC  // for sanitizers, which see nothing inside our blocks

namespace {
std::atomic<size_t> in_use{0};
size_t rounded(size_t bytes) { return std::max<size_t>(bytes + 63, 64) & ~size_t{63}; }
}  // namespace

void* allocate(size_t bytes, Stream) {
  void* block = bytes >> 39 ? nullptr : std::aligned_alloc(64, rounded(bytes));  // sanitizers end the program on more
  if (!block) throw OutOfMemory(bytes);
  in_use += rounded(bytes);
  return block;
}
void deallocate(void* block, size_t bytes, Stream) noexcept {
  in_use -= rounded(bytes);
  std::free(block);
}
size_t reserved_bytes() { return in_use; }
void empty_cache() {}

#else

namespace {

// Never destroyed: threads may free after static destruction. In a forked child, what other threads had cached is lost.
BlockPool& pool() {
  static BlockPool& shared = []() -> BlockPool& {
    auto* p = new BlockPool(host_memory());
    hold_across_fork(p->mutex());
    return *p;
  }();
  return shared;
}

constexpr int kBatch = 64;
constexpr int batch(int c) { return std::clamp(static_cast<int>((size_t{64} << 10) / class_bytes(c)), 1, kBatch); }
constexpr int most(int c) { return std::clamp(static_cast<int>((size_t{2} << 20) / class_bytes(c)), 4, 1024); }

struct Block {
  Block* next;
};

// One thread's free blocks. They change hands without a lock; a batch comes from the pool when a list is empty, and
// half of a list goes back when it is long.
struct Cache {
  struct List {
    Block* head = nullptr;
    int room;  // for how many more before some go back
  } lists[kSizeClasses];

  Cache() {
    for (int c = 0; c < kSizeClasses; ++c) lists[c].room = most(c);
  }
  ~Cache() {
    for (int c = 0; c < kSizeClasses; ++c) give_back(c, most(c));
  }
  void give_back(int c, int keep_room) {
    List& list = lists[c];
    void* blocks[kBatch];
    while (list.head && list.room < keep_room) {
      int n = 0;
      for (; n < kBatch && list.head && list.room < keep_room; ++list.room) {
        blocks[n++] = list.head;
        list.head = list.head->next;
      }
      pool().give(c, blocks, n);
    }
  }
};

thread_local Cache* cache = nullptr;
thread_local bool ended = false;  // destructors of this thread's other variables may still allocate and free

struct Ending {
  bool armed = false;
  ~Ending() {
    ended = true;
    delete std::exchange(cache, nullptr);
  }
};
thread_local Ending ending;

bool make_cache() {
  if (ended) return false;
  ending.armed = true;  // to be touched is what makes its destructor run
  cache = new (std::nothrow) Cache;
  return cache != nullptr;
}

void* allocate_slow(size_t bytes) {
  if (bytes > kLargestSmall || (!cache && !make_cache())) return pool().allocate(bytes);
  const int c = size_class(bytes);
  void* blocks[kBatch];
  int n = pool().take(c, blocks, batch(c));
  Cache::List& list = cache->lists[c];
  while (--n > 0) {
    auto* block = static_cast<Block*>(blocks[n]);
    block->next = list.head, list.head = block, --list.room;
  }
  return blocks[0];
}

}  // namespace

void* allocate(size_t bytes, Stream) {
  Cache* mine = cache;
  if (bytes > kLargestSmall || !mine) [[unlikely]]
    return allocate_slow(bytes);
  Cache::List& list = mine->lists[size_class(bytes)];
  Block* block = list.head;
  if (!block) [[unlikely]]
    return allocate_slow(bytes);
  list.head = block->next, ++list.room;
  return block;
}

void deallocate(void* memory, size_t bytes, Stream) noexcept {
  if (bytes > kLargestSmall || (!cache && !make_cache())) [[unlikely]]
    return pool().deallocate(memory, bytes);
  const int c = size_class(bytes);
  Cache::List& list = cache->lists[c];
  auto* block = static_cast<Block*>(memory);
  block->next = list.head, list.head = block;
  if (--list.room < 0) [[unlikely]]
    cache->give_back(c, most(c) / 2);
}

size_t reserved_bytes() { return pool().reserved_bytes(); }
void empty_cache() { pool().empty_cache(); }

#endif

}  // namespace perflab
