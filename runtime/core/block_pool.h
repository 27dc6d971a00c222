// Blocks over one memory source, under one lock: size classes carved from slabs, and large blocks of their own that are
// kept when freed. Bookkeeping lies outside the blocks, which may be memory that the CPU cannot reach.
#pragma once
#include <array>
#include <cstddef>
#include <mutex>
#include <set>
#include <vector>

#include "out_of_memory.h"
#include "size_classes.h"
#include "source.h"

namespace perflab {

class BlockPool {
 public:
  explicit BlockPool(MemorySource& source) : source_(source) {}
  ~BlockPool();  // gives everything back, blocks in use as well
  BlockPool(const BlockPool&) = delete;

  // `bytes` of deallocate is what allocate was asked for. Out of memory: cached blocks go, then OutOfMemory.
  void* allocate(size_t bytes);
  void deallocate(void* block, size_t bytes) noexcept;

  // For caches in front of the pool: as many blocks of a class as there are, but at least one and at most n.
  int take(int size_class, void** blocks, int n);
  void give(int size_class, void* const* blocks, int n) noexcept;

  size_t reserved_bytes();  // mapped now
  void empty_cache();       // gives free large blocks back to the source
  std::mutex& mutex() { return mutex_; }

 private:
  struct Region {
    void* begin;
    size_t bytes;
  };
  struct ByAddress {
    using is_transparent = void;
    bool operator()(const Region& a, const Region& b) const { return a.begin < b.begin; }
    bool operator()(const Region& a, const void* p) const { return a.begin < p; }
    bool operator()(const void* p, const Region& b) const { return p < b.begin; }
  };
  struct BySize {
    using is_transparent = void;
    bool operator()(const Region& a, const Region& b) const {
      return a.bytes != b.bytes ? a.bytes < b.bytes : a.begin < b.begin;
    }
    bool operator()(const Region& a, size_t n) const { return a.bytes < n; }
    bool operator()(size_t n, const Region& b) const { return n < b.bytes; }
  };
  struct Class {
    std::vector<void*> free;
    size_t carved = 0;
  };

  void* map(size_t bytes);
  void new_slab();
  void carve(int size_class, int n);
  void add(int size_class);
  void* allocate_large(size_t bytes);
  void unmap_cached();

  MemorySource& source_;
  std::mutex mutex_;
  size_t reserved_ = 0;
  std::array<Class, kSizeClasses> classes_;
  std::vector<Region> slabs_;
  char* at_ = nullptr;  // the part of the newest slab that is not carved yet
  size_t left_ = 0;
  // Two sets of one node type: a block goes from one to the other without an allocation, so giving back cannot fail.
  std::set<Region, ByAddress> used_;
  std::set<Region, BySize> cached_;
};

}  // namespace perflab
