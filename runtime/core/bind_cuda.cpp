// The CUDA devices for runtime/cuda: what rt.cuda offers. Calls that wait for a device give the GIL away.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "cuda_blas.h"
#include "cuda_gpu.h"

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

PyObject* kernel_callback = nullptr;  // runtime/cuda/build.py; held for ever

uintptr_t ask_kernel(int index, const std::string& name) {
  Gil gil("kernel " + name);
  try {
    return nb::cast<uintptr_t>(nb::borrow(kernel_callback)(index, name));
  } catch (nb::python_error& e) {
    e.restore();
    throw PythonError();
  }
}

PyObject* blas_callback = nullptr;  // runtime/cuda/libraries.py; held for ever

std::vector<std::string> ask_blas() {
  Gil gil("where cuBLAS is");
  try {
    return nb::cast<std::vector<std::string>>(nb::borrow(blas_callback)());
  } catch (nb::python_error& e) {
    e.restore();
    throw PythonError();
  }
}

}  // namespace

void bind_cuda(nb::module_& m) {
  m.def("cuda_open", cuda::open_driver, "library"_a);
  m.def("cuda_version", [] { return cuda::driver().cuda; });
  m.def("cuda_device_count", cuda::device_count);
  m.def("cuda_describe", describe, "device"_a);
  m.def("cuda_current_device", cuda::current_device);
  m.def("cuda_set_device", cuda::set_device, "device"_a);
  m.def("cuda_memory_info", memory_info, "device"_a);
  m.def("cuda_new_stream", cuda::new_stream, "device"_a, "urgent"_a);
  m.def("cuda_stream_done", cuda::stream_done, "device"_a, "stream"_a);
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
  m.def("cuda_settle", cuda::settle_all);
  m.def("cuda_time_one_in", cuda::time_one_in, "n"_a);
  m.def("cuda_row", [](int index) { return cuda::gpu(index).number(); }, "index"_a);
  m.def("cuda_synchronize", [](int index) { cuda::gpu(index).synchronize(); }, "index"_a);
  m.def("cuda_synchronize_stream", [](int index, Stream s) { cuda::gpu(index).synchronize(s); }, "index"_a, "stream"_a);
  m.def("cuda_set_kernel_callback", [](nb::object f) {
    kernel_callback = f.release().ptr();
    cuda::build_kernel = ask_kernel;
  });
  m.def("cuda_set_blas_callback", [](nb::object f) {
    blas_callback = f.release().ptr();
    cuda::find_blas = ask_blas;
  });
  m.def("cuda_allow_tf32", [](bool allow) { cuda::allow_tf32 = allow; }, "allow"_a);
  m.def("cuda_allocator_functions", [] {
    return std::tuple{reinterpret_cast<uintptr_t>(cuda::allocate_for_cupy),
                      reinterpret_cast<uintptr_t>(cuda::deallocate_for_cupy)};
  });
}

}  // namespace perflab
