// What an allocator throws when there is no more, with all that its message says.
#pragma once
#include <array>
#include <new>
#include <string>
#include <tuple>

#include "source.h"

namespace perflab {

struct Owner {         // who asked for a block
  uint32_t scope = 0;  // interned module path
  uint32_t op = 0;     // its id + 1; 0: no op
  uint32_t stack = 0;  // number of Python's, where stacks are recorded
  bool operator<(const Owner& o) const { return std::tie(scope, op) < std::tie(o.scope, o.op); }
};

constexpr Owner kSlabs{0, UINT32_MAX, 0};               // memory that small blocks of the host are carved from
inline constinit thread_local uint32_t current_op = 0;  // as an Owner's, while an op allocates
Owner current_owner();
std::string module_of(Owner);
std::string op_of(Owner);

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
  double fragmentation() const;  // share of the cached memory that lies outside the largest free block
};
std::string describe(const OutOfMemory&);

}  // namespace perflab
