#include "allocator.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "device.h"
#include "fork.h"
#include "poison.h"
#include "small_blocks.h"

namespace perflab {
namespace {

// Never destroyed: threads may free after static destruction. In a forked child, what other threads had cached is lost.
struct Host {
  CachingAllocator large{host_memory(), 0, options()};
  SmallBlocks small{large};
  Host() {
    hold_across_fork(small.mutex());  // taken before the other
    hold_across_fork(large.mutex());
  }
  static AllocatorOptions options() {
    AllocatorOptions o = allocator_options;
    o.threads_keep_blocks = true;
    return o;
  }
};
Host& host() {
  static Host& shared = *new Host;
  return shared;
}

void* allocate_large(size_t bytes) { return allocate_block(bytes)->address; }

void deallocate_large(void* memory) noexcept { deallocate_block(host().large.find(memory)); }

}  // namespace

Block* allocate_block(size_t bytes) {
  Block* b = host().large.allocate(bytes, kHostStream, current_pool[0], current_owner());
  unpoison(b->address, bytes);
  return b;
}

void deallocate_block(Block* b) noexcept {
  poison(b->address, b->asked);
  host().large.deallocate(b);
}

size_t block_bytes(size_t bytes) {
  return bytes <= kLargestSmall ? class_bytes(size_class(bytes)) : round_up(bytes, kMinBlock);
}

CachingAllocator& host_allocator() { return host().large; }

#ifdef PERFLAB_MALLOC  // small blocks for sanitizers, which see nothing inside ours; large ones are poisoned when freed

namespace {
size_t rounded(size_t bytes) { return std::max<size_t>(bytes + 63, 64) & ~size_t{63}; }
}  // namespace

void* allocate(size_t bytes) {
  if (bytes > kLargestSmall) return allocate_large(bytes);
  void* block = std::aligned_alloc(64, rounded(bytes));
  if (!block) throw OutOfMemory(bytes);
  return block;
}
void deallocate(void* block, size_t bytes) noexcept {
  if (bytes > kLargestSmall) return deallocate_large(block);
  std::free(block);
}

#else

namespace {

SmallBlocks& small() { return host().small; }

constexpr int kBatch = 64;
constexpr int batch(int c) { return std::clamp(static_cast<int>((size_t{64} << 10) / class_bytes(c)), 1, kBatch); }
constexpr int most(int c) { return std::clamp(static_cast<int>((size_t{2} << 20) / class_bytes(c)), 4, 1024); }

struct Link {
  Link* next;
};

// One thread's free blocks. They change hands without a lock; a batch comes from the pool when a list is empty, and
// half of a list goes back when it is long.
struct Cache {
  struct List {
    Link* head = nullptr;
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
      small().give(c, blocks, n);
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
  if (bytes > kLargestSmall) return allocate_large(bytes);
  void* one;
  if (!cache && !make_cache()) return small().take(size_class(bytes), &one, 1), one;
  const int c = size_class(bytes);
  void* blocks[kBatch];
  int n = small().take(c, blocks, batch(c));
  Cache::List& list = cache->lists[c];
  while (--n > 0) {
    auto* block = static_cast<Link*>(blocks[n]);
    block->next = list.head, list.head = block, --list.room;
  }
  return blocks[0];
}

void deallocate_slow(void* memory, size_t bytes) noexcept {
  if (bytes > kLargestSmall) return deallocate_large(memory);
  small().give(size_class(bytes), &memory, 1);
}

}  // namespace

void* allocate(size_t bytes) {
  Cache* mine = cache;
  if (bytes > kLargestSmall || !mine) [[unlikely]]
    return allocate_slow(bytes);
  Cache::List& list = mine->lists[size_class(bytes)];
  Link* block = list.head;
  if (!block) [[unlikely]]
    return allocate_slow(bytes);
  list.head = block->next, ++list.room;
  return block;
}

void deallocate(void* memory, size_t bytes) noexcept {
  if (bytes > kLargestSmall || (!cache && !make_cache())) [[unlikely]]
    return deallocate_slow(memory, bytes);
  const int c = size_class(bytes);
  Cache::List& list = cache->lists[c];
  auto* block = static_cast<Link*>(memory);
  block->next = list.head, list.head = block;
  if (--list.room < 0) [[unlikely]]
    cache->give_back(c, most(c) / 2);
}

#endif

}  // namespace perflab
