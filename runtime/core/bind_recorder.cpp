// The recorder as profiler/session.py drives it; what is called in every step is in py_recorder.cpp.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "event_costs.h"
#include "family.h"
#include "memory_use.h"
#include "py_sampler.h"
#include "recorder.h"
#include "shapes.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace perflab {
namespace {

nb::object event_dtype() {
  nb::list fields;
  auto field = [&](const char* name, const char* type) { fields.append(nb::make_tuple(name, type)); };
  for (const char* t : {"t0", "t1", "t2"}) field(t, "<i8");
  field("kind", "<u2"), field("flags", "<u2"), field("name", "<u4");
  for (const char* t : {"sequence", "address", "bytes"}) field(t, "<u8");
  field("shapes", "<u4"), field("scope", "<u4");
  return nb::module_::import_("numpy").attr("dtype")(fields);
}

// [(thread id, events)], each array a view of the recorder's own chunk
nb::list drain_events() {
  nb::object dtype = event_dtype();
  nb::list threads;
  for (const Recorded& r : drain()) {
    nb::capsule owner(r.chunk, [](void* chunk) noexcept { release_chunk(chunk); });
    nb::ndarray<uint8_t, nb::numpy, nb::ndim<1>> bytes(r.events, {r.count * sizeof(Event)}, owner);
    threads.append(nb::make_tuple(r.thread, nb::cast(bytes).attr("view")(dtype)));
  }
  return threads;
}

nb::tuple clock() {
  ClockScale s = clock_scale();
  return nb::make_tuple(s.tick0, s.ns0, s.ns_per_tick);
}

void push(int kind, uint32_t name, int64_t t0, int64_t t2, uint64_t sequence) {
  if (!is_recording()) return;
  Event& e = next_event();
  e = Event{};
  e.t0 = t0, e.t2 = t2, e.kind = static_cast<EventKind>(kind), e.name = name, e.scope = current_scope;
  e.sequence = sequence;
}

void record_uses(nb::handle tensors, const std::string& word, uint32_t scope) {
  if (!is_recording()) return;
  const MemoryUse use = word == "parameter" ? kParameter : word == "gradient" ? kGradient : kOptimizerState;
  for (nb::handle t : tensors)
    if (is_tensor(t.ptr()) && impl_of(t.ptr())->storage) record_use(impl_of(t.ptr())->storage, use, scope);
}

nb::list shape_lists() {  // by id: ((dtype name, shape), ...) of the inputs
  nb::list all;
  for (const auto& inputs : interned_shapes()) {
    nb::list l;
    for (const Spec& s : inputs) {
      nb::list shape;
      for (int64_t n : s.shape) shape.append(n);
      l.append(nb::make_tuple(name(s.dtype), nb::tuple(shape)));
    }
    all.append(nb::tuple(l));
  }
  return all;
}

constexpr const char* kLone = "surrogatepass";  // halves of surrogate pairs, which Python's texts may hold, survive

std::string utf8(nb::str text) {
  nb::object bytes = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", kLone));
  if (!bytes) throw nb::python_error();
  return {PyBytes_AS_STRING(bytes.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr()))};
}

}  // namespace

void bind_recorder(nb::module_& m) {
  m.def("recorder_start", start_recording, "max_events"_a);
  m.def("recorder_join", [] { recordings.fetch_add(1); });
  m.def("recorder_allow", allow_more_events, "count"_a);
  m.def("recorder_stop", stop_recording);
  m.def("measure_event_costs", [] {
    EventCosts costs = measure_event_costs();
    return nb::make_tuple(costs.op, costs.shapes, costs.event, costs.hold);
  });
  m.def("recorder_count", recorded_events);
  m.def("record_shapes", [](bool on) { shapes_are_recorded.store(on); }, "on"_a);
  m.def("recorder_is_started", is_session);
  m.def("recorder_drain", drain_events);
  m.def("recorder_dropped", dropped_events);
  m.def("recorder_clock", clock);
  m.def("recorder_push", push, "kind"_a, "name"_a, "t0"_a, "t2"_a, "sequence"_a);
  m.def("lead_family", lead_family, "folder"_a);
  m.def("let_family_record", let_family_record, "max_events"_a);
  m.def("stop_family", stop_family);
  m.def("join_family", join_family, "folder"_a);
  m.def("log_name", log_name, "json"_a);
  m.def("intern", [](nb::str text) { return intern(utf8(text)); });
  m.def("interned", [] {
    nb::list texts;
    for (const std::string& s : interned())
      texts.append(nb::steal(PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), kLone)));
    return texts;
  });
  m.def("shapes", shape_lists);
  m.def("record_stacks", record_stacks, "on"_a);
  m.def("stacks", [] { return nb::steal<nb::list>(list_stacks()); });
  nb::class_<StackSampler>(m, "StackSampler")
      .def(nb::init<double>(), "interval_s"_a)
      .def("stop", &StackSampler::stop)
      .def_prop_ro("spent", &StackSampler::spent)
      .def("samples", [](const StackSampler& s) { return nb::steal<nb::list>(s.samples()); })
      .def("stacks", [](const StackSampler& s) { return nb::steal<nb::list>(s.stacks()); });
  m.def("record_use", record_uses, "tensors"_a, "use"_a, "scope"_a = 0);
}

}  // namespace perflab
