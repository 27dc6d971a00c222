#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "allocator.h"
#include "caching_allocator.h"
#include "check.h"

namespace perflab {
namespace {

struct Item {
  unsigned char* block;
  size_t bytes;
  unsigned char mark;
};
Item make(std::mt19937& random) {
  const size_t bytes = 1 + random() % (random() % 50 ? 5'000 : 3'000'000);
  const auto mark = static_cast<unsigned char>(random());
  auto* block = static_cast<unsigned char*>(allocate(bytes));
  block[0] = block[bytes / 2] = block[bytes - 1] = mark;
  return {block, bytes, mark};
}
void drop(const Item& item) {
  CHECK(item.block[0] == item.mark && item.block[item.bytes / 2] == item.mark &&
        item.block[item.bytes - 1] == item.mark);
  CHECK(reinterpret_cast<uintptr_t>(item.block) % 64 == 0);
  deallocate(item.block, item.bytes);
}

TEST(one_thread_allocates_and_frees_at_random) {
  std::mt19937 random(3);
  std::vector<Item> live;
  for (int step = 0; step < 50'000; ++step) {
    if (live.size() < 300 && random() % 2) {
      live.push_back(make(random));
    } else if (!live.empty()) {
      std::swap(live[random() % live.size()], live.back());
      drop(live.back());
      live.pop_back();
    }
    if (step % 10'000 == 0) host_allocator().empty_cache();
  }
  for (auto& item : live) drop(item);
}

TEST(nothing_and_too_much) {
  void* p = allocate(0);
  CHECK(p != nullptr);
  deallocate(p, 0);
  CHECK_THROWS(std::bad_alloc, allocate(SIZE_MAX));
  CHECK_THROWS(std::bad_alloc, allocate(size_t{1} << 60));
}

// Every block is freed by another thread than the one that made it.
TEST(threads_free_each_others_blocks) {
  constexpr int threads = 4, blocks = 20'000;
  struct Queue {
    std::mutex mutex;
    std::condition_variable filled;
    std::deque<Item> items;
  };
  std::vector<Queue> queues(threads);
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t)
    pool.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      Queue &mine = queues[static_cast<size_t>(t)], &next = queues[static_cast<size_t>(t + 1) % threads];
      for (int sent = 0, got = 0; got < blocks;) {
        if (sent < blocks) {
          Item item = make(random);
          std::lock_guard lock(next.mutex);
          next.items.push_back(item), ++sent;
          next.filled.notify_one();
        }
        std::unique_lock lock(mine.mutex);
        if (sent == blocks) mine.filled.wait(lock, [&] { return !mine.items.empty(); });
        if (mine.items.empty() || (sent < blocks && random() % 4 == 0)) continue;
        Item item = mine.items.front();
        mine.items.pop_front(), ++got;
        lock.unlock();
        drop(item);
      }
    });
  for (auto& t : pool) t.join();
}

TEST(a_thread_that_ends_gives_its_blocks_back) {
  auto churn = [] {
    std::vector<void*> blocks;
    for (int i = 0; i < 64; ++i) blocks.push_back(allocate(100'000));
    for (void* p : blocks) deallocate(p, 100'000);
  };
  std::thread(churn).join();
  const size_t before = host_allocator().reserved_bytes();
  for (int i = 0; i < 20; ++i) std::thread(churn).join();
  CHECK(host_allocator().reserved_bytes() == before);
}

struct FreesAtTheEnd {
  void* block = nullptr;
  ~FreesAtTheEnd() {
    deallocate(block, 500);
    deallocate(allocate(500), 500);
  }
};
thread_local FreesAtTheEnd at_the_end;

TEST(a_thread_may_free_while_it_ends) {
  for (int i = 0; i < 3; ++i)
    std::thread([] {
      at_the_end.block = nullptr;  // made before the thread's cache, so destroyed after it
      at_the_end.block = allocate(500);
    }).join();
}

#ifndef PERFLAB_MALLOC
TEST(a_block_comes_back_at_once) {
  for (size_t bytes : {size_t{1}, size_t{64}, size_t{3'000}, size_t{1} << 20, size_t{3} << 20}) {
    void* p = allocate(bytes);
    deallocate(p, bytes);
    CHECK(allocate(bytes) == p);
    deallocate(p, bytes);
  }
}

TEST(an_emptied_cache_gives_large_blocks_back) {
  host_allocator().empty_cache();
  const size_t before = host_allocator().reserved_bytes();
  void* p = allocate(size_t{32} << 20);
  CHECK(host_allocator().reserved_bytes() >= before + (size_t{32} << 20));
  deallocate(p, size_t{32} << 20);
  CHECK(host_allocator().reserved_bytes() > before);
  host_allocator().empty_cache();
  CHECK(host_allocator().reserved_bytes() == before);
}

TEST(a_thread_keeps_little_of_what_others_made) {
  std::vector<void*> blocks;
  for (int i = 0; i < 2'000; ++i) blocks.push_back(allocate(10'000));
  std::thread([&] {
    for (void* p : blocks) deallocate(p, 10'000);
    const size_t before = host_allocator().reserved_bytes();
    std::thread([&] {
      for (int i = 0; i < 1'500; ++i) blocks[static_cast<size_t>(i)] = allocate(10'000);
    }).join();
    CHECK(host_allocator().reserved_bytes() == before);
  }).join();
  for (int i = 0; i < 1'500; ++i) deallocate(blocks[static_cast<size_t>(i)], 10'000);
}
#endif

// Forks while other threads are inside the allocator: the child must not find its lock taken.
TEST(a_forked_child_allocates) {
  std::atomic<bool> done{false};
  std::vector<std::thread> pool;
  for (unsigned t = 0; t < 2; ++t)
    pool.emplace_back([&done, t] {
      std::mt19937 random(t);
      while (!done) drop({static_cast<unsigned char*>(std::memset(allocate(2'000'000), 1, 2'000'000)), 2'000'000, 1});
    });
  for (int i = 0; i < 20; ++i) {
    pid_t child = fork();
    if (child == 0) {
      alarm(20);  // a deadlock ends it
      std::mt19937 random(1);
      for (int k = 0; k < 500; ++k) drop(make(random));
      _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  done = true;
  for (auto& t : pool) t.join();
}

}  // namespace
}  // namespace perflab
