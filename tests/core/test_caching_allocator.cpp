#include <utility>
#include <vector>

#include "books.h"

namespace perflab {
namespace {

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

}  // namespace
}  // namespace perflab
