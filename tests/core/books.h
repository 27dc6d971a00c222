// What must hold of a caching allocator at any moment, for tests of it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <random>

#include "caching_allocator.h"
#include "check.h"
#include "fake_memory.h"

namespace perflab {

constexpr size_t kKiB = 1024;
constexpr int kKeeping = 31;  // the device of allocators whose threads keep blocks

inline AllocatorOptions kept() {
  AllocatorOptions o;
  o.threads_keep_blocks = true;
  return o;
}

inline AllocatorOptions expandable() {
  AllocatorOptions o;
  o.expandable_segments = true;
  return o;
}

// Its books. Returns the bytes in use.
inline size_t check(CachingAllocator& allocator, FakeMemory& memory) {
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

}  // namespace perflab
