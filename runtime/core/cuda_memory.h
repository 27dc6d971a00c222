// The memory of a CUDA device: cuMemAlloc, and virtual memory for segments that grow.
#pragma once

#include "source.h"

namespace perflab::cuda {

class GpuMemory final : public MemorySource {
 public:
  explicit GpuMemory(int device);
  void* map(size_t bytes) noexcept override;
  void unmap(void* memory, size_t bytes) noexcept override;
  MemoryInfo info() noexcept override;

  StreamEvent record_event(Stream) noexcept override;
  bool event_passed(StreamEvent) noexcept override;
  void wait_event(StreamEvent) noexcept override;
  void drop_event(StreamEvent) noexcept override;

  size_t page_bytes() noexcept override { return page_; }
  void* reserve_range(size_t bytes) noexcept override;
  void release_range(void* begin, size_t bytes) noexcept override;
  bool map_at(void* at, size_t bytes) noexcept override;
  void unmap_at(void* at, size_t bytes) noexcept override;

 private:
  const int device_;
  size_t page_ = 0;  // 0: the device has no virtual memory
};

}  // namespace perflab::cuda
