// What the caching allocator knows of memory: segments, got from the source, and the blocks that each is cut into.
// All of it lies outside the memory, which the CPU may not be able to reach.
#pragma once
#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

#include "out_of_memory.h"
#include "source.h"

namespace perflab {

// PyTorch's sizes: histories replay as they went there.
constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kMinBlock = 512;
constexpr size_t kLargestOfSmallPool = kMiB;
constexpr size_t kSmallSegment = 2 * kMiB, kLargeSegment = 20 * kMiB;
constexpr size_t kOwnSegment = 10 * kMiB;  // from here on a segment is made for the block

constexpr size_t round_up(size_t n, size_t step) { return (n + step - 1) / step * step; }

struct Block;
struct FreeBlocks;

struct BySize {  // and by stream before all
  using is_transparent = void;
  struct Key {
    Stream stream;
    size_t bytes;
  };
  bool operator()(const Block* a, const Block* b) const;
  bool operator()(const Block* a, Key k) const;
};
struct ByAddress {
  bool operator()(const Block* a, const Block* b) const;
};
using BlocksBySize = std::set<Block*, BySize>;
using BlocksByAddress = std::set<Block*, ByAddress>;  // its nodes are those of the other

struct Segment {
  char* address;
  size_t bytes;   // of memory, or of addresses where it grows
  size_t step;    // it grows and shrinks by so many bytes; 0: it is of one piece
  size_t mapped;  // bytes with memory behind them
  Stream stream;
  FreeBlocks* home;
  Block* first;  // its blocks, in order, follow by `next`
};

struct Block {
  char* address = nullptr;
  size_t bytes = 0, asked = 0;
  Segment* segment = nullptr;
  Block *prev = nullptr, *next = nullptr;  // neighbours in the segment
  bool used = false;
  bool mapped = true;       // there is memory behind it
  uint32_t pending = 0;     // events of other streams that have not passed since it was freed
  uint64_t free_since = 0;  // searches of its home when it became free, for the garbage collection
  Owner owner;
  std::vector<Stream> streams;   // others that use it
  BlocksBySize::node_type node;  // while it is in no set of free blocks: becoming free allocates nothing
  BlocksBySize::iterator place;  // in the set of mapped ones
  Block *next_in_use = nullptr, *next_kept = nullptr;  // in lists of BlocksInUse and KeptBlocks

  Block();
  Stream stream() const { return segment->stream; }
  bool is_split() const { return prev || next; }
  bool is_free() const { return !used && pending == 0 && streams.empty(); }
  void put_after(Block* before) noexcept;  // as its neighbour
  void renew() noexcept;                   // as if it were new; in no segment and no list
  void absorb_next() noexcept;             // which stands in no list any more
};

// The free blocks of one pool and one kind (small or large). Unmapped ones are parts of growing segments.
struct FreeBlocks {
  const uint32_t pool;
  const bool small;
  BlocksBySize mapped;
  BlocksByAddress unmapped;
  uint64_t searches = 0;

  void insert(Block*) noexcept;
  void erase(Block*) noexcept;
};

// Blocks in use, found by their address.
class BlocksInUse {
 public:
  void reserve_one();  // insert() cannot fail then
  void insert(Block*) noexcept;
  void erase(Block*) noexcept;
  Block* find(const void* address);  // null: none

 private:
  Block** place(const void* address) {
    return &heads_[(reinterpret_cast<uintptr_t>(address) >> 9) * 0x9E3779B97F4A7C15u >> shift_];
  }
  std::vector<Block*> heads_;
  int shift_ = 64;
  size_t size_ = 0;
};

inline bool BySize::operator()(const Block* a, const Block* b) const {
  return std::make_tuple(a->stream(), a->bytes, a->address) < std::make_tuple(b->stream(), b->bytes, b->address);
}
inline bool BySize::operator()(const Block* a, Key k) const {
  return std::make_tuple(a->stream(), a->bytes) < std::make_tuple(k.stream, k.bytes);
}
inline bool ByAddress::operator()(const Block* a, const Block* b) const { return a->address < b->address; }

}  // namespace perflab
