#include "sim.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "dispatch.h"
#include "fork.h"
#include "pinned.h"
#include "recorder.h"
#include "shapes.h"
#include "sim_work.h"

namespace perflab {

struct SimDevice::Label {
  uint32_t name;
  uint16_t flags;
  uint64_t bytes;
  uint32_t shapes;
};

namespace {

void record(EventKind kind, const Event& like, int64_t t0, int64_t t2) {
  Event& e = next_event();
  e = like;
  e.t0 = t0, e.t2 = t2, e.kind = kind;
}

uint64_t next_launch() {
  static std::atomic<uint64_t> last{0};
  return 1 + last.fetch_add(1, std::memory_order_relaxed);
}

// The same elements for the stream's thread. Without the storage: as on a GPU, memory that is let go while work on it
// is under way goes back to its stream, and comes to other work after that.
Array reachable(const Array& a) {
  Array h;
  static_cast<Layout&>(h) = a;
  h.device = 0;
  return h;
}

std::vector<Array> reachable(In in, int n) {
  std::vector<Array> all;
  all.reserve(n);
  for (int i = 0; i < n; ++i) all.push_back(reachable(*in[i]));
  return all;
}

struct OpCall {
  const Op* op;
  DType computed;
  Attrs attrs;
  std::vector<Array> in, out;

