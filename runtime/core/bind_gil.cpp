// The tracer of the GIL, for profiler/gil.py.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "bind.h"
#include "gil.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace perflab {
namespace {

nb::tuple stop(GilTrace& trace) {
  GilTraced traced = trace.stop();
  auto* holds = new std::vector<GilHold>(std::move(traced.holds));
  nb::capsule owner(holds, [](void* p) noexcept { delete static_cast<std::vector<GilHold>*>(p); });
  nb::ndarray<uint8_t, nb::numpy, nb::ndim<1>> bytes(holds->data(), {holds->size() * sizeof(GilHold)}, owner);
  return nb::make_tuple(bytes, traced.lost, traced.trouble);
}

}  // namespace

void bind_gil(nb::module_& m) {
  nb::class_<GilTrace>(m, "GilTrace").def(nb::init<size_t>(), "room"_a).def("stop", stop);
}

}  // namespace perflab
