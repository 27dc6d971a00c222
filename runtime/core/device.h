// Devices other than the CPU, as rows of a table. An array says where it is by the number of its row; 0 is the CPU,
// which has none. Ops take one branch to get here (launch.cpp), whatever the devices are.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "kernels/optimizer.h"
#include "kernels/random.h"
#include "op.h"

namespace perflab {

class CachingAllocator;

constexpr int kMostDevices = 32;

// The allocator's pool that this thread gets memory from, by device; 0: the default one.
inline constinit thread_local uint32_t current_pool[kMostDevices] = {};

// Work is done in the order of a stream, the calling thread's current one; calls return before it is done. What fails
// then is thrown by the next call that waits.
class Device {
 public:
  Device(std::string name, std::unique_ptr<MemorySource>);
  virtual ~Device();
  Device(const Device&) = delete;
  const std::string& name() const { return name_; }  // "sim:0"
  int number() const { return number_; }

  MemorySource& memory_source() { return *source_; }
  CachingAllocator& allocator() { return *allocator_; }
  CachingAllocator& pinned();  // of memory of the CPU for its copies (pinned.h)
  virtual void* map_pinned(size_t bytes) noexcept = 0;
  virtual void unmap_pinned(void* memory, size_t bytes) noexcept = 0;

  // Computes an op: `out` has its memory on this device, inputs theirs too, or are numbers in their cells.
  virtual void launch(const Op&, DType computed, In in, int nin, const Attrs&, Array* out, int nout) = 0;
  // Between two places, of which one at least is this device: contiguous arrays of one shape and dtype. Waits until it
  // is done unless `non_blocking`; then pinned memory of the CPU must stay as it is, and other memory is read before
  // the call returns.
  virtual void copy(const Array& from, Array& to, bool non_blocking) = 0;
  // A function of our own over arrays of this device: random numbers, the optimizers' steps. It gets them as arrays
  // that the CPU can reach. Throws Error(kDevice) where there is no such way.
  using Function = std::function<void(std::span<Array>)>;
  virtual void call(const char* name, std::vector<Array> arrays, int64_t flops, Function) = 0;
  // An optimizer's step by a kernel of the device. False: it has none for these arrays, and call() serves.
  virtual bool update(const ParameterLists&, const UpdateOptions&) { return false; }
  // The same for random numbers, into a contiguous array.
  virtual bool fill(const Array&, const RandomFill&) { return false; }

  // What comes on `waiting` begins when what is on `other` is done.
  virtual void wait(Stream waiting, Stream other) = 0;
  virtual void synchronize() = 0;                                      // all streams
  virtual int stream_number(Stream s) { return static_cast<int>(s); }  // as traces name it

  Stream current_stream() const { return current_[number_]; }  // of this thread; 0: the default one
  void set_current_stream(Stream s) { current_[number_] = s; }

 private:
  static inline constinit thread_local Stream current_[kMostDevices] = {};
  const std::string name_;
  const int number_;
  const std::unique_ptr<MemorySource> source_;
  const std::unique_ptr<CachingAllocator> allocator_;
  struct Pinned;
  // Made when it is wanted first; it lives as long as the process, as devices do. No std::call_once: that one takes
  // libstdc++'s thread-local storage, and where another library came first there is no room for it (duckdb).
  std::atomic<Pinned*> pinned_ = nullptr;
  std::mutex pinned_making_;
};

// Devices stay for as long as the process. They are made and added with the GIL, one at a time.
void add_device(std::unique_ptr<Device>);
Device& device(int number);
int device_count();                   // the CPU counts as well
std::string device_name(int number);  // "cpu" for 0

class StreamScope {  // a device's current stream, within a scope
 public:
  StreamScope(Device& d, Stream s) : device_(d), before_(d.current_stream()) { d.set_current_stream(s); }
  ~StreamScope() { device_.set_current_stream(before_); }
  StreamScope(const StreamScope&) = delete;

 private:
  Device& device_;
  Stream before_;
};

// What the stream does next comes after what made this array, whose memory lives until it is done.
void await_on(Stream, const Array&);
inline void await(const Array& a) {  // on the current stream
  if (a.device) [[unlikely]]
    await_on(device(a.device).current_stream(), a);
}

// --- arrays on any device (launch.cpp)

inline bool on_device(In in, int nin) {
  unsigned any = 0;
  for (int i = 0; i < nin; ++i) any |= in[i]->device;
  return any;
}

// A contiguous copy on a device, 0: the CPU. To there it waits for the values, unless `non_blocking`.
Array transfer(const Array&, int to, bool non_blocking = false);
// The elements where the CPU can read them: the array itself, or a copy when it is done.
inline Array on_cpu(const Array& a) { return a.device ? transfer(a, 0) : Array(a); }

// run() and run_into() where an input or the target is on a device.
void run_on_device(const Op&, In in, int nin, const Attrs&, Array* out, int nout, bool donate, uint64_t sequence);
void run_into_on_device(const Op&, In in, int nin, const Attrs&, Array& target, const char* form, uint64_t sequence);
void copy_into_on_device(const Array& from, Array& to);
Array cast_on_device(const Array&, DType to);

// Calls f, which waits for another thread, without the GIL, whether this thread has it or not. Null: there is no
// Python.
extern void (*wait_without_gil)(void (*f)(void*), void* context);
template <class F>
void wait_freely(F f) {
  if (!wait_without_gil) return f();
  wait_without_gil([](void* context) { (*static_cast<F*>(context))(); }, &f);
}

}  // namespace perflab