  void run() {
    if (!op->is_native(computed)) lend();  // kernels in Python show the arrays to NumPy as tensors
    std::vector<const Array*> inputs;
    for (const Array& a : in) inputs.push_back(&a);
    compute(*op, computed, inputs.data(), static_cast<int>(in.size()), attrs, out.data(), static_cast<int>(out.size()));
  }
  void lend() {
    for (std::vector<Array>* arrays : {&in, &out})
      for (Array& a : *arrays)
        if (a.data && a.data != a.cell) a.storage = adopt_storage(a.data, a.bytes(), nullptr, [](Storage*) {});
  }
};

}  // namespace

SimDevice::SimDevice(int index, std::unique_ptr<SimSource> source)
    : Device("sim:" + std::to_string(index), std::move(source)), source_(static_cast<SimSource&>(memory_source())) {
  hold_across_fork(source_.mutex());
  hold_across_fork(failure_mutex_);
  for (int i = 0; i < kStreams; ++i) {
    lines_.push_back(std::make_unique<Line>(name() + " stream " + std::to_string(i),
                                            [this](std::exception_ptr e) { fail(std::move(e)); }));
    hold_across_fork(lines_.back()->stream.mutex());
  }
  source_.serve(*this);
}

// --- work

void SimDevice::submit(Line& l, Label label, const SimWork& work, SimStream::Task task) {
  Event e{};
  const bool recorded = is_recording();
  if (recorded) {
    e.name = label.name, e.flags = label.flags, e.bytes = label.bytes, e.shapes = label.shapes;
    e.scope = current_scope, e.sequence = next_launch();
    e.address =
        static_cast<uint64_t>(number()) << 32 | static_cast<uint32_t>(stream_number(reinterpret_cast<Stream>(&l)));
  }
  if (sim_clock().is_on()) {
    const SimClock::Span span = sim_clock().spend(l.clock, work);
    l.stream.add(std::move(task));
    if (recorded) record(EventKind::kLaunch, e, span.launch, sim_clock().now());
    if (recorded) record(EventKind::kKernel, e, span.begin, span.end);
    return;
  }
  if (!recorded) return void(l.stream.add(std::move(task)));
  const int64_t t0 = ticks();
  l.stream.add([task = std::move(task), e] {
    const int64_t begin = ticks();
    task();
    record(EventKind::kKernel, e, begin, ticks());
  });
  record(EventKind::kLaunch, e, t0, ticks());
}

void SimDevice::launch(const Op& op, DType computed, In in, int nin, const Attrs& attrs, Array* out, int nout) {
  std::vector<const Array*> outs;
  for (int k = 0; k < nout; ++k) outs.push_back(out + k);
  auto call = std::make_shared<OpCall>(OpCall{&op, computed, {}, reachable(in, nin), reachable(outs.data(), nout)});
  std::memcpy(call->attrs.v, attrs.v, static_cast<size_t>(op.words) * sizeof(int64_t));
  const SimWork work = sim_clock().is_on() ? sim_work(op, computed, in, nin, attrs, out, nout) : SimWork{};
  const auto flags =
      static_cast<uint16_t>(static_cast<int>(out->dtype) << 3 | (op.is_native(computed) ? kNative : kPythonKernel));
  submit(line(current_stream()), {op.id, flags, 0, is_recording() ? intern_shapes(in, nin) : 0}, work,
         [call] { call->run(); });
}

void SimDevice::call(const char* name, std::vector<Array> arrays, int64_t flops, Function f) {
  double bytes = 0;
  auto seen = std::make_shared<std::vector<Array>>();
  for (const Array& a : arrays) seen->push_back(reachable(a)), bytes += static_cast<double>(a.bytes());
  const SimWork work{static_cast<double>(flops), bytes, arrays.empty() ? DType::kFloat32 : arrays[0].dtype, false};
  submit(line(current_stream()), {is_recording() ? intern(name) : 0, kNamed, 0, 0}, work, [seen, f] { f(*seen); });
}

void SimDevice::copy(const Array& from, Array& to, bool non_blocking) {
  Line& l = line(current_stream());
  Array source = reachable(from);
  const Array target = reachable(to);
  const bool from_cpu = !from.device, to_cpu = !to.device;
  // What is not pinned is read before the call returns, as on a GPU.
  std::shared_ptr<std::byte[]> staged;
  if (from_cpu && non_blocking && !is_pinned(from)) {
    staged = std::make_shared_for_overwrite<std::byte[]>(from.bytes());
    if (from.numel) std::memcpy(staged.get(), from.data, from.bytes());
    source.data = staged.get();
  }
  const char* name = from_cpu ? "Memcpy HtoD" : to_cpu ? "Memcpy DtoH" : "Memcpy DtoD";
  const SimWork work{0, static_cast<double>(from.bytes()) * (from_cpu || to_cpu ? 1 : 2), from.dtype,
                     from_cpu || to_cpu};
  submit(l, {is_recording() ? intern(name) : 0, kNamed | kCopy, from.bytes(), 0}, work, [source, target, staged] {
    if (source.numel) std::memcpy(target.data, source.data, source.bytes());
  });
  if (!non_blocking && (from_cpu || to_cpu)) synchronize(reinterpret_cast<Stream>(&l));
}

// --- streams and marks

Stream SimDevice::new_stream() {
  return reinterpret_cast<Stream>(lines_[1 + next_stream_.fetch_add(1) % (kStreams - 1)].get());
}

int SimDevice::stream_number(Stream s) {
  for (int i = 1; i < kStreams; ++i)
    if (lines_[i].get() == &line(s)) return i;
  return 0;
}

bool SimDevice::is_idle(Stream s) {
  SimStream& stream = line(s).stream;
  return stream.has_passed(stream.place());
}

std::shared_ptr<SimMark> SimDevice::mark(Stream s) {
  Line& l = line(s);
  auto m = std::make_shared<SimMark>();
  m->stream = &l.stream;
  const bool modelled = sim_clock().is_on();
  if (modelled) m->time = std::max(l.clock.free_at, sim_clock().now());
  m->place = l.stream.add([m, modelled] {
    if (!modelled) m->time = ticks();
  });
  return m;
}

void SimDevice::wait(Stream s, const SimMark& m) {
  Line& l = line(s);
  if (sim_clock().is_on()) sim_clock().wait_until(l.clock, m.time);
  if (m.stream == &l.stream) return;
  l.stream.add([stream = m.stream, place = m.place] { stream->wait(place); });
}

void SimDevice::wait(Stream waiting, Stream other) {
  if (&line(waiting) == &line(other)) return;
  SimMark m;
  m.stream = &line(other).stream, m.place = m.stream->place(), m.time = line(other).clock.free_at;
  wait(waiting, m);
}

bool SimDevice::has_passed(const SimMark& m) { return m.stream->has_passed(m.place); }

void SimDevice::synchronize(const SimMark& m) {
  const int64_t t0 = is_recording() ? ticks() : 0;
  wait_freely([&] { m.stream->wait(m.place); });
  if (sim_clock().is_on()) sim_clock().host_waits(m.time);
  record_wait(t0);
  throw_failure();
}

void SimDevice::record_wait(int64_t t0) {
  if (!t0) return;
  Event e{};
  e.address = static_cast<uint64_t>(number()) << 32;
  record(EventKind::kLaunch, e, t0, ticks());
}

void SimDevice::synchronize(Stream s) {
  SimMark m;
  m.stream = &line(s).stream, m.place = m.stream->place(), m.time = line(s).clock.free_at;
  synchronize(m);
}

void SimDevice::settle() {
  wait_freely([&] {
    for (auto& l : lines_) l->stream.wait(l->stream.place());
  });
}

void SimDevice::synchronize() {
  const int64_t t0 = is_recording() ? ticks() : 0;
  settle();
  if (sim_clock().is_on())
    for (auto& l : lines_) sim_clock().host_waits(l->clock.free_at);
  record_wait(t0);
  throw_failure();
}

void SimDevice::begin_timeline() {
  settle();
  for (auto& l : lines_) l->clock.free_at = 0;
}

std::vector<uint64_t> SimDevice::threads() {
  std::vector<uint64_t> all;
  for (auto& l : lines_)
    if (const uint64_t thread = l->stream.thread()) all.push_back(thread);
  return all;
}

void SimDevice::stop() {
  wait_freely([&] {
    for (auto& l : lines_) l->stream.stop();
  });
}

void SimDevice::barrier() {
  std::vector<SimMark> marks(kStreams);
  for (int i = 0; i < kStreams; ++i) {
    Line& l = *lines_[i];
    marks[i].stream = &l.stream, marks[i].place = l.stream.place(), marks[i].time = l.clock.free_at;
  }
  for (auto& l : lines_)
    for (const SimMark& m : marks)
      if (!has_passed(m)) wait(reinterpret_cast<Stream>(l.get()), m);
}

// --- what failed

void SimDevice::fail(std::exception_ptr e) {
  std::lock_guard lock(failure_mutex_);
  if (!failure_) failure_ = std::move(e);
}

void SimDevice::throw_failure() {
  std::exception_ptr e;
  {
    std::lock_guard lock(failure_mutex_);
    e = std::exchange(failure_, nullptr);
  }
  if (e) std::rethrow_exception(e);
}

// --- the devices

namespace {

std::vector<SimDevice*>& made() {
  static auto& all = *new std::vector<SimDevice*>;
  return all;
}

}  // namespace

SimDevice& sim_device(int index) {
  for (SimDevice* d : made())
    if (d->name() == "sim:" + std::to_string(index)) return *d;
  auto fresh = std::make_unique<SimDevice>(index, std::make_unique<SimSource>(index));
  SimDevice* d = fresh.get();
  add_device(std::move(fresh));
  if (made().empty())
    pthread_atfork(nullptr, nullptr, [] {
      for (SimDevice* each : made()) each->forget();
    });
  made().push_back(d);
  return *d;
}

std::vector<SimDevice*> sim_devices() { return made(); }

void SimDevice::forget() {
  for (auto& l : lines_) l->stream.forget();
  failure_ = nullptr;
}

}  // namespace perflab
