#include "sim_source.h"

#include <sys/mman.h>

#include <string>

#include "sim.h"

namespace perflab {
namespace {

constexpr size_t kRange = size_t{1} << 40;  // of addresses, for each device; the pages come when they are touched
constexpr uintptr_t kFirst = uintptr_t{0x2000} << 32;
constexpr size_t kPage = size_t{2} << 20;
constexpr size_t kCapacity = size_t{16} << 30;  // unless set

SimMark& mark_of(StreamEvent e) { return **reinterpret_cast<std::shared_ptr<SimMark>*>(e); }

}  // namespace

SimSource::SimSource(int index) : CountedMemory(kCapacity, kPage) {
  auto* wanted = reinterpret_cast<void*>(kFirst + static_cast<uintptr_t>(index) * kRange);
  void* range = mmap(wanted, kRange, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) throw Error(ErrorKind::kDevice, "the system has no addresses for a simulated device");
  begin_ = static_cast<char*>(range);
}

SimSource::~SimSource() { munmap(begin_, kRange); }

void SimSource::set_capacity(size_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes > kRange / 2) throw Error(ErrorKind::kValue, "a simulated device has at most 512 GiB");
  if (bytes < used_)
    throw Error(ErrorKind::kValue, std::to_string(used_) + " bytes of the device are used or cached: a capacity of " +
                                       std::to_string(bytes) + " is too little");
  capacity_ = bytes;
}

void* SimSource::take_range(size_t bytes) noexcept {
  char* at = begin_;
  for (auto [begin, size] : ranges_) {
    if (static_cast<size_t>(begin - at) >= bytes) break;
    at = begin + (size + kPage - 1) / kPage * kPage;
  }
  if (bytes > static_cast<size_t>(begin_ + kRange - at)) return nullptr;
  ranges_.emplace(at, bytes);
  return at;
}

void SimSource::unmap(void* memory, size_t bytes) noexcept {
  device_->barrier();
  CountedMemory::unmap(memory, bytes);
}

void SimSource::unmap_at(void* at, size_t bytes) noexcept {
  device_->barrier();
  CountedMemory::unmap_at(at, bytes);
}

StreamEvent SimSource::record_event(Stream s) noexcept {
  return reinterpret_cast<StreamEvent>(new std::shared_ptr<SimMark>(device_->mark(s)));
}
// In modelled time it is passed when the model says so, and what comes next waits for the thread that is behind.
bool SimSource::event_passed(StreamEvent e) noexcept {
  const SimMark& m = mark_of(e);
  if (!sim_clock().is_on()) return SimDevice::has_passed(m);
  if (m.time > sim_clock().now()) return false;
  if (!SimDevice::has_passed(m)) device_->barrier();
  return true;
}
void SimSource::wait_event(StreamEvent e) noexcept {
  wait_freely([&] { mark_of(e).stream->wait(mark_of(e).place); });
}
void SimSource::drop_event(StreamEvent e) noexcept { delete reinterpret_cast<std::shared_ptr<SimMark>*>(e); }

}  // namespace perflab
