#include "small_blocks.h"

#include <algorithm>

namespace perflab {
namespace {

constexpr size_t kSlab = 4 * kMiB;

}  // namespace

int SmallBlocks::take(int c, void** blocks, int n) {
  std::lock_guard lock(mutex_);
  auto& free = classes_[c].free;
  if (free.empty()) carve(c, n);
  n = std::min(n, static_cast<int>(free.size()));
  std::copy(free.end() - n, free.end(), blocks);
  free.resize(free.size() - n);
  return n;
}

void SmallBlocks::give(int c, void* const* blocks, int n) noexcept {
  std::lock_guard lock(mutex_);
  auto& free = classes_[c].free;
  free.insert(free.end(), blocks, blocks + n);  // within its capacity, see add()
}

void SmallBlocks::carve(int c, int n) {
  const size_t bytes = class_bytes(c);
  if (left_ < bytes) new_slab();
  for (n = static_cast<int>(std::min<size_t>(n, left_ / bytes)); n > 0; --n) add(c);
}

void SmallBlocks::new_slab() {
  Block* slab = slabs_.allocate(kSlab, 0, pool_, kSlabs);
  for (int c = kSizeClasses - 1; c >= 0; --c)  // the rest of the old slab serves smaller sizes
    while (left_ >= class_bytes(c)) add(c);
  at_ = slab->address, left_ = kSlab;
}

void SmallBlocks::add(int c) {
  Class& k = classes_[c];
  if (k.free.capacity() <= k.carved) k.free.reserve(2 * k.carved + 16);  // room for all of them: give() cannot fail
  k.free.push_back(at_);
  ++k.carved;
  at_ += class_bytes(c), left_ -= class_bytes(c);
}

}  // namespace perflab
