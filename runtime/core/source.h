// Where a device's memory comes from and goes to, and how far its streams are. An allocator knows no more of a device
// than this, and never touches the memory.
#pragma once
#include <cstddef>
#include <cstdint>

namespace perflab {

// Opaque: what the device makes of them. 0 is the default stream, and no event.
using Stream = std::uintptr_t;
using StreamEvent = std::uintptr_t;

struct MemoryInfo {
  size_t free, total;  // on the device, for all processes
};

class MemorySource {
 public:
  virtual ~MemorySource() = default;
  virtual void* map(size_t bytes) noexcept = 0;  // aligned to 512 bytes at least; null: there is no more
  virtual void unmap(void* memory, size_t bytes) noexcept = 0;
  virtual MemoryInfo info() noexcept = 0;

  // Events, for blocks that other streams use. Where streams are in step with the host, every event has passed.
  virtual StreamEvent record_event(Stream) noexcept { return 0; }  // after what is on the stream now
  virtual bool event_passed(StreamEvent) noexcept { return true; }
  virtual void wait_event(StreamEvent) noexcept {}  // the calling thread waits
  virtual void drop_event(StreamEvent) noexcept {}  // each recorded event is dropped once

  // Virtual memory, for segments that grow in place: addresses first, memory behind parts of them later. Parts begin
  // and end at multiples of page_bytes(), counted from the beginning of the range.
  virtual size_t page_bytes() noexcept { return 0; }  // 0: there is none, and the four below are not called
  virtual void* reserve_range(size_t) noexcept { return nullptr; }
  virtual void release_range(void*, size_t) noexcept {}  // nothing is mapped in it
  virtual bool map_at(void*, size_t) noexcept { return false; }
  virtual void unmap_at(void*, size_t) noexcept {}
};

MemorySource& host_memory();  // zeroed, aligned to huge pages and backed by them where the size allows

}  // namespace perflab
