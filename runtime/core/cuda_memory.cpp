#include "cuda_memory.h"

#include "cuda_device.h"
#include "error.h"

namespace perflab::cuda {
namespace {

Address address(void* p) { return reinterpret_cast<Address>(p); }

// The allocator asks and is told: what the driver refuses is no exception here.
template <class F, class R>
R quietly(R otherwise, F f) noexcept {
  try {
    return f();
  } catch (const Error&) {
    return otherwise;
  }
}

MemoryProperties memory_on(int device) {
  MemoryProperties p;
  p.location.id = device;
  return p;
}

}  // namespace

GpuMemory::GpuMemory(int device) : device_(device) {
  enter(device);
  const MemoryProperties p = memory_on(device);
  if (describe(device).virtual_memory && driver().granularity(&page_, &p, 0)) page_ = 0;
}

void* GpuMemory::map(size_t bytes) noexcept {
  return quietly(static_cast<void*>(nullptr), [&]() -> void* {
    enter(device_);
    Address p = 0;
    return driver().allocate(&p, bytes) ? nullptr : reinterpret_cast<void*>(p);
  });
}

void GpuMemory::unmap(void* memory, size_t) noexcept {
  quietly(0, [&] {
    enter(device_);
    return driver().free(address(memory));
  });
}

MemoryInfo GpuMemory::info() noexcept {
  return quietly(MemoryInfo{}, [&] {
    MemoryInfo i{};
    memory_info(device_, i.free, i.total);
    return i;
  });
}

StreamEvent GpuMemory::record_event(Stream stream) noexcept {
  return quietly(StreamEvent{0}, [&] {
    const StreamEvent event = new_event(device_, false);
    cuda::record_event(device_, event, stream);
    return event;
  });
}

bool GpuMemory::event_passed(StreamEvent event) noexcept {
  return !event || quietly(true, [&] { return cuda::event_passed(device_, event); });
}

void GpuMemory::wait_event(StreamEvent event) noexcept {
  quietly(0, [&] {
    if (event) synchronize_event(device_, event);
    return 0;
  });
}

void GpuMemory::drop_event(StreamEvent event) noexcept {
  if (event) cuda::drop_event(device_, event);
}

void* GpuMemory::reserve_range(size_t bytes) noexcept {
  return quietly(static_cast<void*>(nullptr), [&]() -> void* {
    enter(device_);
    Address p = 0;
    return driver().reserve(&p, bytes, 0, 0, 0) ? nullptr : reinterpret_cast<void*>(p);
  });
}

void GpuMemory::release_range(void* begin, size_t bytes) noexcept {
  quietly(0, [&] { return driver().unreserve(address(begin), bytes); });
}

// Page by page, so that any part can go again.
bool GpuMemory::map_at(void* at, size_t bytes) noexcept {
  return quietly(false, [&] {
    enter(device_);
    const MemoryProperties p = memory_on(device_);
    MemoryAccess access;
    access.location.id = device_;
    size_t done = 0;
    for (; done < bytes; done += page_) {
      unsigned long long memory = 0;
      if (driver().create_memory(&memory, page_, &p, 0)) break;
      const Result mapped = driver().map(address(at) + done, page_, 0, memory, 0);
      driver().release_memory(memory);  // it lives as long as it is mapped
      if (mapped) break;
    }
    if (done == bytes && !driver().set_access(address(at), bytes, &access, 1)) return true;
    unmap_at(at, done);
    return false;
  });
}

void GpuMemory::unmap_at(void* at, size_t bytes) noexcept {
  quietly(0, [&] {
    enter(device_);
    for (size_t done = 0; done < bytes; done += page_) driver().unmap(address(at) + done, page_);
    return 0;
  });
}

}  // namespace perflab::cuda
