#include "device.h"

#include <algorithm>

#include "caching_allocator.h"
#include "fork.h"
#include "recorder.h"

namespace perflab {

void (*wait_without_gil)(void (*)(void*), void*) = nullptr;

namespace {

Device* table[kMostDevices] = {};
std::atomic<int> count{1};

AllocatorOptions options() {
  AllocatorOptions o = allocator_options;
  o.threads_keep_blocks = true;
  return o;
}

}  // namespace

Device::Device(std::string name, std::unique_ptr<MemorySource> source)
    : name_(std::move(name)),
      number_(device_count()),
      source_(std::move(source)),
      allocator_(std::make_unique<CachingAllocator>(*source_, number_, options())) {
  if (number_ == kMostDevices)
    throw Error(ErrorKind::kDevice, "there are " + std::to_string(kMostDevices - 1) + " devices already");
  hold_across_fork(allocator_->mutex());  // before what the source locks while the allocator asks it
}

Device::~Device() = default;

void add_device(std::unique_ptr<Device> made) {
  const int number = made->number();
  table[number] = made.release();
  count.store(number + 1, std::memory_order_release);
}

Device& device(int number) { return *table[number]; }
int device_count() { return count.load(std::memory_order_acquire); }
std::string device_name(int number) { return number ? device(number).name() : "cpu"; }

namespace {

void give_back_on_device(Storage* s) {
  record_memory(EventKind::kFree, s);
  device(s->device).allocator().deallocate(s->block);
}

}  // namespace

Storage* make_storage_on(int number, size_t bytes) {
  Device& d = device(number);
  const Stream stream = d.current_stream();
  Block* block = d.allocator().allocate(bytes, stream, current_pool[number], current_owner());
  Storage* s;
  try {
    s = adopt_storage(block->address, bytes, nullptr, give_back_on_device);
  } catch (...) {
    d.allocator().deallocate(block);
    throw;
  }
  s->block = block, s->stream = stream, s->device = static_cast<uint8_t>(number);
  record_memory(EventKind::kAlloc, s);
  return s;
}

void await_on(Stream stream, const Array& a) {
  if (!a.storage || a.storage->stream == stream) return;
  Device& d = device(a.device);
  d.wait(stream, a.storage->stream);
  d.allocator().record_stream(a.storage->block, stream);
}

void fill_storage_on(int number, Array& a) {
  if (!number) return a.fill_storage();
  if (a.numel > kMaxElements) refuse_size(a);
  a.device = static_cast<uint8_t>(number);
  a.storage = make_storage_on(number, a.bytes()), a.data = a.storage->data;
}

}  // namespace perflab
