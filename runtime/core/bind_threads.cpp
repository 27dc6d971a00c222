// The number of threads that kernels use.
#include "bind.h"
#include "threads.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace perflab {

void bind_threads(nb::module_& m) {
  m.def("get_num_threads", num_threads,
        "How many threads share the work of one large op, the calling one included.\n\n"
        "As many as the cores that the process may use, unless set_num_threads said otherwise.");
  m.def("set_num_threads", set_num_threads, "n"_a,
        "Let n threads share the work of one large op, the calling one included.\n\n"
        "Results do not depend on n. Raises ArgumentError where n is not from 1 to 256.");
}

}  // namespace perflab
