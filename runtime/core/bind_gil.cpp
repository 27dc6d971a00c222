// The tracer of the GIL, for profiler/gil.py.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "bind.h"
#include "gil.h"
#include "py_gil_probe.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace perflab {
namespace {

nb::tuple as_arrays(GilTraced traced) {
  auto* holds = new std::vector<GilHold>(std::move(traced.holds));
  nb::capsule owner(holds, [](void* p) noexcept { delete static_cast<std::vector<GilHold>*>(p); });
  nb::ndarray<uint8_t, nb::numpy, nb::ndim<1>> bytes(holds->data(), {holds->size() * sizeof(GilHold)}, owner);
  return nb::make_tuple(bytes, traced.lost, traced.trouble);
}

}  // namespace

void bind_gil(nb::module_& m) {
  nb::class_<GilTrace>(m, "GilTrace")
      .def(nb::init<size_t>(), "room"_a)
      .def("count", &GilTrace::count)
      .def("read", [](const GilTrace& trace) { return as_arrays(trace.read()); })
      .def("forget", &GilTrace::forget, "tick"_a)
      .def("stop", [](GilTrace& trace) { return as_arrays(trace.stop()); });
  nb::class_<GilProbe>(m, "GilProbe")
      .def(nb::init<double>(), "interval_s"_a)
      .def("stop", &GilProbe::stop)
      .def_prop_ro("thread", &GilProbe::thread)
      .def_prop_ro("samples", &GilProbe::samples);
}

}  // namespace perflab
