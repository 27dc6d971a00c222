// What an allocator throws when there is no more, with all that its message says.
#pragma once
#include <array>
#include <new>
#include <tuple>

#include "source.h"

namespace perflab {

struct Owner {         // who asked for a block
  uint32_t scope = 0;  // interned module path
  uint32_t op = 0;     // its id + 1; 0: not an op
  bool operator<(const Owner& o) const { return std::tie(scope, op) < std::tie(o.scope, o.op); }
};

struct OwnedBytes {
  Owner owner;
  size_t bytes = 0, blocks = 0;
};

struct OutOfMemory : std::bad_alloc {
  int device = 0;
  size_t asked, rounded;
  size_t allocated = 0, reserved = 0;  // by this process
  size_t limit = SIZE_MAX;             // of what it may reserve; SIZE_MAX: none is set
  MemoryInfo on_device{};
  size_t largest_free = 0, free = 0;  // cached blocks
  std::array<OwnedBytes, 3> owners;   // the largest ones
  explicit OutOfMemory(size_t bytes) : asked(bytes), rounded(bytes) {}
};

}  // namespace perflab
