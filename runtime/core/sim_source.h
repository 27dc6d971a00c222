// The memory of a simulated device: a range of the CPU's addresses, of which `capacity` bytes can be mapped at once.
#pragma once
#include <map>

#include "counted_memory.h"

namespace perflab {

class SimDevice;

class SimSource final : public CountedMemory {
 public:
  explicit SimSource(int index);  // the same index has the same addresses in every process, where they are free
  ~SimSource() override;
  SimSource(const SimSource&) = delete;
  void serve(SimDevice& device) { device_ = &device; }
  void set_capacity(size_t bytes);  // throws Error(kValue) when that is less than what is mapped, or too much

  // The pages stay when they are unmapped: work on them that is still to be done does no harm, for what comes after it
  // waits for it, as after cudaFree(). The CPU does not.
  void unmap(void* memory, size_t bytes) noexcept override;
  void unmap_at(void* at, size_t bytes) noexcept override;

  StreamEvent record_event(Stream) noexcept override;
  bool event_passed(StreamEvent) noexcept override;
  void wait_event(StreamEvent) noexcept override;
  void drop_event(StreamEvent) noexcept override;

 private:
  void* take_range(size_t bytes) noexcept override;  // first fit: addresses are the same in every run
  void give_range(void* begin) noexcept override { ranges_.erase(static_cast<char*>(begin)); }

  SimDevice* device_ = nullptr;
  char* begin_;
  std::map<char*, size_t> ranges_;
};

}  // namespace perflab
