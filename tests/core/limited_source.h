// Memory with a capacity, as a device has: host memory that runs out.
#pragma once
#include <cstddef>

#include "source.h"

namespace perflab::test {

class LimitedSource final : public MemorySource {
 public:
  explicit LimitedSource(size_t capacity) : capacity_(capacity), left_(capacity) {}
  void* map(size_t bytes) noexcept override {
    if (bytes > left_) return nullptr;
    left_ -= bytes, ++maps;
    return host_memory().map(bytes);
  }
  void unmap(void* memory, size_t bytes) noexcept override {
    left_ += bytes;
    host_memory().unmap(memory, bytes);
  }
  MemoryInfo info() noexcept override { return {left_, capacity_}; }
  size_t left() const { return left_; }
  int maps = 0;

 private:
  size_t capacity_, left_;
};

}  // namespace perflab::test
