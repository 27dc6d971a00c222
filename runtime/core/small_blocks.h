// Small blocks of the host: size classes carved from slabs, which stay. Under one lock; threads keep caches in front.
#pragma once
#include <array>
#include <mutex>
#include <vector>

#include "caching_allocator.h"
#include "size_classes.h"

namespace perflab {

class SmallBlocks {
 public:
  explicit SmallBlocks(CachingAllocator& slabs) : slabs_(slabs), pool_(slabs.make_pool()) {}
  SmallBlocks(const SmallBlocks&) = delete;

  // As many blocks of a class as there are, but at least one and at most n. Throws OutOfMemory.
  int take(int size_class, void** blocks, int n);
  void give(int size_class, void* const* blocks, int n) noexcept;
  std::mutex& mutex() { return mutex_; }

 private:
  struct Class {
    std::vector<void*> free;
    size_t carved = 0;
  };

  void new_slab();
  void carve(int size_class, int n);
  void add(int size_class);

  CachingAllocator& slabs_;
  const uint32_t pool_;  // of their own: they never go, and would keep other segments from going
  std::mutex mutex_;
  std::array<Class, kSizeClasses> classes_;
  char* at_ = nullptr;  // the part of the newest slab that is not carved yet
  size_t left_ = 0;
};

}  // namespace perflab
