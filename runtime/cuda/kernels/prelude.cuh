// What every kernel stands on. Compiled by NVRTC, and by a host compiler in the tests, which bring the few names of
// CUDA that are used here (tests/cuda/shim.h). A kernel has one parameter, a struct of parameters.cuh.
#pragma once

struct f16 {
  u16 bits;
};
struct bf16 {
  u16 bits;
};

constexpr int kThreads = 256;  // of a block at most

#ifdef __CUDACC_RTC__
#define KERNEL(name, Parameters) extern "C" __global__ void name(const __grid_constant__ Parameters p)
__device__ inline float widen(f16 x) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
  return wide;
}
__device__ inline f16 narrow_f16(float x) {
  f16 half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half.bits) : "f"(x));
  return half;
}
#endif

__device__ inline float widen(bf16 x) { return __uint_as_float(static_cast<u32>(x.bits) << 16); }
__device__ inline bf16 narrow_bf16(float x) {  // to nearest, ties to even
  const u32 u = __float_as_uint(x);
  if (x != x) return {static_cast<u16>(u >> 16 | 0x40)};
  return {static_cast<u16>((u + 0x7fff + (u >> 16 & 1)) >> 16)};
}

// The type that is computed in: 16-bit floats are widened when they are read and rounded once when they are written.
template <class T>
struct Computed {
  typedef T type;
};
template <>
struct Computed<f16> {
  typedef float type;
};
template <>
struct Computed<bf16> {
  typedef float type;
};
template <class T>
using Wide = typename Computed<T>::type;

template <class T>
__device__ inline Wide<T> load(const void* at) {
  return *static_cast<const T*>(at);
}
template <>
__device__ inline float load<f16>(const void* at) {
  return widen(*static_cast<const f16*>(at));
}
template <>
__device__ inline float load<bf16>(const void* at) {
  return widen(*static_cast<const bf16*>(at));
}

template <class T>
struct Store {
  template <class X>
  __device__ static void to(void* at, X x) {
    *static_cast<T*>(at) = static_cast<T>(x);
  }
};
template <>
struct Store<f16> {
  template <class X>
  __device__ static void to(void* at, X x) {
    *static_cast<f16*>(at) = narrow_f16(static_cast<float>(x));
  }
};
template <>
struct Store<bf16> {
  template <class X>
  __device__ static void to(void* at, X x) {
    *static_cast<bf16*>(at) = narrow_bf16(static_cast<float>(x));
  }
};

template <int Operands>
__device__ inline void seek(const Walked& w, u32 i, i64* at) {
  for (int k = 0; k < Operands; ++k) at[k] = 0;
  for (int d = w.ndim - 1; d > 0; --d) {
    const u32 size = static_cast<u32>(w.shape[d]), rest = i / size;
    const i64 here = i - rest * size;
    for (int k = 0; k < Operands; ++k) at[k] += here * w.steps[d][k];
    i = rest;
  }
  if (w.ndim)
    for (int k = 0; k < Operands; ++k) at[k] += i * w.steps[0][k];
}

__device__ inline char* place(const Walked& w, int k, const i64* at) { return static_cast<char*>(w.p[k]) + at[k]; }
template <class T>
__device__ inline Wide<T> operand(const Walked& w, int k, const i64* at) {
  return load<T>(w.p[k] ? place(w, k, at) : reinterpret_cast<const char*>(&w.cells[k]));
}

// Calls element(at) for each place of the walk, at: the operands' offsets.
template <int Operands, class F>
__device__ inline void each(const Walked& w, F element) {
  const u32 n = static_cast<u32>(w.n), step = gridDim.x * blockDim.x;
  i64 at[Operands];
  for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
    seek<Operands>(w, i, at);
    element(at);
  }
}

// All threads of the block, whose number is a power of 2, get the join of their values.
template <class Value, class Join>
__device__ inline Value joined(Value value, Join join) {
  __shared__ Value room[kThreads];
  room[threadIdx.x] = value;
  __syncthreads();
  for (u32 half = blockDim.x / 2; half; half /= 2) {
    if (threadIdx.x < half) room[threadIdx.x] = join(room[threadIdx.x], room[threadIdx.x + half]);
    __syncthreads();
  }
  value = room[0];
  __syncthreads();
  return value;
}

template <class W>
struct Moments {
  W mean, scale;  // scale: 1 / the standard deviation
};
// Of what a block works on, `row`: it has of(input, element), sum(of each element), and p with length and eps.
template <class W, class Row>
__device__ inline Moments<W> moments(const Row& row, int k) {
  const W n = static_cast<W>(row.p.length), mean = row.sum([&](i64 i) { return row.of(k, i); }) / n;
  const W variance = row.sum([&](i64 i) { return (row.of(k, i) - mean) * (row.of(k, i) - mean); }) / n;
  return {mean, W(1) / sqrt(variance + static_cast<W>(row.p.eps))};
}
