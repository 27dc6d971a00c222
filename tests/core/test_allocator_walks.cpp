#include <cmath>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "books.h"

namespace perflab {
namespace {

void walk(const AllocatorOptions& options, uint64_t seed, int steps) {
  FakeMemory memory(256 * kMiB);
  CachingAllocator allocator(memory, kKeeping, options);
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
  allocator.end_pool(pools.back());
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

void eight_threads(const AllocatorOptions& options) {
  FakeMemory memory(1024 * kMiB);
  CachingAllocator a(memory, kKeeping, options);
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

}  // namespace
}  // namespace perflab
