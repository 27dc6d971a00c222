// The memory of a simulated device: a range of the CPU's addresses, of which `capacity` bytes can be mapped at once.
#pragma once
#include <map>
#include <mutex>

#include "source.h"

namespace perflab {

class SimDevice;

class SimSource final : public MemorySource {
 public:
  explicit SimSource(int index);  // the same index has the same addresses in every process, where they are free
  ~SimSource() override;
  SimSource(const SimSource&) = delete;
  void serve(SimDevice& device) { device_ = &device; }
  std::mutex& mutex() { return mutex_; }
  void set_capacity(size_t bytes);  // throws Error(kValue) when that is less than what is mapped, or too much

  // First fit, so that addresses are the same in every run. The pages stay when they are unmapped: work on them that is
  // still to be done does no harm, for what comes after it waits for it, as after cudaFree(). The CPU does not.
  void* map(size_t bytes) noexcept override;
  void unmap(void* memory, size_t bytes) noexcept override;
  MemoryInfo info() noexcept override;

  StreamEvent record_event(Stream) noexcept override;
  bool event_passed(StreamEvent) noexcept override;
  void wait_event(StreamEvent) noexcept override;
  void drop_event(StreamEvent) noexcept override;

  size_t page_bytes() noexcept override;
  void* reserve_range(size_t bytes) noexcept override;
  void release_range(void* begin, size_t bytes) noexcept override;
  bool map_at(void* at, size_t bytes) noexcept override;
  void unmap_at(void* at, size_t bytes) noexcept override;

 private:
  void* find_range(size_t bytes);  // and takes it
  bool take(size_t bytes);         // of the capacity

  SimDevice* device_ = nullptr;
  std::mutex mutex_;
  size_t capacity_, mapped_ = 0;
  char* begin_;
  std::map<char*, size_t> ranges_;
};

}  // namespace perflab
