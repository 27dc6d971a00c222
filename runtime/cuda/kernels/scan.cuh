// Running sums, products and extrema along an axis, a block for each row, piece by piece. A fold says what is kept of the
// elements so far, as in reduce.cuh; its join takes the earlier state first.
#pragma once

template <class W>
struct RunningSum {
  typedef W State;
  __device__ static State none() { return W(0); }
  __device__ static State take(W x, i64) { return x; }
  __device__ static State join(State a, State b) { return static_cast<W>(a + b); }
};

template <class W>
struct RunningProduct {
  typedef W State;
  __device__ static State none() { return W(1); }
  __device__ static State take(W x, i64) { return x; }
  __device__ static State join(State a, State b) { return static_cast<W>(a * b); }
};

template <class W>
struct RunningLogSum {
  typedef W State;
  __device__ static State none() { return log(W(0)); }
  __device__ static State take(W x, i64) { return x; }
  __device__ static State join(State a, State b) {
    if (a == b) return a + log(W(2));  // infinities, too
    const W most = a > b ? a : b, least = a > b ? b : a;
    return a != a || b != b ? a + b : most + log1p(exp(least - most));
  }
};

// The extremum and the last place where it is; NaN stays.
template <class W, bool Largest>
struct RunningExtremum {
  struct State {
    W value;
    i64 at;  // negative: nothing was seen
  };
  __device__ static State none() { return {W(0), -1}; }
  __device__ static State take(W x, i64 at) { return {x, at}; }
  __device__ static State join(State a, State b) {
    if (a.at < 0 || b.at < 0) return a.at < 0 ? b : a;
    if (b.value != b.value) return b;
    return a.value == a.value && (Largest ? b.value >= a.value : b.value <= a.value) ? b : a;
  }
};

template <class T, class Fold, class Give>
__device__ inline void scan(const Scan& p, Give give) {
  typedef typename Fold::State State;
  __shared__ State room[2][kThreads];
  for (i64 row = blockIdx.x; row < p.rows; row += gridDim.x) {
    const i64 begin = row / p.inner * p.length * p.inner + row % p.inner;
    State before = Fold::none();
    for (i64 piece = 0; piece < p.length; piece += blockDim.x) {
      const i64 i = piece + threadIdx.x, place = p.reverse ? p.length - 1 - i : i, at = begin + place * p.inner;
      room[0][threadIdx.x] =
          i < p.length ? Fold::take(load<T>(static_cast<const T*>(p.in) + at), place) : Fold::none();
      __syncthreads();
      u32 now = 0;
      for (u32 far = 1; far < blockDim.x; far *= 2, now ^= 1) {
        const State own = room[now][threadIdx.x];
        room[now ^ 1][threadIdx.x] = threadIdx.x < far ? own : Fold::join(room[now][threadIdx.x - far], own);
        __syncthreads();
      }
      if (i < p.length) {
        if (!p.exclusive)
          give(at, Fold::join(before, room[now][threadIdx.x]));
        else
          give(at, threadIdx.x ? Fold::join(before, room[now][threadIdx.x - 1]) : before);
      }
      before = Fold::join(before, room[now][blockDim.x - 1]);
      __syncthreads();
    }
  }
}

template <class T, template <class> class Fold>
__device__ inline void running(const Scan& p) {
  scan<T, Fold<Wide<T>>>(p, [&](i64 at, Wide<T> x) { Store<T>::to(static_cast<T*>(p.out) + at, x); });
}

template <class T, bool Largest>
__device__ inline void running_place(const Scan& p) {
  typedef RunningExtremum<Wide<T>, Largest> Fold;
  scan<T, Fold>(p, [&](i64 at, typename Fold::State found) { static_cast<i64*>(p.out)[at] = found.at; });
}
template <class T>
__device__ inline void running_extremum(const Scan& p) {
  p.largest ? running_place<T, true>(p) : running_place<T, false>(p);
}
