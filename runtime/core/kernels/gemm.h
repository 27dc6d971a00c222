// The product of two matrices that lie by rows, for kernels that are made of products.
#pragma once
#include <cstdint>

namespace perflab {

template <class T>
struct Side {
  const T* p;
  int64_t row;        // elements from row to row
  bool flip = false;  // it is the transpose that lies there
};

// c (m, n) = a (m, k) @ b (k, n), added to what c holds or put in its place. For float and double, on the calling
// thread.
template <class T>
void gemm(int64_t m, int64_t n, int64_t k, Side<T> a, Side<T> b, bool add, T* c, int64_t c_row);

}  // namespace perflab
