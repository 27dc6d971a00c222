// What kernels are handed: laid out once for the core, which fills it in (core/cuda_arrange.cpp), and for the kernels.
#pragma once

typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

constexpr int kMaxDims = 8, kMaxOperands = 5, kMaxAttributes = 4, kTensors = 32;

// Operands over one shape, merged axes, the last one innermost; steps in bytes, 0 where an operand is broadcast. There
// are at most 2^30 places (divisions of 64 bits are slow): more are cut into several launches.
struct Walked {
  i64 n;
  i32 ndim, padding;
  void* p[kMaxOperands];  // null: the operand is the number in `cells`
  i64 shape[kMaxDims];
  i64 steps[kMaxDims][kMaxOperands];
  u64 cells[kMaxOperands];
};

struct Pointwise {
  Walked w;  // the output, then the inputs
  double attributes[kMaxAttributes];
};

struct Reduce {
  const void* in;
  void* out;
  void* partial;  // states of kStateBytes at most, `splits` for each output; null: there is one split
  i64 outputs, reduced, splits;
  i32 joins;    // the states of the splits are what is read
  i32 columns;  // a thread for each split of an output, not a block
  i32 outer_dims, inner_dims;
  i64 outer_shape[kMaxDims], outer_steps[kMaxDims], inner_shape[kMaxDims], inner_steps[kMaxDims];  // steps in bytes
};
constexpr int kStateBytes = 16;

struct Rows {
  void* out;
  const void* in[3];
  i64 rows, length, inner;  // `inner` rows lie side by side: their elements are `inner` apart
  double eps;
  // Of gradients that are summed over the rows:
  void *moments, *partial;  // Moments of each row; sums of each split, by columns
  i64 splits;
  i32 stage, padding;
};

// Arrays of (N, channels, inner), a block for each channel.
struct Channels {
  void* out[2];
  const void* in[3];
  i64 channels, inner, length;  // length: N * inner, less than 2^32
  double eps;
};

// A class for each row of `in`, the losses' gradients g, `g_step` apart, and one loss for each row or all that goes back.
struct Classes {
  void* out;
  const void *in, *target, *g;
  i64 rows, length, inner;  // as in Rows
  i64 ignored, g_step;
  i32 target_bytes, padding;
  i32* wrong;  // as in Indexed
};

struct Scan {
  void* out;
  const void* in;
  i64 rows, length, inner;  // as in Rows
  i32 reverse, exclusive, largest, padding;
};

struct Indexed {
  Walked w;        // out or values, indices, and the elements without their step along the axis
  i64 size, step;  // of the axis; step in bytes
  i32 from_end;    // negative indices count from the end
  i32 index_bytes;
  i32* wrong;  // set to 1 where an index is out of range; the host looks when it waits for the device
};

struct Foreach {
  i64 ends[kTensors];  // where each tensor's elements end when all are counted through
  void* p[kMaxOperands][kTensors];
  i32 tensors, operands;
  double lr, decay, eps;        // decay: added to the gradient
  double first, second, fresh;  // factors; each rule says of what
  double keep, root;
  i32 maximize, flag, other_flag;
  i32 padding;
  i32* found;
};

struct Random {
  void* out;
  i64 n;
  u64 seed, block;
  double from, width, unit;  // of what is uniform, 2^-bits; of exponential the rate, of bernoulli the probability
  double mean, std;
  i64 least;
  u64 span;
  i32 bits, padding;
};
