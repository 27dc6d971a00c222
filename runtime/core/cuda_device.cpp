#include "cuda_device.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "error.h"

namespace perflab::cuda {
namespace {

constexpr int kMaxDevices = 16;

struct Device {
  int number = 0;  // the driver's
  Handle context = nullptr;
  std::mutex mutex;
  std::array<std::array<Handle, kStreams>, 2> streams{};
  std::array<unsigned, 2> next{};
};

Device& device_at(int device) {
  static std::array<std::unique_ptr<Device>, kMaxDevices> devices;
  static std::mutex mutex;
  const Driver& d = driver();
  if (device < 0 || device >= d.count || device >= kMaxDevices)
    throw Error(ErrorKind::kDevice, "CUDA: there is no device cuda:" + std::to_string(device) +
                                        ": the last is cuda:" + std::to_string(d.count - 1));
  std::scoped_lock lock(mutex);
  if (!devices[device]) {
    auto made = std::make_unique<Device>();
    check(d.device(&made->number, device), "cuDeviceGet");
    check(d.retain_context(&made->context, made->number), "cuDevicePrimaryCtxRetain");
    devices[device] = std::move(made);
  }
  return *devices[device];
}

thread_local int chosen = 0, entered = -1;

Handle handle(uintptr_t h) { return reinterpret_cast<Handle>(h); }

bool is_done(Result result, const char* call) {
  if (result == kNotReady) return false;
  check(result, call);
  return true;
}

}  // namespace

int device_count() {
  try {
    return driver().count;
  } catch (const Error&) {
    return 0;
  }
}

Description describe(int device) {
  const int number = device_at(device).number;
  const Driver& d = driver();
  Description found{};
  char name[256] = {};
  check(d.device_name(name, sizeof name - 1, number), "cuDeviceGetName");
  found.name = name;
  check(d.device_memory(&found.memory, number), "cuDeviceTotalMem");
  int virtual_memory = 0;
  for (auto [to, what] : {std::pair{&found.major, kMajor},
                          {&found.minor, kMinor},
                          {&found.multiprocessors, kMultiprocessors},
                          {&virtual_memory, kVirtualMemory}})
    check(d.attribute(to, what, number), "cuDeviceGetAttribute");
  found.virtual_memory = virtual_memory != 0;
  return found;
}

int current_device() { return chosen; }

void enter(int device) {
  if (entered == device) [[likely]]
    return;
  check(driver().set_context(device_at(device).context), "cuCtxSetCurrent");
  entered = device;
}

void set_device(int device) {
  enter(device);
  chosen = device;
}

void synchronize(int device) {
  enter(device);
  check(driver().synchronize(), "cuCtxSynchronize");
}

void memory_info(int device, size_t& free, size_t& total) {
  enter(device);
  check(driver().memory_info(&free, &total), "cuMemGetInfo");
}

uintptr_t new_stream(int device, bool urgent) {
  Device& at = device_at(device);
  enter(device);
  std::scoped_lock lock(at.mutex);
  Handle& stream = at.streams[urgent][at.next[urgent]++ % kStreams];
  if (!stream) {
    int least = 0, greatest = 0;
    constexpr unsigned kNonBlocking = 1;  // does not wait for the default stream
    check(driver().priorities(&least, &greatest), "cuCtxGetStreamPriorityRange");
    check(driver().create_stream(&stream, kNonBlocking, urgent ? greatest : least), "cuStreamCreateWithPriority");
  }
  return reinterpret_cast<uintptr_t>(stream);
}

int stream_number(int device, uintptr_t stream) {
  Device& at = device_at(device);
  std::scoped_lock lock(at.mutex);
  for (int urgent = 0; urgent < 2; ++urgent)
    for (int i = 0; i < kStreams; ++i)
      if (stream && at.streams[urgent][i] == handle(stream)) return 1 + urgent * kStreams + i;
  return 0;
}

bool stream_done(int device, uintptr_t stream) {
  enter(device);
  return is_done(driver().stream_query(handle(stream)), "cuStreamQuery");
}

void synchronize_stream(int device, uintptr_t stream) {
  enter(device);
  check(driver().stream_synchronize(handle(stream)), "cuStreamSynchronize");
}

void stream_waits(int device, uintptr_t stream, uintptr_t event) {
  enter(device);
  check(driver().stream_wait(handle(stream), handle(event), 0), "cuStreamWaitEvent");
}

uintptr_t new_event(int device, bool timed) {
  enter(device);
  Handle event = nullptr;
  constexpr unsigned kNoTiming = 2;
  check(driver().create_event(&event, timed ? 0 : kNoTiming), "cuEventCreate");
  return reinterpret_cast<uintptr_t>(event);
}

void drop_event(int device, uintptr_t event) noexcept {
  try {
    enter(device);
    driver().destroy_event(handle(event));
  } catch (const Error&) {  // the device is gone, and with it the event
  }
}

void record_event(int device, uintptr_t event, uintptr_t stream) {
  enter(device);
  check(driver().record_event(handle(event), handle(stream)), "cuEventRecord");
}

bool event_passed(int device, uintptr_t event) {
  enter(device);
  return is_done(driver().event_query(handle(event)), "cuEventQuery");
}

void synchronize_event(int device, uintptr_t event) {
  enter(device);
  check(driver().event_synchronize(handle(event)), "cuEventSynchronize");
}

double elapsed_ms(int device, uintptr_t begin, uintptr_t end) {
  enter(device);
  float ms = 0;
  check(driver().elapsed(&ms, handle(begin), handle(end)), "cuEventElapsedTime");
  return ms;
}

uintptr_t load_function(int device, const void* image, const char* name) {
  enter(device);
  Handle module = nullptr, function = nullptr;
  check(driver().load_module(&module, image), "cuModuleLoadData");
  check(driver().function(&function, module, name), "cuModuleGetFunction");
  return reinterpret_cast<uintptr_t>(function);
}

void launch(int device, uintptr_t function, unsigned blocks, unsigned threads, uintptr_t stream, void** arguments) {
  enter(device);
  check(driver().launch(handle(function), blocks, 1, 1, threads, 1, 1, 0, handle(stream), arguments, nullptr),
        "cuLaunchKernel");
}

}  // namespace perflab::cuda
