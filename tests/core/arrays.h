// Arrays for tests: filled with 0, 1, 2 ... or with given numbers.
#pragma once
#include <vector>

#include "array.h"

namespace perflab {

template <class T = float>
Array array(const std::vector<int64_t>& shape, const std::vector<T>& values = {}) {
  Array a;
  a.dtype = DTypeOf<T>::value;
  for (int64_t n : shape) a.shape[a.ndim++] = n;
  a.pack();
  a.fill_storage();
  for (int64_t i = 0; i < a.numel; ++i) {
    a.as<T>()[i] = values.empty() ? static_cast<T>(i) : values[static_cast<size_t>(i)];
  }
  return a;
}

inline Array floats(const std::vector<int64_t>& shape, const std::vector<float>& values = {}) {
  return array<float>(shape, values);
}

}  // namespace perflab
