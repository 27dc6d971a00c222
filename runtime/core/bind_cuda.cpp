// The CUDA devices for runtime/cuda: what rt.cuda offers. Calls that wait for a device give the GIL away.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "bind.h"
#include "cuda_device.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace perflab {
namespace {

using Waiting = nb::call_guard<nb::gil_scoped_release>;

nb::tuple describe(int device) {
  const cuda::Description d = cuda::describe(device);
  return nb::make_tuple(d.name, d.memory, d.major, d.minor, d.multiprocessors);
}

std::tuple<size_t, size_t> memory_info(int device) {
  size_t free = 0, total = 0;
  cuda::memory_info(device, free, total);
  return {free, total};
}

void launch(int device, uintptr_t function, std::tuple<unsigned, unsigned, unsigned> grid, unsigned threads,
            nb::bytes parameters) {
  auto [x, y, z] = grid;
  void* arguments[] = {const_cast<char*>(parameters.c_str())};
  cuda::launch(device, function, {x, y, z}, threads, 0, arguments);
}

}  // namespace

void bind_cuda(nb::module_& m) {
  m.def("cuda_open", cuda::open_driver, "library"_a);
  m.def("cuda_version", [] { return cuda::driver().cuda; });
  m.def("cuda_device_count", cuda::device_count);
  m.def("cuda_describe", describe, "device"_a);
  m.def("cuda_current_device", cuda::current_device);
  m.def("cuda_set_device", cuda::set_device, "device"_a);
  m.def("cuda_synchronize", cuda::synchronize, "device"_a, Waiting());
  m.def("cuda_memory_info", memory_info, "device"_a);
  m.def("cuda_new_stream", cuda::new_stream, "device"_a, "urgent"_a);
  m.def("cuda_current_stream", cuda::current_stream, "device"_a);
  m.def("cuda_set_current_stream", cuda::set_current_stream, "device"_a, "stream"_a);
  m.def("cuda_stream_done", cuda::stream_done, "device"_a, "stream"_a);
  m.def("cuda_synchronize_stream", cuda::synchronize_stream, "device"_a, "stream"_a, Waiting());
  m.def("cuda_stream_waits", cuda::stream_waits, "device"_a, "stream"_a, "event"_a);
  m.def("cuda_new_event", cuda::new_event, "device"_a, "timed"_a);
  m.def("cuda_drop_event", cuda::drop_event, "device"_a, "event"_a);
  m.def("cuda_record_event", cuda::record_event, "device"_a, "event"_a, "stream"_a);
  m.def("cuda_event_passed", cuda::event_passed, "device"_a, "event"_a);
  m.def("cuda_synchronize_event", cuda::synchronize_event, "device"_a, "event"_a, Waiting());
  m.def("cuda_elapsed_ms", cuda::elapsed_ms, "device"_a, "begin"_a, "end"_a);
  m.def(
      "cuda_load_function",
      [](int device, nb::bytes image, const char* name) { return cuda::load_function(device, image.c_str(), name); },
      "device"_a, "image"_a, "name"_a);
  m.def("cuda_launch", launch, "device"_a, "function"_a, "grid"_a, "threads"_a, "parameters"_a);
}

}  // namespace perflab
