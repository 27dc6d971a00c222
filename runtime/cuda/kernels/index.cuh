// Elements at indices along one axis: read (take, take_along), and added or written where they belong.
#pragma once

__device__ inline bool resolved(const Indexed& p, const i64* at, i64& index) {
  const char* from = place(p.w, 1, at);
  index = p.index_bytes == 8 ? load<i64>(from) : load<i32>(from);
  if (index < 0 && p.from_end) index += p.size;
  if (index >= 0 && index < p.size) return true;
  *p.wrong = 1;
  return false;
}

template <class T>
__device__ inline void gather(const Indexed& p) {
  each<3>(p.w, [&](const i64* at) {
    i64 index;
    if (resolved(p, at, index))
      *reinterpret_cast<T*>(place(p.w, 0, at)) = *reinterpret_cast<T*>(place(p.w, 2, at) + index * p.step);
  });
}

template <class T>
__device__ inline void scatter(const Indexed& p) {
  each<3>(p.w, [&](const i64* at) {
    i64 index;
    if (resolved(p, at, index)) Store<T>::to(place(p.w, 2, at) + index * p.step, operand<T>(p.w, 0, at));
  });
}

__device__ inline void add_to(float* at, float x) { atomicAdd(at, x); }
__device__ inline void add_to(double* at, double x) { atomicAdd(at, x); }
__device__ inline void add_to(i32* at, i32 x) { atomicAdd(at, x); }
__device__ inline void add_to(i64* at, i64 x) { atomicAdd(reinterpret_cast<u64*>(at), static_cast<u64>(x)); }

template <class T>
__device__ inline void scatter_add(const Indexed& p) {
  each<3>(p.w, [&](const i64* at) {
    i64 index;
    if (resolved(p, at, index))
      add_to(reinterpret_cast<T*>(place(p.w, 2, at) + index * p.step), static_cast<T>(operand<T>(p.w, 0, at)));
  });
}
