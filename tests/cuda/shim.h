// CUDA's names for a host compiler, as far as the kernels use them: threads of a block are fibers that change at
// __syncthreads(), blocks run one after another. Halves are those of the core.
#pragma once
#include <math.h>
#include <ucontext.h>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "half.h"
#include "shim_kernel.h"

#define __device__
#define __shared__ static

struct ShimIndex {
  unsigned x, y = 0, z = 0;
};
static ShimIndex threadIdx, blockIdx, blockDim, gridDim;

inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double x) { return sqrt(x); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
template <class T>
inline T erfinv(T y) {  // by bisection
  if (!(std::abs(y) < 1)) return std::abs(y) == 1 ? y / T(0) : T(NAN);
  double low = -7, high = 7;
  for (int i = 0; i < 70; ++i) {
    const double middle = (low + high) / 2;
    (erf(middle) < y ? low : high) = middle;
  }
  return static_cast<T>((low + high) / 2);
}
template <class T>
inline T atomicAdd(T* at, T x) {
  const T before = *at;
  *at += x;
  return before;
}

namespace shim {

constexpr size_t kStack = 64 << 10;

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack{new char[kStack]};
  bool done = false;
};
inline ucontext_t scheduler;
inline Fiber* running = nullptr;
inline const void* parameters = nullptr;
inline void (*body)(const void*) = nullptr;

inline void enter() {
  body(parameters);
  running->done = true;
}

inline void yield() { swapcontext(&running->context, &scheduler); }

inline void run(void (*kernel)(const void*), const void* given, unsigned blocks, unsigned threads) {
  static std::vector<Fiber> fibers;
  if (fibers.size() < threads) fibers = std::vector<Fiber>(threads);
  body = kernel, parameters = given;
  gridDim.x = blocks, blockDim.x = threads;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    for (unsigned t = 0; t < threads; ++t) {
      Fiber& f = fibers[t];
      getcontext(&f.context);
      f.context.uc_stack.ss_sp = f.stack.get(), f.context.uc_stack.ss_size = kStack;
      f.context.uc_link = &scheduler;
      f.done = false;
      makecontext(&f.context, enter, 0);
    }
    for (unsigned left = threads; left;) {
      unsigned ended = 0;
      for (unsigned t = 0; t < threads; ++t) {
        if (fibers[t].done) continue;
        threadIdx.x = t, running = &fibers[t];
        swapcontext(&scheduler, &running->context);
        ended += fibers[t].done;
      }
      if (ended && ended != left) {
        std::fprintf(stderr, "%u of %u threads did not come to __syncthreads()\n", ended, left);
        std::abort();
      }
      left -= ended;
    }
  }
}

}  // namespace shim

inline void __syncthreads() { shim::yield(); }

#define KERNEL(name, Parameters)                                                                                       \
  static void name##_body(const Parameters& p);                                                                        \
  extern "C" const ShimKernel name;                                                                                    \
  const ShimKernel name{sizeof(Parameters), [](const void* p, unsigned blocks, unsigned threads) {                     \
                          shim::run([](const void* p) { name##_body(*static_cast<const Parameters*>(p)); }, p, blocks, \
                                    threads);                                                                          \
                        }};                                                                                            \
  static void name##_body(const Parameters& p)

struct f16;
inline float widen(f16);
inline f16 narrow_f16(float);
