#include <algorithm>
#include <map>
#include <random>

#include "check.h"
#include "fake_memory.h"
#include "small_blocks.h"

namespace perflab {
namespace {

TEST(size_classes_fit_tightly) {
  for (size_t n = 0; n <= kLargestSmall; n += n < 20'000 ? 1 : 61) {
    const int c = size_class(n);
    CHECK(c >= 0 && c < kSizeClasses && class_bytes(c) >= n && class_bytes(c) % 64 == 0);
    CHECK(c == 0 || class_bytes(c - 1) < n);
  }
  for (size_t n = 64; n <= kMiB; n *= 2) CHECK(class_bytes(size_class(n + 64)) == n + 64);  // a header, a power of two
}

TEST(small_blocks_never_overlap) {
  FakeMemory memory(1024 * kMiB);
  CachingAllocator slabs(memory, 0);
  SmallBlocks small(slabs);
  std::mt19937_64 random(7);
  std::map<char*, int> live;  // size class
  for (int step = 0; step < 20'000; ++step) {
    if (random() % 100 < 52) {
      const int c = static_cast<int>(random() % (random() % 8 ? kFineClasses : kSizeClasses));
      void* blocks[4];
      const int n = small.take(c, blocks, 4);
      CHECK(n >= 1 && n <= 4);
      for (int i = 0; i < n; ++i) {
        auto* p = static_cast<char*>(blocks[i]);
        CHECK(reinterpret_cast<uintptr_t>(p) % 64 == 0);
        auto next = live.lower_bound(p);
        CHECK(next == live.end() || p + class_bytes(c) <= next->first);
        CHECK(next == live.begin() || std::prev(next)->first + class_bytes(std::prev(next)->second) <= p);
        live[p] = c;
      }
    } else {
      for (int i = 0; i < 4 && !live.empty(); ++i) {
        void* p = live.begin()->first;
        small.give(live.begin()->second, &p, 1);
        live.erase(live.begin());
      }
    }
  }
}

TEST(the_rest_of_a_slab_is_used) {
  FakeMemory memory(40 * kMiB);  // ten slabs
  CachingAllocator slabs(memory, 0);
  SmallBlocks small(slabs);
  void* block;
  for (int i = 0; i < 30; ++i)
    small.take(kSizeClasses - 1, &block, 1);  // three of each, a little less than one remains
  CHECK_THROWS(OutOfMemory, small.take(kSizeClasses - 1, &block, 1));
  for (int i = 0; i < 10; ++i) small.take(size_class(890 << 10), &block, 1);
  CHECK_THROWS(OutOfMemory, small.take(size_class(890 << 10), &block, 1));
}

TEST(blocks_given_back_are_taken_again) {
  FakeMemory memory(64 * kMiB);
  CachingAllocator slabs(memory, 0);
  SmallBlocks small(slabs);
  for (size_t bytes : {size_t{1}, size_t{100}, size_t{70'000}, kMiB}) {
    void *p, *again;
    small.take(size_class(bytes), &p, 1);
    small.give(size_class(bytes), &p, 1);
    small.take(size_class(bytes), &again, 1);
    CHECK(again == p);
    small.give(size_class(bytes), &p, 1);
  }
  CHECK(memory.used() == 20 * kMiB && slabs.stats().all.allocated_bytes.current == static_cast<int64_t>(4 * kMiB));
}

}  // namespace
}  // namespace perflab
