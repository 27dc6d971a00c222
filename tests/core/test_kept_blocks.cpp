#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "books.h"
#include "fork.h"

namespace perflab {
namespace {

TEST(a_thread_gets_the_block_that_it_kept) {
  FakeMemory memory(64 * kMiB);
  CachingAllocator a(memory, kKeeping, kept());
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
  CachingAllocator a(memory, kKeeping, kept());
  std::thread([&] {
    std::vector<Block*> blocks;
    for (int i = 0; i < 16; ++i) blocks.push_back(a.allocate(64 * kKiB));
    for (Block* b : blocks) a.deallocate(b);
  }).join();
  Block *one = a.allocate(kMiB), *two = a.allocate(kMiB);
  CHECK(memory.used() == 2 * kMiB && a.stats().retries == 0);
  a.deallocate(one), a.deallocate(two);
}

TEST(a_thread_gets_the_large_block_that_it_freed_last) {
  FakeMemory memory(256 * kMiB);
  CachingAllocator a(memory, kKeeping, kept());
  a.reset_peaks(), a.reset_accumulated();
  Block *first = a.allocate(2 * kMiB), *b = a.allocate(8 * kMiB), *last = a.allocate(2 * kMiB);
  a.deallocate(b);
  CHECK(a.allocate(8 * kMiB - 700) == b && b->asked == 8 * kMiB - 700 && b->used);
  a.deallocate(b);
  const MemoryStats s = a.stats();  // for which it went back
  CHECK(s.large_pool.allocation.current == 2 && s.large_pool.allocation.allocated == 4);
  CHECK(s.large_pool.allocated_bytes.allocated == static_cast<int64_t>(20 * kMiB));
  CHECK(s.large_pool.requested_bytes.freed == static_cast<int64_t>(16 * kMiB - 700));
  CHECK(s.all.allocated_bytes.current == static_cast<int64_t>(4 * kMiB) && s.small_pool.allocation.allocated == 0);
  CHECK(a.allocate(8 * kMiB) == b);
  for (Block* left : {first, b, last}) a.deallocate(left);
}

TEST(a_large_block_that_does_not_serve_is_free_before_another_is_chosen) {
  FakeMemory memory(20 * kMiB);
  CachingAllocator a(memory, kKeeping, kept());
  Block* b = a.allocate(8 * kMiB);
  char* address = b->address;
  a.deallocate(b);
  b = a.allocate(6 * kMiB);  // too small a part of it to be had whole
  CHECK(b->address == address && b->bytes == 6 * kMiB);
  a.deallocate(b);
  b = a.allocate(14 * kMiB);  // what was freed and its neighbour are one again
  CHECK(b->address == address && b->bytes == 14 * kMiB && memory.used() == 20 * kMiB);
  a.deallocate(b);
  b = a.allocate(14 * kMiB, 1);  // of another stream: the segment went, and comes anew
  CHECK(b->stream() == 1 && a.stats().device_frees >= 1);
  a.record_stream(b, 2);
  a.deallocate(b);
  CHECK(a.free_bytes().bytes == 0);  // the other stream has it still
  memory.finish(2);
}

TEST(growing_segments_keep_large_blocks_of_the_same_size_alone) {
  AllocatorOptions o = kept();
  o.expandable_segments = true;
  FakeMemory memory(256 * kMiB);
  CachingAllocator a(memory, kKeeping, o);
  Block* b = a.allocate(8 * kMiB);
  a.deallocate(b);
  b = a.allocate(8 * kMiB - 600);
  CHECK(b->bytes == 8 * kMiB - 512);
  a.deallocate(b);
  Block* again = a.allocate(8 * kMiB - 600);
  CHECK(again == b && again->bytes == 8 * kMiB - 512);
  a.deallocate(again);
}

TEST(large_blocks_that_threads_keep_serve_all_when_nothing_else_does) {
  FakeMemory memory(20 * kMiB);
  CachingAllocator a(memory, kKeeping, kept());
  std::thread([&] { a.deallocate(a.allocate(18 * kMiB)); }).join();
  Block* b = a.allocate(19 * kMiB);
  CHECK(memory.used() == 20 * kMiB && b->bytes == 20 * kMiB);
  a.deallocate(b);
}

// Forks while other threads take and keep blocks: the child must not find anything held.
TEST(a_forked_child_takes_kept_blocks) {
  static FakeMemory& memory = *new FakeMemory(64 * kMiB);
  static CachingAllocator& a = *[] {
    auto* made = new CachingAllocator(memory, kKeeping - 1, kept());  // which lives as long as the process
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
