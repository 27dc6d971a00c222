// The steps of running an op, as the CPU (dispatcher.cpp) and devices (launch.cpp) take them.
#pragma once
#include <vector>

#include "op.h"

namespace perflab {

DType computation_of(const Op&, In in, int nin, const Attrs&);  // the dtype that the kernel computes in
DType result_of(const Op&, DType computed, const Attrs&);       // that of the first output
bool cast_by(const Op&, int input);                             // to the computation's dtype
// Shapes and dtypes of the outputs, with memory where they are views.
void infer(const Op&, DType computed, In in, int nin, const Attrs&, Array* out, int nout);
bool needs_cast(const Op&, In in, int nin, DType computed);
// On this thread, over memory that the CPU can reach: a native kernel, or the body in Python.
void compute(const Op&, DType computed, In in, int nin, const Attrs&, Array* out, int nout);
// Whether the kernel may write over `target` while it reads the inputs.
bool overwrites(const Op&, In in, int nin, const Array& target);
void record_op(const Op&, uint16_t backend, In in, int nin, const Array* out, bool allocated, int64_t t0, int64_t t1,
               uint64_t sequence);
// What run_into() refuses before it begins: `form`, as there.
void check_dtype_into(const Op&, DType gives, const Array& target, const char* form);
void check_shape_into(const Op&, const Array& gives, const Array& target, const char* form);

}  // namespace perflab
