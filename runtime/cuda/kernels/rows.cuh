// Along one axis, a block for each row: softmax and normalisation over the last axes.
#pragma once

template <class T>
struct Row {
  typedef Wide<T> W;
  const Rows& p;
  i64 begin, step;
  __device__ Row(const Rows& p, i64 row)
      : p(p), begin(row / p.inner * p.length * p.inner + row % p.inner), step(p.inner) {}
  __device__ W of(int k, i64 i) const { return load<T>(static_cast<const T*>(p.in[k]) + begin + i * step); }
  __device__ W each_row(int k, i64 i) const { return load<T>(static_cast<const T*>(p.in[k]) + i); }  // one for all rows
  __device__ void put(i64 i, W x) const { Store<T>::to(static_cast<T*>(p.out) + begin + i * step, x); }
  template <class F>
  __device__ W sum(F element) const {
    W s = 0;
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) s += element(i);
    return joined(s, [](W a, W b) { return a + b; });
  }
  template <class F>
  __device__ void fill(F element) const {
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) put(i, element(i));
  }
};

template <class T, bool Log>
__device__ inline void softmax(const Rows& p) {
  typedef Wide<T> W;
  for (i64 r = blockIdx.x; r < p.rows; r += gridDim.x) {
    const Row<T> row(p, r);
    W most = threadIdx.x < p.length ? row.of(0, threadIdx.x) : row.of(0, 0);
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) {
      const W x = row.of(0, i);
      if (x > most || x != x) most = x;
    }
    most = joined(most, [](W a, W b) { return b > a || b != b ? b : a; });
    const W total = row.sum([&](i64 i) { return exp(row.of(0, i) - most); });
    if (Log) {
      const W shift = log(total);
      row.fill([&](i64 i) { return row.of(0, i) - most - shift; });
    } else {
      row.fill([&](i64 i) { return exp(row.of(0, i) - most) / total; });
    }
  }
}

template <class W>
struct Moments {
  W mean, scale;  // scale: 1 / the standard deviation
};
template <class T>
__device__ inline Moments<Wide<T>> moments(const Row<T>& row, int k) {
  typedef Wide<T> W;
  const W n = static_cast<W>(row.p.length), mean = row.sum([&](i64 i) { return row.of(k, i); }) / n;
  const W variance = row.sum([&](i64 i) { return (row.of(k, i) - mean) * (row.of(k, i) - mean); }) / n;
  return {mean, W(1) / sqrt(variance + static_cast<W>(row.p.eps))};
}

// in: a, weight, bias
template <class T>
__device__ inline void layer_norm(const Rows& p) {
  for (i64 r = blockIdx.x; r < p.rows; r += gridDim.x) {
    const Row<T> row(p, r);
    const Moments<Wide<T>> m = moments(row, 0);
    row.fill([&](i64 i) { return (row.of(0, i) - m.mean) * m.scale * row.each_row(1, i) + row.each_row(2, i); });
  }
}

// in: the gradient of the result, a, weight
template <class T>
__device__ inline void layer_norm_input_grad(const Rows& p) {
  typedef Wide<T> W;
  for (i64 r = blockIdx.x; r < p.rows; r += gridDim.x) {
    const Row<T> row(p, r);
    const Moments<W> m = moments(row, 1);
    const W n = static_cast<W>(p.length);
    const auto weighted = [&](i64 i) { return row.of(0, i) * row.each_row(2, i); };
    const auto normal = [&](i64 i) { return (row.of(1, i) - m.mean) * m.scale; };
    const W mean = row.sum(weighted) / n, along = row.sum([&](i64 i) { return weighted(i) * normal(i); }) / n;
    row.fill([&](i64 i) { return m.scale * (weighted(i) - mean - normal(i) * along); });
  }
}
