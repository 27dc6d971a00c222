// Shapes and dtypes of an op's inputs, interned: events carry the id of a list of them.
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include "array.h"

namespace perflab {

class ProcessFile;

struct Spec {
  DType dtype;
  std::vector<int64_t> shape;
  bool operator==(const Spec&) const = default;
};

inline std::atomic<bool> shapes_are_recorded{true};     // off, none is interned any longer
uint32_t intern_shapes(const Array* const* in, int n);  // 0 for no inputs
std::vector<std::vector<Spec>> interned_shapes();       // by id
void log_shapes(ProcessFile* file);                     // all that there are, and all that come, in this process

}  // namespace perflab
