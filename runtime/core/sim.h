// A simulated accelerator: the ops' own kernels on threads of the CPU, asynchronous as on a GPU. Each stream is a
// thread; its memory is a range with a capacity. It runs in real time, or keeps a model's time (sim_clock.h).
#pragma once
#include <memory>
#include <vector>

#include "device.h"
#include "sim_clock.h"
#include "sim_source.h"
#include "sim_stream.h"

namespace perflab {

// A point in the work of a stream.
struct SimMark {
  SimStream* stream;
  uint64_t place;
  std::atomic<int64_t> time{0};  // in ticks: when it was reached, 0 before
};

class SimDevice final : public Device {
 public:
  SimDevice(int index, std::unique_ptr<SimSource>);

  void launch(const Op&, DType computed, In in, int nin, const Attrs&, Array* out, int nout) override;
  void copy(const Array& from, Array& to, bool non_blocking) override;
  void call(const char* name, std::vector<Array> arrays, int64_t flops, Function) override;
  void wait(Stream waiting, Stream other) override;
  void synchronize() override;
  void* map_pinned(size_t bytes) noexcept override { return host_memory().map(bytes); }
  void unmap_pinned(void* memory, size_t bytes) noexcept override { host_memory().unmap(memory, bytes); }

  Stream new_stream();  // of a few: later ones share threads, as PyTorch's do
  int stream_number(Stream) override;
  bool is_idle(Stream);
  void synchronize(Stream);
  std::shared_ptr<SimMark> mark(Stream);
  void wait(Stream, const SimMark&);
  static bool has_passed(const SimMark&);
  void synchronize(const SimMark&);

  SimSource& source() { return source_; }
  void barrier();         // what comes next on any stream waits for what is on all of them now
  void begin_timeline();  // all streams are done and free at the beginning of modelled time
  void settle();          // all streams, without throwing what failed
  std::vector<uint64_t> threads();
  void stop();    // ends the threads; later work starts them again
  void forget();  // in a forked child: what was to be done is the parent's

 private:
  struct Line {
    Line(std::string name, std::function<void(std::exception_ptr)> fail) : stream(std::move(name), std::move(fail)) {}
    SimStream stream;
    SimLine clock;
  };
  struct Label;  // how work shows in a trace

  Line& line(Stream s) { return s ? *reinterpret_cast<Line*>(s) : *lines_[0]; }
  void submit(Line&, Label, const SimWork&, SimStream::Task);
  void record_wait(int64_t t0);  // of the CPU, from t0 to now
  void fail(std::exception_ptr);
  void throw_failure();

  static constexpr int kStreams = 9;  // the default one and those that new_stream() gives in turn
  SimSource& source_;
  std::vector<std::unique_ptr<Line>> lines_;
  std::atomic<unsigned> next_stream_{0};
  std::mutex failure_mutex_;
  std::exception_ptr failure_;  // the first since the last call that waited
};

// The device of this index, made when it is asked for first. Call it with the GIL.
SimDevice& sim_device(int index);
std::vector<SimDevice*> sim_devices();  // those that were made

}  // namespace perflab
