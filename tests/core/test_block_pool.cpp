#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <new>
#include <random>

#include "block_pool.h"
#include "check.h"
#include "limited_source.h"

namespace perflab {
namespace {

using test::LimitedSource;
constexpr size_t kMiB = size_t{1} << 20;

TEST(size_classes_fit_tightly) {
  for (size_t n = 0; n <= kLargestSmall; n += n < 20'000 ? 1 : 61) {
    const int c = size_class(n);
    CHECK(c >= 0 && c < kSizeClasses && class_bytes(c) >= n && class_bytes(c) % 64 == 0);
    CHECK(c == 0 || class_bytes(c - 1) < n);
  }
  for (size_t n = 64; n <= kMiB; n *= 2) CHECK(class_bytes(size_class(n + 64)) == n + 64);  // a header, a power of two
}

// A random walk over allocate, deallocate and empty_cache. Each block carries its own address at both ends.
TEST(blocks_never_overlap) {
  LimitedSource source(256 * kMiB);
  BlockPool pool(source);
  std::mt19937_64 random(7);
  std::map<char*, size_t> live;
  size_t held = 0;
  for (int step = 0; step < 40'000; ++step) {
    const auto choice = random() % 1000;
    if (choice == 0) {
      pool.empty_cache();
    } else if (choice < 520 && held < 128 * kMiB) {
      const auto bytes = static_cast<size_t>(std::exp2(std::uniform_real_distribution(0.0, 22.5)(random)));
      auto* p = static_cast<char*>(pool.allocate(bytes));
      CHECK(reinterpret_cast<uintptr_t>(p) % 64 == 0);
      auto next = live.lower_bound(p);
      CHECK(next == live.end() || p + bytes <= next->first);
      CHECK(next == live.begin() || std::prev(next)->first + std::prev(next)->second <= p);
      live[p] = bytes, held += bytes;
      if (bytes >= sizeof p) std::memcpy(p, &p, sizeof p), std::memcpy(p + bytes - sizeof p, &p, sizeof p);
    } else if (!live.empty()) {
      auto any = live.lower_bound(std::prev(live.end())->first - random() % (64 * kMiB));
      auto [p, bytes] = any == live.end() ? *live.begin() : *any;
      if (bytes >= 2 * sizeof p)
        CHECK(!std::memcmp(p, &p, sizeof p) && !std::memcmp(p + bytes - sizeof p, &p, sizeof p));
      pool.deallocate(p, bytes);
      live.erase(p), held -= bytes;
    }
    CHECK(pool.reserved_bytes() + source.left() == 256 * kMiB);
    CHECK(held <= pool.reserved_bytes());
  }
  for (auto [p, bytes] : live) pool.deallocate(p, bytes);
  pool.empty_cache();
  CHECK(source.left() >= 128 * kMiB);  // only slabs stay
}

TEST(freed_blocks_are_used_again) {
  LimitedSource source(64 * kMiB);
  BlockPool pool(source);
  for (size_t bytes : {size_t{1}, size_t{100}, size_t{70'000}, kMiB, 5 * kMiB}) {
    void* p = pool.allocate(bytes);
    const int maps = source.maps;
    pool.deallocate(p, bytes);
    CHECK(pool.allocate(bytes) == p && source.maps == maps);
    pool.deallocate(p, bytes);
  }
}

TEST(large_blocks_fit_best_within_an_eighth) {
  LimitedSource source(64 * kMiB);
  BlockPool pool(source);
  void* ten = pool.allocate(10 * kMiB);
  void* twelve = pool.allocate(12 * kMiB);
  pool.deallocate(twelve, 12 * kMiB);
  pool.deallocate(ten, 10 * kMiB);
  void* small = pool.allocate(5 * kMiB);
  CHECK(small != ten && small != twelve);
  CHECK(pool.allocate(9 * kMiB + 77) == ten);  // the nearest, not the last freed
  CHECK(pool.allocate(11 * kMiB) == twelve);
  pool.deallocate(ten, 9 * kMiB + 77);  // its real size is known though another was asked for
  CHECK(pool.allocate(10 * kMiB) == ten);
}

TEST(a_header_before_a_power_of_two_costs_little) {
  LimitedSource source(256 * kMiB);
  BlockPool pool(source);
  for (size_t n : {2 * kMiB, 4 * kMiB, 8 * kMiB, 64 * kMiB}) {
    const size_t before = source.left();
    pool.allocate(n + 64);
    CHECK(before - source.left() <= n + n / 8);
  }
}

TEST(out_of_memory_empties_the_cache_first) {
  LimitedSource source(16 * kMiB);
  BlockPool pool(source);
  void* a = pool.allocate(6 * kMiB);
  void* b = pool.allocate(6 * kMiB);
  CHECK_THROWS(std::bad_alloc, pool.allocate(8 * kMiB));
  pool.deallocate(b, 6 * kMiB);
  void* c = pool.allocate(8 * kMiB);  // only b's memory makes room for it
  CHECK(source.left() == 2 * kMiB);
  CHECK_THROWS(std::bad_alloc, pool.allocate(100));  // no room for a slab
  pool.deallocate(c, 8 * kMiB);
  void* d = pool.allocate(100);
  CHECK(d != nullptr);
  std::memset(a, 1, 6 * kMiB);
  CHECK_THROWS(std::bad_alloc, pool.allocate(SIZE_MAX));
  CHECK_THROWS(std::bad_alloc, pool.allocate(SIZE_MAX / 2));
  pool.deallocate(d, 100);
  pool.deallocate(a, 6 * kMiB);
  pool.empty_cache();
  CHECK(pool.reserved_bytes() == 4 * kMiB);
}

TEST(the_rest_of_a_slab_is_used) {
  LimitedSource source(8 * kMiB);
  BlockPool pool(source);
  for (int i = 0; i < 6; ++i) pool.allocate(kLargestSmall);  // three of each slab, a little less than one remains
  CHECK(source.left() == 0);
  pool.allocate(890 << 10);
  pool.allocate(890 << 10);
  CHECK_THROWS(std::bad_alloc, pool.allocate(890 << 10));
}

}  // namespace
}  // namespace perflab
