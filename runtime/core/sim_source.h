// The memory of a simulated device: a range of the CPU's addresses, of which `capacity` bytes can be mapped at once.
#pragma once
#include <functional>
#include <map>
#include <mutex>

#include "source.h"

namespace perflab {

class SimSource final : public MemorySource {
 public:
  // `going`: memory is about to go back, and work on it may be under way.
  SimSource(
      int index, size_t capacity, std::function<void()> going = [] {
      });  // the same index has the same addresses in every process, where they are free
  ~SimSource() override;
  SimSource(const SimSource&) = delete;

  // First fit, so that addresses are the same in every run. The pages stay: what is still to be done with memory that
  // was unmapped does no harm before the range is mapped again.
  void* map(size_t bytes) noexcept override;
  void unmap(void* memory, size_t bytes) noexcept override;

  size_t capacity() const { return capacity_; }
  void set_capacity(size_t bytes);  // throws Error(kValue) when that is less than what is mapped, or too much
  size_t mapped();
  size_t maps();  // how often memory was mapped

 private:
  const std::function<void()> going_;
  std::mutex mutex_;
  size_t capacity_, mapped_ = 0, maps_ = 0;
  char* begin_;
  std::map<char*, size_t> used_;
};

}  // namespace perflab
