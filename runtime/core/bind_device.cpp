// Devices, and the simulated ones.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "caching_allocator.h"
#include "pinned.h"
#include "sim.h"
#include "sim_work.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace perflab {
namespace {

PyObject* work_callback = nullptr;  // runtime/sim.py; held for ever

// The callback gets (declaration, specs of inputs, of outputs, attributes) and gives FLOPs and bytes.
void ask_work(const Op& op, In in, int nin, const Attrs& attrs, const Array* out, int nout, SimWork& work) {
  Gil gil("cost of " + op.name);
  auto specs = [](const Array& a) {
    return nb::make_tuple(nb::steal(shape_tuple(a.shape, a.ndim)), static_cast<int>(a.dtype));
  };
  nb::list inputs, outputs;
  for (int i = 0; i < nin; ++i) inputs.append(specs(*in[i]));
  for (int k = 0; k < nout; ++k) outputs.append(specs(out[k]));
  PyObject* d = to_dict(op, attrs);
  if (!d) throw PythonError();
  nb::object attributes = nb::steal(d);
  try {
    nb::object found =
        nb::borrow(work_callback)(nb::borrow(static_cast<PyObject*>(op.record)), inputs, outputs, attributes);
    work.flops = nb::cast<double>(found[0]), work.bytes = nb::cast<double>(found[1]);
  } catch (nb::python_error& e) {
    e.restore();
    throw PythonError();
  }
}

Device& checked(int number) {
  if (number < 1 || number >= device_count())
    throw Error(ErrorKind::kDevice, "there is no device " + std::to_string(number));
  return device(number);
}

SimDevice& sim(int index) { return sim_device(index); }

// --- streams: numbers in Python, 0 the default one
SimSpec spec_of(nb::dict flops, double bandwidth, double copy_bandwidth, int64_t launch_ns) {
  SimSpec spec{{}, bandwidth, copy_bandwidth, launch_ns};
  for (int d = 0; d < kDTypes; ++d) spec.flops[d] = nb::cast<double>(flops[kDTypeNames[d]]);
  return spec;
}

}  // namespace

void bind_device(nb::module_& m) {
  m.def("device_count", device_count);
  m.def("device_name", device_name, "number"_a);
  m.def("device_synchronize", [](int number) { checked(number).synchronize(); }, "number"_a);
  m.def("current_stream", [](int number) { return checked(number).current_stream(); }, "number"_a);
  m.def(
      "set_current_stream", [](int number, Stream s) { checked(number).set_current_stream(s); }, "number"_a,
      "stream"_a);
  m.def(
      "record_stream",
      [](nb::handle tensor, Stream s) {
        if (!is_tensor(tensor.ptr())) throw nb::type_error("record_stream takes a Tensor");
        Storage* storage = impl_of(tensor.ptr())->storage;
        if (storage && storage->device && storage->stream != s)
          device(storage->device).allocator().record_stream(storage->block, s);
      },
      "tensor"_a, "stream"_a);

  m.def(
      "pin_memory",  // a copy in memory that the device has pinned
      [](nb::handle tensor, int number) {
        if (!is_tensor(tensor.ptr())) throw nb::type_error("pin_memory takes a Tensor");
        const Array& from = *impl_of(tensor.ptr());
        Array made = pinned_like(from, from.dtype, checked(number));
        copy_into(from, made);
        return nb::steal(wrap(make_tensor(std::move(made))));
      },
      "tensor"_a, "device"_a);
  m.def(
      "pinned_by",  // the number of the device, 0 where it is not
      [](nb::handle tensor) {
        if (!is_tensor(tensor.ptr())) throw nb::type_error("pinned_by takes a Tensor");
        const Storage* storage = impl_of(tensor.ptr())->storage;
        return storage ? static_cast<int>(storage->pinned) : 0;
      },
      "tensor"_a);

  nb::class_<SimMark>(m, "SimMark")
      .def_prop_ro("time", [](const SimMark& mark) { return mark.time.load(); })
      .def("has_passed", [](const SimMark& mark) { return SimDevice::has_passed(mark); });
  m.def("sim_device", [](int index) { return sim(index).number(); }, "index"_a);
  m.def("sim_new_stream", [](int index) { return sim(index).new_stream(); }, "index"_a);
  m.def("sim_stream_number", [](int index, Stream s) { return sim(index).stream_number(s); }, "index"_a, "stream"_a);
  m.def("sim_stream_idle", [](int index, Stream s) { return sim(index).is_idle(s); }, "index"_a, "stream"_a);
  m.def("sim_stream_synchronize", [](int index, Stream s) { sim(index).synchronize(s); }, "index"_a, "stream"_a);
  m.def(
      "sim_stream_wait", [](int index, Stream s, Stream other) { sim(index).wait(s, other); }, "index"_a, "stream"_a,
      "other"_a);
  m.def("sim_mark", [](int index, Stream s) { return sim(index).mark(s); }, "index"_a, "stream"_a);
  m.def(
      "sim_mark_wait", [](int index, Stream s, const SimMark& mark) { sim(index).wait(s, mark); }, "index"_a,
      "stream"_a, "mark"_a);
  m.def(
      "sim_mark_synchronize", [](int index, const SimMark& mark) { sim(index).synchronize(mark); }, "index"_a,
      "mark"_a);
  m.def(
      "sim_set_capacity", [](int index, size_t bytes) { sim(index).source().set_capacity(bytes); }, "index"_a,
      "bytes"_a);
  m.def("sim_settle", [] {
    for (SimDevice* d : sim_devices()) d->settle();
  });
  m.def("sim_threads", [] {
    std::vector<uint64_t> all;
    for (SimDevice* d : sim_devices())
      for (uint64_t thread : d->threads()) all.push_back(thread);
    return all;
  });
  m.def("sim_stop", [] {
    for (SimDevice* d : sim_devices()) d->stop();
  });
  m.def(
      "sim_start_model",
      [](nb::dict flops, double bandwidth, double copy_bandwidth, int64_t launch_ns) {
        for (SimDevice* d : sim_devices()) d->begin_timeline();
        sim_clock().start(spec_of(flops, bandwidth, copy_bandwidth, launch_ns));
      },
      "flops"_a, "bandwidth"_a, "copy_bandwidth"_a, "launch_ns"_a);
  m.def("sim_stop_model", [] { sim_clock().stop(); });
  m.def("sim_is_modelled", [] { return sim_clock().is_on(); });
  m.def("set_work_callback", [](nb::object f) {
    work_callback = f.release().ptr();
    work_in_python = ask_work;
  });
}

}  // namespace perflab
