// Pinned memory of the CPU: a device copies from it and to it while the CPU goes on. Each device has a pool of it, a
// caching allocator whose blocks wait, when they are freed, for the copies that still use them.
#pragma once
#include "device.h"

namespace perflab {

// Of one device: its memory is the device's to lock, its events are those of the device's streams.
class PinnedMemory final : public MemorySource {
 public:
  explicit PinnedMemory(Device& d) : device_(d) {}
  void* map(size_t bytes) noexcept override { return device_.map_pinned(bytes); }
  void unmap(void* memory, size_t bytes) noexcept override { device_.unmap_pinned(memory, bytes); }
  MemoryInfo info() noexcept override { return host_memory().info(); }
  StreamEvent record_event(Stream s) noexcept override { return device_.memory_source().record_event(s); }
  bool event_passed(StreamEvent e) noexcept override { return device_.memory_source().event_passed(e); }
  void wait_event(StreamEvent e) noexcept override { device_.memory_source().wait_event(e); }
  void drop_event(StreamEvent e) noexcept override { device_.memory_source().drop_event(e); }

 private:
  Device& device_;
};

inline bool is_pinned(const Array& a) { return a.storage && a.storage->pinned; }
inline bool is_pinned_by(const Device& d, const Array& a) { return a.storage && a.storage->pinned == d.number(); }

Array pinned_like(const Layout&, DType, Device&);  // contiguous
// What the device's current stream does now reads or writes the array: the block waits for it.
void guard_copy(Device&, const Array&);

}  // namespace perflab
