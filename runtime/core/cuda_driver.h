// The CUDA driver's functions, found when they are first wanted: nothing is linked, so one build serves machines with a
// GPU and without. Types are the driver's own, spelled in plain C++ (cuda.h is not needed to build).
#pragma once
#include <cstddef>
#include <string>

namespace perflab::cuda {

using Result = int;                  // CUresult; 0 is success
using Address = unsigned long long;  // CUdeviceptr
using Handle = void*;                // of a context, stream, event, module or function

constexpr Result kOutOfMemory = 2, kNotReady = 600;
enum Attribute { kMultiprocessors = 16, kMajor = 75, kMinor = 76, kVirtualMemory = 102 };

struct MemoryProperties {  // CUmemAllocationProp: memory of one device, by default shared with nobody
  int type = 1;            // pinned: it stays where it is
  int shared_as = 0;
  struct {
    int type = 1;  // a device
    int id = 0;
  } location;
  void* windows = nullptr;
  unsigned char compression = 0, direct_access = 0;
  unsigned short usage = 0;
  unsigned char reserved[4] = {};
};
struct MemoryAccess {  // CUmemAccessDesc
  struct {
    int type = 1;
    int id = 0;
  } location;
  int flags = 3;  // read and write
};

// name, symbol, parameters
#define PERFLAB_CUDA_FUNCTIONS(X)                                                                                 \
  X(init, cuInit, unsigned)                                                                                       \
  X(version, cuDriverGetVersion, int*)                                                                            \
  X(error_name, cuGetErrorName, Result, const char**)                                                             \
  X(error_text, cuGetErrorString, Result, const char**)                                                           \
  X(device_count, cuDeviceGetCount, int*)                                                                         \
  X(device, cuDeviceGet, int*, int)                                                                               \
  X(device_name, cuDeviceGetName, char*, int, int)                                                                \
  X(device_memory, cuDeviceTotalMem_v2, size_t*, int)                                                             \
  X(attribute, cuDeviceGetAttribute, int*, int, int)                                                              \
  X(retain_context, cuDevicePrimaryCtxRetain, Handle*, int)                                                       \
  X(set_context, cuCtxSetCurrent, Handle)                                                                         \
  X(synchronize, cuCtxSynchronize, void)                                                                          \
  X(priorities, cuCtxGetStreamPriorityRange, int*, int*)                                                          \
  X(memory_info, cuMemGetInfo_v2, size_t*, size_t*)                                                               \
  X(allocate, cuMemAlloc_v2, Address*, size_t)                                                                    \
  X(free, cuMemFree_v2, Address)                                                                                  \
  X(allocate_pinned, cuMemAllocHost_v2, void**, size_t)                                                           \
  X(free_pinned, cuMemFreeHost, void*)                                                                            \
  X(copy, cuMemcpyAsync, Address, Address, size_t, Handle)                                                        \
  X(fill, cuMemsetD8Async, Address, unsigned char, size_t, Handle)                                                \
  X(reserve, cuMemAddressReserve, Address*, size_t, size_t, Address, unsigned long long)                          \
  X(unreserve, cuMemAddressFree, Address, size_t)                                                                 \
  X(create_memory, cuMemCreate, unsigned long long*, size_t, const MemoryProperties*, unsigned long long)         \
  X(release_memory, cuMemRelease, unsigned long long)                                                             \
  X(map, cuMemMap, Address, size_t, size_t, unsigned long long, unsigned long long)                               \
  X(unmap, cuMemUnmap, Address, size_t)                                                                           \
  X(set_access, cuMemSetAccess, Address, size_t, const MemoryAccess*, size_t)                                     \
  X(granularity, cuMemGetAllocationGranularity, size_t*, const MemoryProperties*, int)                            \
  X(create_stream, cuStreamCreateWithPriority, Handle*, unsigned, int)                                            \
  X(stream_query, cuStreamQuery, Handle)                                                                          \
  X(stream_synchronize, cuStreamSynchronize, Handle)                                                              \
  X(stream_wait, cuStreamWaitEvent, Handle, Handle, unsigned)                                                     \
  X(create_event, cuEventCreate, Handle*, unsigned)                                                               \
  X(destroy_event, cuEventDestroy_v2, Handle)                                                                     \
  X(record_event, cuEventRecord, Handle, Handle)                                                                  \
  X(event_query, cuEventQuery, Handle)                                                                            \
  X(event_synchronize, cuEventSynchronize, Handle)                                                                \
  X(elapsed, cuEventElapsedTime, float*, Handle, Handle)                                                          \
  X(load_module, cuModuleLoadData, Handle*, const void*)                                                          \
  X(function, cuModuleGetFunction, Handle*, Handle, const char*)                                                  \
  X(launch, cuLaunchKernel, Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, \
    void**, void**)

struct Driver {
#define PERFLAB_CUDA_POINTER(name, symbol, ...) Result (*name)(__VA_ARGS__) = nullptr;
  PERFLAB_CUDA_FUNCTIONS(PERFLAB_CUDA_POINTER)
#undef PERFLAB_CUDA_POINTER
  int count = 0;  // devices
  int cuda = 0;   // the newest CUDA that it serves: 12040 is 12.4
};

// Opens the driver and starts it, once: a second call tells what the first did. Returns what is missing, or nothing.
// library: "libcuda.so.1", or one with the same functions.
const std::string& open_driver(const char* library);
const Driver& driver();  // throws Error(kDevice) when it is not open

void check(Result, const char* call);  // throws Error(kDevice) with the driver's words

}  // namespace perflab::cuda
