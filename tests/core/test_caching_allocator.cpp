#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "caching_allocator.h"
#include "check.h"
#include "fake_memory.h"
#include "fork.h"

namespace perflab {
namespace {

constexpr size_t kKiB = 1024;

constexpr int kDevice = 31;  // of allocators whose threads keep blocks

AllocatorOptions kept() {
  AllocatorOptions o;
  o.threads_keep_blocks = true;
  return o;
}

AllocatorOptions expandable() {
  AllocatorOptions o;
  o.expandable_segments = true;
  return o;
}

// What must hold at any moment. Returns the bytes in use.
size_t check(CachingAllocator& allocator, FakeMemory& memory) {
  const MemoryStats stats = allocator.stats();
  size_t used = 0, asked = 0, pending = 0, reserved = 0, blocks = 0;
  uintptr_t end = 0;
  for (const SegmentState& s : allocator.snapshot()) {
    CHECK(s.address >= end);
    uintptr_t at = s.address;
    size_t mapped = 0;
    for (size_t i = 0; i < s.blocks.size(); ++i) {
      const BlockState& b = s.blocks[i];
      CHECK(b.address == at && b.bytes > 0 && b.bytes % 512 == 0);
      at += b.bytes;
      if (b.state != BlockState::kUnmapped) mapped += b.bytes;
      if (b.state == BlockState::kUsed) used += b.bytes, asked += b.asked, ++blocks;
      if (b.state == BlockState::kPending) pending += b.bytes;
      const bool free = b.state == BlockState::kFree || b.state == BlockState::kUnmapped;
      CHECK(!(free && i > 0 && s.blocks[i - 1].state == b.state));  // neighbours that are free are one
    }
    CHECK(at == s.address + s.bytes && mapped == s.mapped);
    end = at, reserved += mapped;
  }
  CHECK(reserved == memory.used());
  CHECK(stats.all.reserved_bytes.current == static_cast<int64_t>(reserved));
  CHECK(stats.all.allocated_bytes.current == static_cast<int64_t>(used));
  CHECK(stats.all.requested_bytes.current == static_cast<int64_t>(asked));
  CHECK(stats.all.active_bytes.current == static_cast<int64_t>(used + pending));
  CHECK(stats.all.allocation.current == static_cast<int64_t>(blocks));
  CHECK(stats.small_pool.reserved_bytes.current + stats.large_pool.reserved_bytes.current ==
        stats.all.reserved_bytes.current);
  CHECK(stats.all.active_bytes.peak >= stats.all.active_bytes.current);
  return used;
}

// Blocks in use, of which none may overlap another, nor one that other streams still use.
struct Live {
  std::map<char*, Block*> blocks;
  void add(Block* b, size_t asked) {
    CHECK(b->bytes >= asked && b->asked == asked);
    auto next = blocks.lower_bound(b->address);
    CHECK(next == blocks.end() || b->address + b->bytes <= next->first);
    CHECK(next == blocks.begin() || std::prev(next)->first + std::prev(next)->second->bytes <= b->address);
    blocks.emplace(b->address, b);
  }
  Block* take(std::mt19937_64& random) {
    auto any = std::next(blocks.begin(), static_cast<long>(random() % std::min<size_t>(blocks.size(), 64)));
    Block* b = any->second;
    blocks.erase(any);
    return b;
  }
};

void walk(const AllocatorOptions& options, uint64_t seed, int steps) {
  FakeMemory memory(256 * kMiB);
  CachingAllocator allocator(memory, kDevice, options);
  std::mt19937_64 random(seed);
  std::vector<uint32_t> pools{0, allocator.make_pool()};
  Live live;
  for (int step = 0; step < steps; ++step) {
    const auto choice = random() % 1000;
    if (choice < 500) {
      const double most = random() % 8 ? 20 : 25;
      const auto bytes = static_cast<size_t>(std::exp2(std::uniform_real_distribution(0.0, most)(random)));
      try {
        live.add(allocator.allocate(bytes, random() % 3, pools[random() % pools.size()]), bytes);
      } catch (const OutOfMemory& e) {
        CHECK(e.asked == bytes && e.reserved == memory.used() && e.free <= e.reserved);
        for (int i = 0; i < 20 && !live.blocks.empty(); ++i) allocator.deallocate(live.take(random));
      }
    } else if (choice < 980 && !live.blocks.empty()) {
      Block* b = live.take(random);
      if (random() % 4 == 0) allocator.record_stream(b, random() % 3);
      CHECK(allocator.find(b->address) == b);
      allocator.deallocate(b);
    } else if (choice < 990) {
      memory.finish(random() % 3);
    } else if (choice < 992) {
      allocator.empty_cache();
      CHECK(memory.events() == 0);
    } else if (choice < 994) {
      allocator.end_pool(pools.back()), pools.back() = allocator.make_pool();
    } else {
      check(allocator, memory);
    }
  }
  while (!live.blocks.empty()) allocator.deallocate(live.take(random));
  CHECK(check(allocator, memory) == 0);
  for (uint32_t pool : pools) allocator.end_pool(pool);
  allocator.empty_cache();
  CHECK(memory.used() == 0 && memory.events() == 0 && allocator.snapshot().empty());
}

int steps() {  // `make asan` asks for more
  const char* asked = std::getenv("PERFLAB_FUZZ_STEPS");
  return asked ? std::atoi(asked) : 100'000;
}

TEST(any_walk_over_the_allocator_keeps_its_books) { walk({}, 1, steps()); }
TEST(any_walk_with_growing_segments_keeps_its_books) { walk(expandable(), 2, steps()); }
TEST(any_walk_with_every_option_keeps_its_books) {
  AllocatorOptions o;
  o.max_split_bytes = 24 * kMiB, o.divisions.fill(4), o.garbage_collection_threshold = 0.6;
  walk(o, 3, steps());
}

TEST(any_walk_where_threads_keep_blocks_keeps_its_books) { walk(kept(), 4, steps()); }

TEST(a_thread_gets_the_block_that_it_kept) {
  FakeMemory memory(64 * kMiB);
  CachingAllocator a(memory, kDevice, kept());
  a.reset_peaks(), a.reset_accumulated();
  Block* first = a.allocate(100, 6);
  Block* b = a.allocate(700, 5);
  a.deallocate(b);
  Block *other_stream = a.allocate(900, 6), *other_size = a.allocate(1'500, 5);
  CHECK(other_stream != b && other_size != b);
  CHECK(a.allocate(900, 5) == b && b->asked == 900 && b->bytes == 1024);
  a.deallocate(b);
  const MemoryStats s = a.stats();  // for which it went back
  CHECK(s.all.allocation.current == 3 && s.all.allocated_bytes.current == 512 + 1024 + 1536);
  CHECK(s.all.allocated_bytes.peak == 512 + 1024 + 1536 + 1024);
  CHECK(s.all.requested_bytes.current == 100 + 900 + 1500);
  CHECK(s.all.allocation.allocated == 5 && s.all.allocation.freed == 2);
  CHECK(s.all.allocated_bytes.allocated == 512 + 1024 + 1024 + 1536 + 1024);
  CHECK(s.all.requested_bytes.allocated == 100 + 700 + 900 + 1500 + 900 && s.all.requested_bytes.freed == 700 + 900);
  for (Block* left : {first, other_stream, other_size}) a.deallocate(left);
}

TEST(what_threads_keep_serves_all_when_nothing_else_does) {
  FakeMemory memory(2 * kMiB);
  CachingAllocator a(memory, kDevice, kept());
  std::thread([&] {
    std::vector<Block*> blocks;
    for (int i = 0; i < 16; ++i) blocks.push_back(a.allocate(64 * kKiB));
    for (Block* b : blocks) a.deallocate(b);
  }).join();
  Block *one = a.allocate(kMiB), *two = a.allocate(kMiB);
  CHECK(memory.used() == 2 * kMiB && a.stats().retries == 0);
  a.deallocate(one), a.deallocate(two);
}

TEST(sizes_are_rounded_to_512_or_parts_of_a_power_of_two) {
  FakeMemory memory(256 * kMiB);
  CachingAllocator plain(memory, 0);
  for (auto [asked, bytes] : {std::pair<size_t, size_t>{0, 512}, {1, 512}, {512, 512}, {513, 1024}, {5000, 5120}})
    CHECK(plain.allocate(asked)->bytes == bytes);
  AllocatorOptions o;
  o.divisions.fill(4);
  CachingAllocator quarters(memory, 0, o);
  for (auto [asked, bytes] : {std::pair<size_t, size_t>{1200, 1536}, {2049, 2560}, {5000, 5120}, {9000, 10240}})
    CHECK(quarters.allocate(asked)->bytes == bytes);
}

TEST(segments_are_of_2_and_20_MiB_or_the_blocks_own) {
  FakeMemory memory(256 * kMiB);
  CachingAllocator a(memory, 0);
  size_t before = 0;
  for (auto [asked, segment] : {std::pair<size_t, size_t>{1, 2 * kMiB},
                                {kMiB, 0},
                                {kMiB + 1, 20 * kMiB},
                                {9 * kMiB, 0},
                                {10 * kMiB, 10 * kMiB},
                                {33 * kMiB + 1, 34 * kMiB}}) {
    a.allocate(asked);
    CHECK(a.reserved_bytes() - before == segment);
    before = a.reserved_bytes();
  }
}

TEST(the_best_fit_is_taken_and_split) {
  FakeMemory memory(256 * kMiB);
  CachingAllocator a(memory, 0);
  std::vector<Block*> blocks;
  for (size_t kib : {300, 1, 200, 1, 250, 1}) blocks.push_back(a.allocate(kib * kKiB));
  char *wide = blocks[0]->address, *narrow = blocks[2]->address;
  for (int i : {0, 2, 4}) a.deallocate(blocks[static_cast<size_t>(i)]);
  Block* b = a.allocate(190 * kKiB);
  CHECK(b->address == narrow && b->bytes == 190 * kKiB && b->next->bytes == 10 * kKiB);
  CHECK(a.allocate(260 * kKiB)->address == wide);
}

TEST(streams_do_not_share_free_blocks) {
  FakeMemory memory(256 * kMiB);
  CachingAllocator a(memory, 0);
  Block* b = a.allocate(5 * kMiB, 1);
  char* address = b->address;
  a.deallocate(b);
  CHECK(a.allocate(5 * kMiB, 2)->address != address);
  CHECK(a.allocate(5 * kMiB, 1)->address == address);
}

TEST(a_block_that_another_stream_uses_waits_for_it) {
  FakeMemory memory(256 * kMiB);
  CachingAllocator a(memory, 0);
  Block* b = a.allocate(5 * kMiB, 1);
  char* address = b->address;
  a.record_stream(b, 1);  // its own: nothing to wait for
  a.record_stream(b, 2), a.record_stream(b, 3), a.record_stream(b, 2);
  a.deallocate(b);
  CHECK(memory.events() == 2 && a.stats().all.active_bytes.current == static_cast<int64_t>(5 * kMiB));
  CHECK(a.stats().all.allocated_bytes.current == 0);
  memory.finish(2);
  CHECK(a.allocate(5 * kMiB, 1)->address != address);
  memory.finish(3);
  CHECK(a.allocate(5 * kMiB, 1)->address == address);
}

TEST(when_memory_runs_out_pending_blocks_are_waited_for) {
  FakeMemory memory(40 * kMiB);
  CachingAllocator a(memory, 0);
  Block* b = a.allocate(30 * kMiB, 1);
  a.record_stream(b, 2);
  a.deallocate(b);
  CHECK(a.allocate(30 * kMiB, 3) != nullptr);
  CHECK(a.stats().retries == 1 && memory.events() == 0);
}

TEST(out_of_memory_says_what_is_where) {
  FakeMemory memory(64 * kMiB);
  CachingAllocator a(memory, 3);
  a.allocate(20 * kMiB, 0, 0, {7, 1}), a.allocate(12 * kMiB, 0, 0, {8, 2}), a.allocate(11 * kMiB, 0, 0, {7, 1});
  Block* b = a.allocate(2 * kMiB, 0, 0, {9, 3});
  try {
    a.allocate(40 * kMiB);
    CHECK(false);
  } catch (const OutOfMemory& e) {
    CHECK(e.device == 3 && e.asked == 40 * kMiB && e.allocated == 46 * kMiB && e.reserved == 64 * kMiB);
    CHECK(e.on_device.free == 0 && e.on_device.total == 64 * kMiB);
    CHECK(e.largest_free == 18 * kMiB && e.free == 18 * kMiB);
    CHECK(e.owners[0].owner.scope == 7 && e.owners[0].bytes == 32 * kMiB && e.owners[0].blocks == 2);
    CHECK(e.owners[1].owner.scope == 8 && e.owners[2].owner.scope == 9 && e.owners[2].bytes == 2 * kMiB);
  }
  a.deallocate(b);
  CHECK(a.allocate(15 * kMiB) != nullptr);  // it goes on
  CHECK(a.stats().ooms == 1);
}

TEST(a_limit_holds_where_the_device_has_more) {
  FakeMemory memory(256 * kMiB);
  CachingAllocator a(memory, 0);
  a.set_limit(30 * kMiB);
  Block* b = a.allocate(20 * kMiB);
  CHECK_THROWS(OutOfMemory, a.allocate(12 * kMiB));
  a.deallocate(b);
  CHECK(a.allocate(25 * kMiB) != nullptr);  // what was cached made room
  CHECK(memory.used() == 26 * kMiB);
}

TEST(large_blocks_are_not_split_beyond_the_option) {
  FakeMemory memory(256 * kMiB);
  AllocatorOptions o;
  o.max_split_bytes = 32 * kMiB;
  CachingAllocator a(memory, 0, o);
  Block* large = a.allocate(64 * kMiB);
  CHECK(a.stats().oversize_segments.current == 1 && a.stats().oversize_allocations.current == 1);
  char* address = large->address;
  a.deallocate(large);
  CHECK(a.allocate(12 * kMiB)->address != address);
  CHECK(a.allocate(40 * kMiB)->address != address);  // 24 MiB would be lost
  CHECK(a.allocate(50 * kMiB)->address == address);
}

TEST(a_cached_block_that_fits_goes_before_all_others) {
  FakeMemory memory(128 * kMiB);
  AllocatorOptions o;
  o.max_split_bytes = 32 * kMiB;
  CachingAllocator a(memory, 0, o);
  Block *fits = a.allocate(90 * kMiB), *other = a.allocate(30 * kMiB, 1);
  a.deallocate(fits), a.deallocate(other);
  a.allocate(40 * kMiB);  // 90 would waste too much, and may not be split
  CHECK(memory.used() == 70 * kMiB && a.stats().retries == 0);
  a.allocate(60 * kMiB);  // nothing fits: all goes
  CHECK(memory.used() == 100 * kMiB && a.stats().retries == 1);
}

TEST(old_cached_blocks_are_collected_above_the_threshold) {
  FakeMemory memory(100 * kMiB);
  AllocatorOptions o;
  o.garbage_collection_threshold = 0.7;
  CachingAllocator a(memory, 0, o);
  Block *old = a.allocate(30 * kMiB), *young = a.allocate(24 * kMiB);
  a.deallocate(old);
  for (int i = 0; i < 10; ++i) a.deallocate(a.allocate(5 * kMiB, 1));
  a.deallocate(young);
  CHECK(memory.used() == 74 * kMiB);
  a.allocate(26 * kMiB, 1);  // 74 are above 70: what has not been used for long goes
  CHECK(memory.used() == 70 * kMiB && a.stats().retries == 0);
}

TEST(growing_segments_join_what_fixed_ones_cannot) {
  for (bool growing : {false, true}) {
    FakeMemory memory(100 * kMiB);
    CachingAllocator a(memory, 0, growing ? expandable() : AllocatorOptions{});
    std::vector<Block*> blocks;
    for (int i = 0; i < 5; ++i) blocks.push_back(a.allocate(20 * kMiB));
    char* address = blocks[1]->address;
    for (size_t i : {1, 2}) a.deallocate(blocks[i]);
    const bool same = a.allocate(40 * kMiB)->address == address;
    CHECK(same == growing && memory.used() == 100 * kMiB);
    CHECK(a.stats().device_allocs == (growing ? 5 : 6) && a.stats().retries == !growing);
  }
}

TEST(a_growing_segment_grows_in_place) {
  FakeMemory memory(256 * kMiB);
  CachingAllocator a(memory, 0, expandable());
  Block* b = a.allocate(30 * kMiB);
  char* address = b->address;
  CHECK(memory.used() == 40 * kMiB && b->bytes == 30 * kMiB);
  a.deallocate(b);
  b = a.allocate(50 * kMiB);
  CHECK(b->address == address && memory.used() == 60 * kMiB && a.snapshot().size() == 1);
  a.deallocate(b);
  a.empty_cache();
  CHECK(memory.used() == 0 && a.snapshot().empty());
}

TEST(pools_keep_apart_and_end) {
  FakeMemory memory(256 * kMiB);
  CachingAllocator a(memory, 0);
  const uint32_t pool = a.make_pool();
  Block *mine = a.allocate(5 * kMiB, 0, pool), *other = a.allocate(5 * kMiB);
  CHECK(memory.used() == 40 * kMiB);
  char* address = mine->address;
  a.deallocate(mine);
  a.empty_cache();
  CHECK(memory.used() == 40 * kMiB);  // what a pool has cached stays in it
  mine = a.allocate(6 * kMiB, 0, pool);
  CHECK(mine->address == address);
  a.end_pool(pool);
  CHECK(memory.used() == 40 * kMiB);
  a.deallocate(mine);
  CHECK(memory.used() == 20 * kMiB);
  a.deallocate(other);
}

TEST(peaks_and_sums_start_anew_when_asked) {
  FakeMemory memory(256 * kMiB);
  CachingAllocator a(memory, 0);
  a.deallocate(a.allocate(5 * kMiB));
  CHECK(a.stats().all.allocated_bytes.peak == static_cast<int64_t>(5 * kMiB));
  a.reset_peaks();
  CHECK(a.stats().all.allocated_bytes.peak == 0);
  CHECK(a.stats().all.reserved_bytes.peak == static_cast<int64_t>(20 * kMiB));
  CHECK(a.stats().large_pool.allocated_bytes.freed == static_cast<int64_t>(5 * kMiB));
  a.reset_accumulated();
  CHECK(a.stats().large_pool.allocated_bytes.freed == 0 && a.stats().device_allocs == 0);
}

void eight_threads(const AllocatorOptions& options) {
  FakeMemory memory(1024 * kMiB);
  CachingAllocator a(memory, kDevice, options);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      Live live;
      for (int i = 0; i < 5'000; ++i) {
        if (live.blocks.size() < 20 && random() % 2) {
          const size_t bytes = 1 + random() % (random() % 2 ? 4 * kKiB : 2 * kMiB);
          live.add(a.allocate(bytes, t % 3), bytes);
        } else if (!live.blocks.empty()) {
          Block* b = live.take(random);
          if (random() % 4 == 0) a.record_stream(b, (t + 1) % 3);
          a.deallocate(b);
          if (random() % 16 == 0) memory.finish(random() % 3);
          if (random() % 500 == 0) a.empty_cache();
        }
      }
      while (!live.blocks.empty()) a.deallocate(live.take(random));
    });
  for (auto& t : threads) t.join();
  a.empty_cache();
  CHECK(memory.used() == 0 && memory.events() == 0 && check(a, memory) == 0);
}

TEST(eight_threads_at_once) { eight_threads({}); }
TEST(eight_threads_that_keep_blocks) { eight_threads(kept()); }

// Forks while other threads take and keep blocks: the child must not find anything held.
TEST(a_forked_child_takes_kept_blocks) {
  static FakeMemory& memory = *new FakeMemory(64 * kMiB);
  static CachingAllocator& a = *[] {
    auto* made = new CachingAllocator(memory, kDevice - 1, kept());  // which lives as long as the process
    hold_across_fork(made->mutex());
    return made;
  }();
  a.deallocate(a.allocate(kKiB));  // the child maps nothing
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      while (!done) {
        for (int i = 0; i < 100; ++i) a.deallocate(a.allocate(kKiB));
        a.stats();
      }
    });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);  // a deadlock ends it
      for (int k = 0; k < 100; ++k) a.deallocate(a.allocate(kKiB)), a.stats();
      _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  done = true;
  for (auto& t : threads) t.join();
}

}  // namespace
}  // namespace perflab
