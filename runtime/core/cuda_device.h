// The CUDA devices of the process: contexts, streams, events, kernels. Handles are the driver's; each call makes its
// device's context that of the thread first.
#pragma once
#include <cstdint>
#include <string>

#include "cuda_driver.h"

namespace perflab::cuda {

struct Description {
  std::string name;
  size_t memory;
  int major, minor;  // of the compute capability
  int multiprocessors;
  bool virtual_memory;
};

int device_count();                // 0 without a driver
Description describe(int device);  // throws Error(kDevice) for one that is not there, as all below
int current_device();              // this thread's
void set_device(int device);
void enter(int device);  // its context becomes this thread's
void synchronize(int device);
void memory_info(int device, size_t& free, size_t& total);

// Streams are made once and live as long as the process, so that memory may speak of a stream at any time: asked for
// again and again they come round, as in PyTorch. Handle 0 is the default stream.
constexpr int kStreams = 32;  // of each device and priority
uintptr_t new_stream(int device, bool urgent);
int stream_number(int device, uintptr_t stream);  // 0 of the default one
bool stream_done(int device, uintptr_t stream);
void synchronize_stream(int device, uintptr_t stream);
void stream_waits(int device, uintptr_t stream, uintptr_t event);

uintptr_t new_event(int device, bool timed);
void drop_event(int device, uintptr_t event) noexcept;
void record_event(int device, uintptr_t event, uintptr_t stream);
bool event_passed(int device, uintptr_t event);
void synchronize_event(int device, uintptr_t event);
double elapsed_ms(int device, uintptr_t begin, uintptr_t end);

uintptr_t load_function(int device, const void* image,
                        const char* name);  // the image: PTX that ends with a 0, or a cubin
void launch(int device, uintptr_t function, unsigned blocks, unsigned threads, uintptr_t stream, void** arguments);

}  // namespace perflab::cuda
