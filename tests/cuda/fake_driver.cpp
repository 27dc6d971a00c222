// A CUDA driver without a GPU: the functions of core/cuda_driver.h over host memory. Work on a stream is put off until
// somebody waits for it, so that a caller that does not wait is found out; new memory is filled with rubbish. A module
// is the path of a library made with shim.h, whose kernels it runs. And as much of cuBLAS as core/cuda_blas.cpp calls.
#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "half.h"
#include "shim_kernel.h"

namespace {

enum { kInvalidValue = 1, kOutOfMemory = 2, kNoDevice = 100, kInvalidHandle = 400, kNotFound = 500, kNotReady = 600 };
constexpr int kDevices = 2;

struct Stream;
struct Event {
  Stream* stream = nullptr;
  uint64_t place = 0;  // of what the stream had been given
  double ms = 0;
};
struct Stream {
  std::deque<std::function<void()>> work;
  uint64_t given = 0, done = 0;
  void run_to(uint64_t place) {
    while (done < place && !work.empty()) {
      auto next = std::move(work.front());
      work.pop_front();
      next();
      ++done;
    }
  }
};

std::recursive_mutex mutex;
int count = kDevices, current = -1;
size_t capacity = size_t{256} << 20, used[kDevices];
std::map<uint64_t, std::pair<int, size_t>> blocks;  // by address: device, bytes
std::map<void*, size_t> pinned;
std::map<uint64_t, std::pair<int, size_t>> physical;  // by handle
std::map<uint64_t, size_t> mapped;
Stream defaults[kDevices];
std::vector<Stream*> streams;
uint64_t next_handle = 1;
double clock_ms = 0;  // one for each piece of work
std::map<std::string, long long> calls;

Stream& at(void* stream) { return stream ? *static_cast<Stream*>(stream) : defaults[current]; }
void give(void* stream, std::function<void()> f) {
  Stream& s = at(stream);
  s.work.push_back([f] {
    f();
    clock_ms += 1;
  });
  ++s.given;
}
void run_all() {
  for (Stream& s : defaults) s.run_to(s.given);
  for (Stream* s : streams) s->run_to(s->given);
}
bool on_device(uint64_t p) {
  auto inside = [p](const auto& table, auto bytes) {
    auto it = table.upper_bound(p);
    return it != table.begin() && (--it, p < it->first + bytes(it->second));
  };
  return inside(blocks, [](const auto& b) { return b.second; }) || inside(mapped, [](size_t n) { return n; });
}
bool is_pinned(uint64_t p) {
  for (auto [begin, bytes] : pinned)
    if (p >= reinterpret_cast<uint64_t>(begin) && p < reinterpret_cast<uint64_t>(begin) + bytes) return true;
  return false;
}

}  // namespace

