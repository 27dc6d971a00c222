// A walk over arrays of one shape, row by row: the axes are merged where all of them step evenly, and a row is the
// last.
#pragma once
#include "array.h"
#include "threads.h"

namespace perflab {

constexpr int kMaxOperands = 5;
constexpr int64_t kShare = int64_t{1} << 18;  // elements from which threads are worth it: a part of the work

struct Walk {
  int operands, ndim = 0;  // axes outside the row
  int64_t rows = 1, n = 1;
  char* p[kMaxOperands];       // where the row begins, in each array
  int64_t step[kMaxOperands];  // between its elements, in bytes; 0 where the array is broadcast
  int64_t shape[kMaxDim], at[kMaxDim], strides[kMaxDim][kMaxOperands];

  // The shape is that of the first array, which the walk visits in the order of its memory; the others broadcast to it.
  Walk(const Layout* const* arrays, int operands);

  template <class T>
  T* as(int i) const {
    return reinterpret_cast<T*>(p[i]);
  }
  bool empty() const { return n == 0 || rows == 0; }
  void seek(int64_t row);  // from the first row
  // To the next row; false after the last.
  bool next() {
    for (int d = ndim - 1; d >= 0; --d) {
      for (int k = 0; k < operands; ++k) p[k] += strides[d][k];
      if (++at[d] < shape[d]) return true;
      for (int k = 0; k < operands; ++k) p[k] -= strides[d][k] * shape[d];
      at[d] = 0;
    }
    return false;
  }
};

// Calls row(walk) at each row; rows of a large array are shared between threads. `cost`: of a row, in elements.
template <class F>
void each_row(Walk& w, int64_t cost, const F& row) {
  const int64_t grain = kShare / (cost ? cost : 1) + 1;
  if (w.rows < 2 * grain) {
    do row(w);
    while (w.next());
    return;
  }
  share(w.rows, grain, [&](int64_t begin, int64_t end) {
    Walk part = w;
    part.seek(begin);
    for (int64_t i = begin; i < end; ++i, part.next()) row(part);
  });
}

}  // namespace perflab
