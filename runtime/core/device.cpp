#include "device.h"

#include <span>

#include "recorder.h"

namespace perflab {

void (*wait_without_gil)(void (*)(void*), void*) = nullptr;

namespace {
Device* table[kMostDevices] = {};
std::atomic<int> count{1};
}  // namespace

int add_device(std::unique_ptr<Device> made) {
  const int number = count.load(std::memory_order_relaxed);
  if (number == kMostDevices)
    throw Error(ErrorKind::kDevice, "there are " + std::to_string(kMostDevices - 1) + " devices already");
  made->number_ = number;
  table[number] = made.release();
  count.store(number + 1, std::memory_order_release);
  return number;
}

Device& device(int number) { return *table[number]; }
int device_count() { return count.load(std::memory_order_acquire); }
std::string device_name(int number) { return number ? device(number).name() : "cpu"; }

void give_back_on_device(Storage* s) {
  Device& d = device(s->device);
  d.allocated_.fetch_sub(static_cast<int64_t>(s->bytes), std::memory_order_relaxed);
  record_memory(EventKind::kFree, s);
  d.deallocate(s->data, s->bytes, s->stream);
}

Storage* make_storage_on(int number, size_t bytes) {
  Device& d = device(number);
  const Stream stream = d.current_stream();
  void* memory = d.allocate(bytes, stream);
  Storage* s;
  try {
    s = adopt_storage(memory, bytes, nullptr, give_back_on_device);
  } catch (...) {
    d.deallocate(memory, bytes, stream);
    throw;
  }
  s->stream = stream, s->device = static_cast<uint8_t>(number);
  d.allocated_.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  record_memory(EventKind::kAlloc, s);
  return s;
}

void fill_storage_on(int number, Array& a) {
  if (!number) return a.fill_storage();
  if (a.numel > kMaxElements) refuse_size(a);
  a.device = static_cast<uint8_t>(number);
  a.storage = make_storage_on(number, a.bytes()), a.data = a.storage->data;
}

}  // namespace perflab
