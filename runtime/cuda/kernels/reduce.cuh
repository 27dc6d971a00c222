// Reductions over some axes: a fold says what is kept of the elements seen so far, and how two such states join.
#pragma once

template <class T>
struct Sum {
  typedef Wide<T> State;
  __device__ static State none() { return State(0); }
  __device__ static State take(State s, Wide<T> x, i64) { return static_cast<State>(s + x); }
  __device__ static State join(State a, State b) { return static_cast<State>(a + b); }
  __device__ static void give(void* out, State s) { Store<T>::to(out, s); }
  static constexpr int kOut = sizeof(T);
};

template <class T>
struct Product {
  typedef Wide<T> State;
  __device__ static State none() { return State(1); }
  __device__ static State take(State s, Wide<T> x, i64) { return static_cast<State>(s * x); }
  __device__ static State join(State a, State b) { return static_cast<State>(a * b); }
  __device__ static void give(void* out, State s) { Store<T>::to(out, s); }
  static constexpr int kOut = sizeof(T);
};

template <class T, bool All>
struct Truth {
  typedef bool State;
  __device__ static State none() { return All; }
  __device__ static State take(State s, Wide<T> x, i64) { return All ? s && x != Wide<T>(0) : s || x != Wide<T>(0); }
  __device__ static State join(State a, State b) { return All ? a && b : a || b; }
  __device__ static void give(void* out, State s) { Store<bool>::to(out, s); }
  static constexpr int kOut = 1;
};

// The extremum and the first place where it is; NaN is beyond all numbers on either side.
template <class T, bool Largest, bool Place>
struct Extremum {
  struct State {
    Wide<T> value;
    i64 at;  // negative: nothing was seen
  };
  __device__ static State none() { return {Wide<T>(0), -1}; }
  __device__ static bool beyond(Wide<T> x, Wide<T> y) { return (Largest ? x > y : x < y) || (x != x && y == y); }
  __device__ static State take(State s, Wide<T> x, i64 at) { return join(s, {x, at}); }
  __device__ static State join(State a, State b) {
    if (a.at < 0 || b.at < 0) return a.at < 0 ? b : a;
    if (beyond(b.value, a.value)) return b;
    if (beyond(a.value, b.value)) return a;
    return b.at < a.at ? b : a;
  }
  __device__ static void give(void* out, State s) {
    if (Place)
      Store<i64>::to(out, s.at);
    else
      Store<T>::to(out, s.value);
  }
  static constexpr int kOut = Place ? 8 : sizeof(T);
};

__device__ inline i64 offset(int ndim, const i64* shape, const i64* steps, i64 i) {
  i64 at = 0;
  for (int d = ndim - 1; d > 0; --d) {
    at += i % shape[d] * steps[d];
    i /= shape[d];
  }
  return ndim ? at + i * steps[0] : at;
}

template <class T, class Fold>
__device__ inline typename Fold::State seen(const Reduce& p, i64 output, i64 begin, i64 end, i64 step) {
  typedef typename Fold::State State;
  State s = Fold::none();
  if (p.joins) {
    const State* states = static_cast<const State*>(p.partial) + output * p.splits;
    for (i64 i = begin; i < end; i += step) s = Fold::join(s, states[i]);
    return s;
  }
  const char* from = static_cast<const char*>(p.in) + offset(p.outer_dims, p.outer_shape, p.outer_steps, output);
  for (i64 i = begin; i < end; i += step)
    s = Fold::take(s, load<T>(from + offset(p.inner_dims, p.inner_shape, p.inner_steps, i)), i);
  return s;
}

template <class T, class Fold>
__device__ inline void reduce(const Reduce& p) {
  typedef typename Fold::State State;
  static_assert(sizeof(State) <= kStateBytes);
  char* out = static_cast<char*>(p.out);
  if (p.columns && !p.joins) {
    const i64 step = static_cast<i64>(gridDim.x) * blockDim.x, share = (p.reduced + p.splits - 1) / p.splits;
    for (i64 job = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; job < p.outputs * p.splits; job += step) {
      const i64 output = job % p.outputs, split = job / p.outputs, begin = split * share;
      const i64 end = begin + share < p.reduced ? begin + share : p.reduced;
      const State all = seen<T, Fold>(p, output, begin, end, 1);
      if (p.splits > 1)
        static_cast<State*>(p.partial)[output * p.splits + split] = all;
      else
        Fold::give(out + output * Fold::kOut, all);
    }
    return;
  }
  const i64 splits = p.joins ? 1 : p.splits, count = p.joins ? p.splits : p.reduced;
  for (i64 job = blockIdx.x; job < p.outputs * splits; job += gridDim.x) {
    const i64 output = job / splits, share = (count + splits - 1) / splits, begin = job % splits * share;
    const i64 end = begin + share < count ? begin + share : count;
    const State mine = seen<T, Fold>(p, output, begin + threadIdx.x, end, blockDim.x);
    const State all = joined(mine, [](State a, State b) { return Fold::join(a, b); });
    if (threadIdx.x) continue;
    if (splits > 1)
      static_cast<State*>(p.partial)[job] = all;
    else
      Fold::give(out + output * Fold::kOut, all);
  }
}
