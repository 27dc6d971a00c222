// What a call of an op has to do, by its declaration.
#pragma once
#include "op.h"
#include "sim_clock.h"

namespace perflab {

// Asked of Python once for each kind of call: op, dtypes, shapes and attributes.
SimWork sim_work(const Op&, DType computed, In in, int nin, const Attrs&, const Array* out, int nout);
extern void (*work_in_python)(const Op&, In in, int nin, const Attrs&, const Array* out, int nout, SimWork&);

}  // namespace perflab