#define CALL(name, ...)              \
  extern "C" int name(__VA_ARGS__) { \
    std::scoped_lock lock(mutex);    \
    ++calls[#name];
#define END \
  return 0; \
  }

// --- for the tests
extern "C" void fake_set(const char* what, long long value) {
  std::scoped_lock lock(mutex);
  if (!std::strcmp(what, "capacity")) capacity = static_cast<size_t>(value);
  if (!std::strcmp(what, "devices")) count = static_cast<int>(value);
}
extern "C" long long fake_calls(const char* name) {
  std::scoped_lock lock(mutex);
  return calls[name];
}
extern "C" long long fake_pending() {
  std::scoped_lock lock(mutex);
  long long n = 0;
  for (Stream& s : defaults) n += static_cast<long long>(s.work.size());
  for (Stream* s : streams) n += static_cast<long long>(s->work.size());
  return n;
}
extern "C" long long fake_used(int device) { return static_cast<long long>(used[device]); }

// --- the driver
CALL(cuInit, unsigned) {
  if (const char* n = std::getenv("FAKE_CUDA_DEVICES")) count = std::atoi(n);
  if (count < 0) return kNoDevice;
}
END CALL(cuDriverGetVersion, int* v) { *v = 12090; }
END CALL(cuGetErrorName, int e, const char** to) {
  *to = e == kOutOfMemory    ? "CUDA_ERROR_OUT_OF_MEMORY"
        : e == kNoDevice     ? "CUDA_ERROR_NO_DEVICE"
        : e == kInvalidValue ? "CUDA_ERROR_INVALID_VALUE"
        : e == kNotFound     ? "CUDA_ERROR_NOT_FOUND"
                             : "CUDA_ERROR_UNKNOWN";
}
END CALL(cuGetErrorString, int e, const char** to) {
  *to = e == kNoDevice ? "no CUDA-capable device is detected" : "it was made so";
}
END CALL(cuDeviceGetCount, int* n) { *n = count; }
END CALL(cuDeviceGet, int* d, int i) { *d = i; }
END CALL(cuDeviceGetName, char* to, int n, int d) { std::strncpy(to, d ? "Fake GPU 1" : "Fake GPU 0", n); }
END CALL(cuDeviceTotalMem_v2, size_t* n, int) { *n = capacity; }
END CALL(cuDeviceGetAttribute, int* to, int what, int) { *to = what == 75 ? 9 : what == 76 ? 0 : what == 16 ? 4 : 1; }
END CALL(cuDevicePrimaryCtxRetain, void** to, int d) { *to = reinterpret_cast<void*>(static_cast<uintptr_t>(d + 1)); }
END CALL(cuCtxSetCurrent, void* c) { current = static_cast<int>(reinterpret_cast<uintptr_t>(c)) - 1; }
END CALL(cuCtxSynchronize, void) { run_all(); }
END CALL(cuCtxGetStreamPriorityRange, int* least, int* greatest) { *least = 0, *greatest = -5; }
END CALL(cuMemGetInfo_v2, size_t* free, size_t* total) { *free = capacity - used[current], *total = capacity; }
END CALL(cuMemAlloc_v2, uint64_t* to, size_t n) {
  if (!n) return kInvalidValue;
  if (used[current] + n > capacity) return kOutOfMemory;
  void* p = std::aligned_alloc(512, (n + 511) & ~size_t{511});
  std::memset(p, 0xcd, n);
  used[current] += n;
  blocks[*to = reinterpret_cast<uint64_t>(p)] = {current, n};
}
END CALL(cuMemFree_v2, uint64_t p) {
  auto it = blocks.find(p);
  if (it == blocks.end()) return kInvalidValue;
  run_all();  // freeing waits for the device
  used[it->second.first] -= it->second.second;
  std::memset(reinterpret_cast<void*>(p), 0xdd, it->second.second);
  std::free(reinterpret_cast<void*>(p));
  blocks.erase(it);
}
END CALL(cuMemAllocHost_v2, void** to, size_t n) {
  pinned[*to = std::aligned_alloc(4096, (n + 4095) & ~size_t{4095})] = n;
}
END CALL(cuMemFreeHost, void* p) {
  if (!pinned.erase(p)) return kInvalidValue;
  run_all();
  std::free(p);
}
END CALL(cuMemcpyAsync, uint64_t to, uint64_t from, size_t n, void* stream) {
  void* target = reinterpret_cast<void*>(to);
  const void* source = reinterpret_cast<const void*>(from);
  if (!on_device(from) && !is_pinned(from)) {  // pageable: read now
    std::vector<char> now(static_cast<const char*>(source), static_cast<const char*>(source) + n);
    give(stream, [=] { std::memcpy(target, now.data(), n); });
  } else {
    give(stream, [=] { std::memcpy(target, source, n); });
  }
  if (!on_device(to) && !is_pinned(to)) at(stream).run_to(at(stream).given);  // pageable: written when it returns
}
END CALL(cuMemsetD8Async, uint64_t to, unsigned char c, size_t n, void* stream) {
  give(stream, [=] { std::memset(reinterpret_cast<void*>(to), c, n); });
}
END

// Virtual memory: pages that are there or not.
CALL(cuMemGetAllocationGranularity, size_t* n, const void*, int) {
  *n = size_t{2} << 20;
}
END CALL(cuMemAddressReserve, uint64_t* to, size_t n, size_t, uint64_t, unsigned long long) {
  void* p = mmap(nullptr, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return kOutOfMemory;
  *to = reinterpret_cast<uint64_t>(p);
}
END CALL(cuMemAddressFree, uint64_t p, size_t n) { munmap(reinterpret_cast<void*>(p), n); }
END CALL(cuMemCreate, unsigned long long* to, size_t n, const void*, unsigned long long) {
  if (used[current] + n > capacity) return kOutOfMemory;
  used[current] += n;
  physical[*to = next_handle++] = {current, n};
}
END CALL(cuMemRelease, unsigned long long) {}
END  // it goes with its mapping
CALL(cuMemMap, uint64_t p, size_t n, size_t, unsigned long long handle, unsigned long long) {
  if (!physical.count(handle)) return kInvalidValue;
  mprotect(reinterpret_cast<void*>(p), n, PROT_READ | PROT_WRITE);
  mapped[p] = n;
}
END CALL(cuMemUnmap, uint64_t p, size_t n) {
  run_all();
  madvise(reinterpret_cast<void*>(p), n, MADV_DONTNEED);
  mprotect(reinterpret_cast<void*>(p), n, PROT_NONE);
  for (auto it = mapped.lower_bound(p); it != mapped.end() && it->first < p + n; it = mapped.erase(it))
    used[current] -= it->second;
}
END CALL(cuMemSetAccess, uint64_t, size_t, const void*, size_t) {}
END

CALL(cuStreamCreateWithPriority, void** to, unsigned, int) {
  *to = streams.emplace_back(new Stream);
}
END CALL(cuStreamQuery, void* s) { return at(s).work.empty() ? 0 : kNotReady; }
END CALL(cuStreamSynchronize, void* s) { at(s).run_to(at(s).given); }
END CALL(cuStreamWaitEvent, void* s, void* e, unsigned) {
  const Event event = *static_cast<Event*>(e);
  if (event.stream && event.stream != &at(s)) give(s, [event] { event.stream->run_to(event.place); });
}
END CALL(cuEventCreate, void** to, unsigned) { *to = new Event; }
END CALL(cuEventDestroy_v2, void*) {}
END  // work may still speak of it
CALL(cuEventRecord, void* e, void* s) {
  auto* event = static_cast<Event*>(e);
  Stream& stream = at(s);
  give(s, [event] { event->ms = clock_ms; });
  event->stream = &stream, event->place = stream.given;
}
END CALL(cuEventQuery, void* e) {
  auto* event = static_cast<Event*>(e);
  return !event->stream || event->stream->done >= event->place ? 0 : kNotReady;
}
END CALL(cuEventSynchronize, void* e) {
  auto* event = static_cast<Event*>(e);
  if (event->stream) event->stream->run_to(event->place);
}
END CALL(cuEventElapsedTime, float* ms, void* a, void* b) {
  auto *begin = static_cast<Event*>(a), *end = static_cast<Event*>(b);
  for (Event* e : {begin, end})
    if (!e->stream || e->stream->done < e->place) return kNotReady;
  *ms = static_cast<float>(end->ms - begin->ms);
}
END

CALL(cuModuleLoadData, void** to, const void* image) {
  *to = dlopen(static_cast<const char*>(image), RTLD_NOW | RTLD_LOCAL);
  if (!*to) return kInvalidValue;
}
END CALL(cuModuleGetFunction, void** to, void* module, const char* name) {
  *to = dlsym(module, name);
  if (!*to) return kNotFound;
}
END CALL(cuLaunchKernel, void* f, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz, unsigned,
         void* stream, void** parameters, void**) {
  if (!x || !y || !z || !bx || bx * by * bz > 1024) return kInvalidValue;
  const auto* kernel = static_cast<const ShimKernel*>(f);
  std::vector<char> copy(kernel->parameter_bytes);
  std::memcpy(copy.data(), parameters[0], copy.size());
  give(stream, [=, copy = std::move(copy)] { kernel->run(copy.data(), x, bx); });
}
END

// --- cuBLAS: a handle is the stream that it was given
namespace {

template <class T>
double element(const void* p, long long i) {
  return static_cast<double>(static_cast<const T*>(p)[i]);
}
double read(int type, const void* p, long long i) {
  return type == 1   ? element<double>(p, i)
         : type == 2 ? static_cast<float>(static_cast<const perflab::Float16*>(p)[i])
         : type == 0 ? element<float>(p, i)
                     : static_cast<float>(static_cast<const perflab::BFloat16*>(p)[i]);
}
void write(int type, void* p, long long i, double x) {
  if (type == 1) static_cast<double*>(p)[i] = x;
  if (type == 0) static_cast<float*>(p)[i] = static_cast<float>(x);
  if (type == 2) static_cast<perflab::Float16*>(p)[i] = perflab::Float16(static_cast<float>(x));
  if (type == 14) static_cast<perflab::BFloat16*>(p)[i] = perflab::BFloat16(static_cast<float>(x));
}

}  // namespace

CALL(cublasCreate_v2, void*** to) { *to = new void*(nullptr); }
END CALL(cublasSetStream_v2, void** handle, void* stream) { *handle = stream; }
END CALL(cublasGemmStridedBatchedEx, void** handle, int op_a, int op_b, int m, int n, int k, const void* alpha,
         const void* a, int a_type, int lda, long long a_step, const void* b, int b_type, int ldb, long long b_step,
         const void* beta, void* c, int c_type, int ldc, long long c_step, int count, int compute, int) {
  ++calls["compute " + std::to_string(compute)];
  if (lda < (op_a ? k : m) || ldb < (op_b ? n : k) || ldc < m || a_type != b_type || b_type != c_type) return 7;
  const double by = read(compute == 70, alpha, 0), keep = read(compute == 70, beta, 0);
  if (by != 1 || keep != 0) return 7;
  give(*handle, [=] {
    for (long long at = 0; at < count; ++at)
      for (long long i = 0; i < m; ++i)
        for (long long j = 0; j < n; ++j) {
          double sum = 0;
          for (long long l = 0; l < k; ++l)
            sum += read(a_type, a, at * a_step + (op_a ? i * lda + l : l * lda + i)) *
                   read(b_type, b, at * b_step + (op_b ? l * ldb + j : j * ldb + l));
          write(c_type, c, at * c_step + j * ldc + i, sum);
        }
  });
}
END
