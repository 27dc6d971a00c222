#include "counted_memory.h"

namespace perflab {

bool CountedMemory::take(size_t bytes) {
  if (bytes > capacity_ - used_) return false;
  used_ += bytes;
  return true;
}

void* CountedMemory::map(size_t bytes) noexcept {
  std::lock_guard lock(mutex_);
  if (!take(bytes)) return nullptr;
  void* memory = take_range(bytes);
  if (!memory) used_ -= bytes;
  return memory;
}

void CountedMemory::unmap(void* memory, size_t bytes) noexcept {
  std::lock_guard lock(mutex_);
  give_range(memory);
  used_ -= bytes;
}

MemoryInfo CountedMemory::info() noexcept {
  std::lock_guard lock(mutex_);
  return {capacity_ - used_, capacity_};
}

void* CountedMemory::reserve_range(size_t bytes) noexcept {
  std::lock_guard lock(mutex_);
  return take_range(bytes);
}

void CountedMemory::release_range(void* begin, size_t) noexcept {
  std::lock_guard lock(mutex_);
  give_range(begin);
}

bool CountedMemory::map_at(void*, size_t bytes) noexcept {
  std::lock_guard lock(mutex_);
  return take(bytes);
}

void CountedMemory::unmap_at(void*, size_t bytes) noexcept {
  std::lock_guard lock(mutex_);
  used_ -= bytes;
}

size_t CountedMemory::used() {
  std::lock_guard lock(mutex_);
  return used_;
}

}  // namespace perflab
