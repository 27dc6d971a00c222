#include "block_pool.h"

#include <algorithm>
#include <new>

namespace perflab {
namespace {

constexpr size_t kSlab = size_t{4} << 20, kHugePage = size_t{2} << 20, kPage = size_t{64} << 10;

// Whole huge pages where that wastes at most an eighth, else a tail in small ones: storages begin with a header, so
// powers of two become a little more.
size_t large_bytes(size_t bytes) {
  size_t huge = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  return huge - bytes <= bytes / 8 ? huge : (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace

BlockPool::~BlockPool() {
  for (const Region& r : slabs_) source_.unmap(r.begin, r.bytes);
  for (const Region& r : used_) source_.unmap(r.begin, r.bytes);
  unmap_cached();
}

void* BlockPool::allocate(size_t bytes) {
  if (bytes > kLargestSmall) return allocate_large(bytes);
  void* block;
  take(size_class(bytes), &block, 1);
  return block;
}

void BlockPool::deallocate(void* block, size_t bytes) noexcept {
  if (bytes <= kLargestSmall) return give(size_class(bytes), &block, 1);
  std::lock_guard lock(mutex_);
  cached_.insert(used_.extract(used_.find(block)));
}

int BlockPool::take(int c, void** blocks, int n) {
  std::lock_guard lock(mutex_);
  auto& free = classes_[c].free;
  if (free.empty()) carve(c, n);
  n = std::min(n, static_cast<int>(free.size()));
  std::copy(free.end() - n, free.end(), blocks);
  free.resize(free.size() - n);
  return n;
}

void BlockPool::give(int c, void* const* blocks, int n) noexcept {
  std::lock_guard lock(mutex_);
  auto& free = classes_[c].free;
  free.insert(free.end(), blocks, blocks + n);  // within its capacity, see add()
}

size_t BlockPool::reserved_bytes() {
  std::lock_guard lock(mutex_);
  return reserved_;
}

void BlockPool::empty_cache() {
  std::lock_guard lock(mutex_);
  unmap_cached();
}

void* BlockPool::map(size_t bytes) {
  void* memory = source_.map(bytes);
  if (!memory && !cached_.empty()) {
    unmap_cached();
    memory = source_.map(bytes);
  }
  if (!memory) throw OutOfMemory(bytes);
  reserved_ += bytes;
  return memory;
}

void BlockPool::carve(int c, int n) {
  const size_t bytes = class_bytes(c);
  if (left_ < bytes) new_slab();
  for (n = static_cast<int>(std::min<size_t>(n, left_ / bytes)); n > 0; --n) add(c);
}

void BlockPool::new_slab() {
  slabs_.reserve(slabs_.size() + 1);
  void* slab = map(kSlab);
  slabs_.push_back({slab, kSlab});
  for (int c = kSizeClasses - 1; c >= 0; --c)  // the rest of the old slab serves smaller sizes
    while (left_ >= class_bytes(c)) add(c);
  at_ = static_cast<char*>(slab), left_ = kSlab;
}

void BlockPool::add(int c) {
  Class& k = classes_[c];
  if (k.free.capacity() <= k.carved) k.free.reserve(2 * k.carved + 16);  // room for all of them: give() cannot fail
  k.free.push_back(at_);
  ++k.carved;
  at_ += class_bytes(c), left_ -= class_bytes(c);
}

void* BlockPool::allocate_large(size_t asked) {
  if (asked > SIZE_MAX / 2) throw OutOfMemory(asked);
  const size_t bytes = large_bytes(asked);
  std::lock_guard lock(mutex_);
  auto best = cached_.lower_bound(bytes);
  if (best != cached_.end() && best->bytes - bytes <= bytes / 8) {
    void* block = best->begin;
    used_.insert(cached_.extract(best));
    return block;
  }
  void* block = map(bytes);
  try {
    used_.insert({block, bytes});
  } catch (...) {
    source_.unmap(block, bytes), reserved_ -= bytes;
    throw;
  }
  return block;
}

void BlockPool::unmap_cached() {
  for (const Region& r : cached_) source_.unmap(r.begin, r.bytes), reserved_ -= r.bytes;
  cached_.clear();
}

}  // namespace perflab
