// Memory with a capacity, as a device has: host memory that runs out.
#pragma once
#include <cstddef>

#include "source.h"

namespace perflab::test {

class LimitedSource final : public MemorySource {
 public:
  explicit LimitedSource(size_t capacity) : left_(capacity) {}
  void* map(size_t bytes) noexcept override {
    if (bytes > left_) return nullptr;
    left_ -= bytes, ++maps;
    return host_memory().map(bytes);
  }
  void unmap(void* memory, size_t bytes) noexcept override {
    left_ += bytes;
    host_memory().unmap(memory, bytes);
  }
  size_t left() const { return left_; }
  int maps = 0;

 private:
  size_t left_;
};

}  // namespace perflab::test
