// Where raw memory comes from and goes to. A pool knows no more of a device than this, and never touches the memory.
#pragma once
#include <cstddef>

namespace perflab {

class MemorySource {
 public:
  virtual ~MemorySource() = default;
  virtual void* map(size_t bytes) noexcept = 0;  // aligned to 64 bytes at least; null: there is no more
  virtual void unmap(void* memory, size_t bytes) noexcept = 0;
};

MemorySource& host_memory();  // zeroed, aligned to huge pages and backed by them where the size allows

}  // namespace perflab
