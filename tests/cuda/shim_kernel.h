// A kernel as a library made with shim.h exports it, under the kernel's name.
#pragma once
#include <cstddef>

struct ShimKernel {
  size_t parameter_bytes;
  void (*run)(const void* parameters, unsigned blocks, unsigned threads);
};
