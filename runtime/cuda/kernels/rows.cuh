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

// in: a, weight, bias
template <class T>
__device__ inline void layer_norm(const Rows& p) {
  for (i64 r = blockIdx.x; r < p.rows; r += gridDim.x) {
    const Row<T> row(p, r);
    const Moments<Wide<T>> m = moments<Wide<T>>(row, 0);
    row.fill([&](i64 i) { return (row.of(0, i) - m.mean) * m.scale * row.each_row(1, i) + row.each_row(2, i); });
  }
}

// in: the gradient of the result, a, weight
template <class T>
__device__ inline void layer_norm_input_grad(const Rows& p) {
  typedef Wide<T> W;
  for (i64 r = blockIdx.x; r < p.rows; r += gridDim.x) {
    const Row<T> row(p, r);
    const Moments<W> m = moments<W>(row, 1);
    const W n = static_cast<W>(p.length);
    const auto weighted = [&](i64 i) { return row.of(0, i) * row.each_row(2, i); };
    const auto normal = [&](i64 i) { return (row.of(1, i) - m.mean) * m.scale; };
    const W mean = row.sum(weighted) / n, along = row.sum([&](i64 i) { return weighted(i) * normal(i); }) / n;
    row.fill([&](i64 i) { return m.scale * (weighted(i) - mean - normal(i) * along); });
  }
}

// in: the gradient of the result, a. First the rows' moments, then sums over some of the rows for each column, then the
// sums of these.
template <class T>
__device__ inline void layer_norm_weight_grad(const Rows& p) {
  typedef Wide<T> W;
  Moments<W>* const known = static_cast<Moments<W>*>(p.moments);
  W* const partial = static_cast<W*>(p.partial);
  if (p.stage == 0) {
    for (i64 r = blockIdx.x; r < p.rows; r += gridDim.x) {
      const Moments<W> m = moments<W>(Row<T>(p, r), 1);
      if (!threadIdx.x) known[r] = m;
    }
    return;
  }
  const i64 step = static_cast<i64>(gridDim.x) * blockDim.x, share = (p.rows + p.splits - 1) / p.splits;
  const i64 jobs = p.stage == 1 ? p.length * p.splits : p.length;
  for (i64 job = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; job < jobs; job += step) {
    W s = 0;
    if (p.stage == 1) {
      const i64 column = job % p.length, begin = job / p.length * share;
      for (i64 r = begin; r < begin + share && r < p.rows; ++r) {
        const i64 at = r * p.length + column;
        s += load<T>(static_cast<const T*>(p.in[0]) + at) *
             ((load<T>(static_cast<const T*>(p.in[1]) + at) - known[r].mean) * known[r].scale);
      }
      partial[job] = s;
    } else {
      for (i64 split = 0; split < p.splits; ++split) s += partial[split * p.length + job];
      Store<T>::to(static_cast<T*>(p.out) + job, s);
    }
  }
}
