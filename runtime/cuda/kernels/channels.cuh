// Normalisation of each channel of (N, channels, ...), a block for each.
#pragma once

template <class T>
struct Channel {
  typedef Wide<T> W;
  const Channels& p;
  i64 c;
  __device__ i64 at(i64 i) const {
    const u32 outer = static_cast<u32>(i) / static_cast<u32>(p.inner);
    return (outer * p.channels + c) * p.inner + (i - outer * p.inner);
  }
  __device__ W of(int k, i64 i) const { return load<T>(static_cast<const T*>(p.in[k]) + at(i)); }
  __device__ W own(int k) const { return load<T>(static_cast<const T*>(p.in[k]) + c); }  // one for the channel
  template <class F>
  __device__ W sum(F element) const {
    W s = 0;
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) s += element(i);
    return joined(s, [](W a, W b) { return a + b; });
  }
  template <class F>
  __device__ void fill(F element) const {
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x)
      Store<T>::to(static_cast<T*>(p.out[0]) + at(i), element(i));
  }
  __device__ void give(int k, W x) const {
    if (!threadIdx.x) Store<T>::to(static_cast<T*>(p.out[k]) + c, x);
  }
};

// in: a, weight, bias
template <class T>
__device__ inline void batch_norm(const Channels& p) {
  for (i64 c = blockIdx.x; c < p.channels; c += gridDim.x) {
    const Channel<T> channel{p, c};
    const Moments<Wide<T>> m = moments<Wide<T>>(channel, 0);
    channel.fill([&](i64 i) { return (channel.of(0, i) - m.mean) * m.scale * channel.own(1) + channel.own(2); });
  }
}

// in: the gradient of the result, a, weight
template <class T>
__device__ inline void batch_norm_input_grad(const Channels& p) {
  typedef Wide<T> W;
  for (i64 c = blockIdx.x; c < p.channels; c += gridDim.x) {
    const Channel<T> channel{p, c};
    const Moments<W> m = moments<W>(channel, 1);
    const W n = static_cast<W>(p.length), factor = m.scale * channel.own(2);
    const auto normal = [&](i64 i) { return (channel.of(1, i) - m.mean) * m.scale; };
    const W mean = channel.sum([&](i64 i) { return channel.of(0, i); }) / n;
    const W along = channel.sum([&](i64 i) { return channel.of(0, i) * normal(i); }) / n;
    channel.fill([&](i64 i) { return factor * (channel.of(0, i) - mean - normal(i) * along); });
  }
}

// in: the gradient of the result, a
template <class T>
__device__ inline void batch_norm_weight_grad(const Channels& p) {
  for (i64 c = blockIdx.x; c < p.channels; c += gridDim.x) {
    const Channel<T> channel{p, c};
    const Moments<Wide<T>> m = moments<Wide<T>>(channel, 1);
    channel.give(0, channel.sum([&](i64 i) { return channel.of(0, i) * ((channel.of(1, i) - m.mean) * m.scale); }));
  }
}

// in: a; out: mean, variance
template <class T>
__device__ inline void channel_moments(const Channels& p) {
  typedef Wide<T> W;
  for (i64 c = blockIdx.x; c < p.channels; c += gridDim.x) {
    const Channel<T> channel{p, c};
    const W n = static_cast<W>(p.length), mean = channel.sum([&](i64 i) { return channel.of(0, i); }) / n;
    channel.give(0, mean);
    channel.give(1, channel.sum([&](i64 i) { return (channel.of(0, i) - mean) * (channel.of(0, i) - mean); }) / n);
  }
}

// Operands: the result, a, factor, shift.
template <class T>
__device__ inline void channel_affine(const Pointwise& p) {
  each<4>(p.w, [&](const i64* at) {
    Store<T>::to(place(p.w, 0, at), operand<T>(p.w, 1, at) * operand<T>(p.w, 2, at) + operand<T>(p.w, 3, at));
  });
}
