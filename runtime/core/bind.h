// What the module is put together from; each bind_*.cpp adds its functions.
#pragma once
#include <nanobind/nanobind.h>

#include "py.h"

namespace perflab {

void bind_tensor(nanobind::module_&);
void bind_op(nanobind::module_&);
void bind_recorder(nanobind::module_&);
void bind_optim(nanobind::module_&);
void bind_random(nanobind::module_&);
void bind_chrome(nanobind::module_&);
void bind_threads(nanobind::module_&);
void bind_gil(nanobind::module_&);
void bind_device(nanobind::module_&);
void bind_cuda(nanobind::module_&);
void bind_memory(nanobind::module_&);

}  // namespace perflab
