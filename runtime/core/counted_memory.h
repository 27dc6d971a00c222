// Memory that is told by its size alone: addresses, of which so many bytes can have something behind them at once. What
// the sources of simulated devices and of tests have in common.
#pragma once
#include <mutex>

#include "source.h"

namespace perflab {

class CountedMemory : public MemorySource {
 public:
  CountedMemory(size_t capacity, size_t page_bytes) : page_(page_bytes), capacity_(capacity) {}

  void* map(size_t bytes) noexcept override;
  void unmap(void* memory, size_t bytes) noexcept override;
  MemoryInfo info() noexcept override;
  size_t page_bytes() noexcept override { return page_; }
  void* reserve_range(size_t bytes) noexcept override;
  void release_range(void* begin, size_t bytes) noexcept override;
  bool map_at(void* at, size_t bytes) noexcept override;
  void unmap_at(void* at, size_t bytes) noexcept override;

  size_t used();  // mapped now
  std::mutex& mutex() { return mutex_; }

 protected:
  // Addresses that nobody has; null: there are none left. Both with the lock.
  virtual void* take_range(size_t bytes) noexcept = 0;
  virtual void give_range(void*) noexcept {}

  const size_t page_;
  std::mutex mutex_;
  size_t capacity_, used_ = 0;

 private:
  bool take(size_t bytes);  // of the capacity
};

}  // namespace perflab
