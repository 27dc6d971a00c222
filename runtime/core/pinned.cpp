#include "pinned.h"

#include "allocator.h"
#include "caching_allocator.h"
#include "fork.h"
#include "live_bytes.h"
#include "recorder.h"

namespace perflab {
namespace {

constexpr Stream kNone = UINTPTR_MAX;  // the CPU's: no stream of a device is it, so that all are waited for

void give_back(Storage* s) {
  record_memory(EventKind::kFree, s);
  host_bytes().change_by_any(-static_cast<int64_t>(s->bytes));
  device(s->pinned).pinned().deallocate(s->block);
}

Storage* make_storage_in(Device& d, size_t bytes) {
  Block* block = d.pinned().allocate(bytes, kNone, 0, current_owner());
  Storage* s;
  try {
    s = adopt_storage(block->address, bytes, nullptr, give_back);
  } catch (...) {
    d.pinned().deallocate(block);
    throw;
  }
  s->block = block, s->pinned = static_cast<uint8_t>(d.number());
  host_bytes().change_by_any(static_cast<int64_t>(bytes));
  record_memory(EventKind::kAlloc, s);
  return s;
}

}  // namespace

struct Device::Pinned {
  explicit Pinned(Device& d) : memory(d), allocator(memory, 0) { hold_across_fork(allocator.mutex()); }
  PinnedMemory memory;
  CachingAllocator allocator;
};

CachingAllocator& Device::pinned() {
  Pinned* pinned = pinned_.load(std::memory_order_acquire);
  if (!pinned) {
    std::lock_guard lock(pinned_making_);
    pinned = pinned_.load(std::memory_order_relaxed);
    if (!pinned) pinned_.store(pinned = new Pinned(*this), std::memory_order_release);
  }
  return pinned->allocator;
}

Array pinned_like(const Layout& shape, DType dtype, Device& d) {
  Array a;
  a.dtype = dtype;
  a.take_shape(shape);
  a.storage = make_storage_in(d, a.bytes()), a.data = a.storage->data;
  return a;
}

void guard_copy(Device& d, const Array& a) {
  if (is_pinned_by(d, a)) d.pinned().record_stream(a.storage->block, d.current_stream());
}

}  // namespace perflab
