// Random numbers by Philox 4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3",
// 2011). A number is a function of the seed and its place in the stream, so neither threads nor machines show in it:
// this file is compiled without contraction to FMA, and its logarithm is its own.
#pragma once
#include "array.h"

namespace perflab {

// Where a stream stands. A block of Philox gives two numbers of 64 bits.
struct RandomState {
  uint64_t seed, block;
};

// One call of the functions below, for a device's own kernel of that name; what the rule does not take is 0.
struct RandomFill {
  const char* name;
  RandomState state;
  double from = 0, width = 0;  // uniform: low and high - low; normal: p0 and p1 - p0; exponential: rate; bernoulli: p
  double mean = 0, std = 0;
  int bits = 0;
  int64_t low = 0;
  uint64_t span = 0;
};

// `out` is contiguous; float32 or float64, for random_bernoulli also bool. Element i uses number i of the stream in
// every dtype, so float32 values are the float64 ones, cut or rounded.
// low + (high - low) * u, with u in [0, 1) of that many bits.
void random_uniform(const Layout& out, RandomState, double low, double high, int bits);
// mean + std * z, with z the inverse of the normal distribution (Wichura 1988, AS 241) at a point between the
// probabilities p0 and p1: 0 and 1 for all of it.
void random_normal(const Layout& out, RandomState, double mean, double std, double p0, double p1);
// -log(u) / rate, with u in (0, 1].
void random_exponential(const Layout& out, RandomState, double rate);
// 1 with probability p, else 0.
void random_bernoulli(const Layout& out, RandomState, double p);
// int64: low + (a number below span); a span of 0 stands for 2^64.
void random_integers(const Layout& out, RandomState, int64_t low, uint64_t span);
// int64: 0 to n - 1 in random order (Fisher and Yates).
void random_permutation(const Layout& out, RandomState);

}  // namespace perflab
