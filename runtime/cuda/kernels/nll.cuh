// The loss of a class for each row, by softmax of the row, and its gradient: a block for each row.
#pragma once

template <class T>
struct Scores {
  typedef Wide<T> W;
  const Classes& p;
  i64 row, begin, target;
  bool counts;  // false: the row has no loss

  __device__ Scores(const Classes& p, i64 row) : p(p), row(row), begin(row / p.inner * p.length * p.inner + row % p.inner) {
    target = p.target_bytes == 8 ? load<i64>(static_cast<const i64*>(p.target) + row)
                                 : load<i32>(static_cast<const i32*>(p.target) + row);
    counts = target != p.ignored && target >= 0 && target < p.length;
    if (!counts && target != p.ignored) *p.wrong = 1;
  }
  __device__ W at(i64 i) const { return load<T>(static_cast<const T*>(p.in) + begin + i * p.inner); }
  __device__ W most() const {
    W most = at(threadIdx.x < p.length ? threadIdx.x : 0);
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) {
      const W x = at(i);
      if (x > most || x != x) most = x;
    }
    return joined(most, [](W a, W b) { return b > a || b != b ? b : a; });
  }
  __device__ W sum_above(W most) const {  // of exp
    W sum = 0;
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) sum += exp(at(i) - most);
    return joined(sum, [](W a, W b) { return a + b; });
  }
};

template <class T>
__device__ inline void softmax_nll(const Classes& p) {
  typedef Wide<T> W;
  for (i64 r = blockIdx.x; r < p.rows; r += gridDim.x) {
    const Scores<T> row(p, r);
    const W most = row.most(), sum = row.sum_above(most);
    if (!threadIdx.x) Store<T>::to(static_cast<T*>(p.out) + r, row.counts ? log(sum) - (row.at(row.target) - most) : W(0));
  }
}

template <class T>
__device__ inline void softmax_nll_grad(const Classes& p) {
  typedef Wide<T> W;
  for (i64 r = blockIdx.x; r < p.rows; r += gridDim.x) {
    const Scores<T> row(p, r);
    const W most = row.most(), sum = row.sum_above(most), g = load<T>(static_cast<const T*>(p.g) + r * p.g_step);
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) {
      const W share = exp(row.at(i) - most) / sum - (i == row.target ? W(1) : W(0));
      Store<T>::to(static_cast<T*>(p.out) + row.begin + i * p.inner, row.counts ? share * g : W(0));
    }
  }
}
