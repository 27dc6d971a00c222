#include "sim_source.h"

#include <sys/mman.h>

#include <cstdint>

#include "error.h"

namespace perflab {
namespace {

constexpr size_t kRange = size_t{1} << 40;  // of addresses, for each device; the pages come when they are touched
constexpr uintptr_t kFirst = uintptr_t{0x2000} << 32;
constexpr size_t kAlign = size_t{2} << 20;

}  // namespace

SimSource::SimSource(int index, size_t capacity, std::function<void()> going) : going_(std::move(going)), capacity_(0) {
  auto* wanted = reinterpret_cast<void*>(kFirst + static_cast<uintptr_t>(index) * kRange);  // NOLINT
  void* range = mmap(wanted, kRange, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) throw Error(ErrorKind::kDevice, "the system gives no addresses for a simulated device");
  begin_ = static_cast<char*>(range);
  set_capacity(capacity);
}

SimSource::~SimSource() { munmap(begin_, kRange); }

void* SimSource::map(size_t bytes) noexcept {
  std::lock_guard lock(mutex_);
  if (bytes > capacity_ - mapped_) return nullptr;
  char* at = begin_;
  for (auto [begin, size] : used_) {
    if (static_cast<size_t>(begin - at) >= bytes) break;
    at = begin + (size + kAlign - 1) / kAlign * kAlign;
  }
  if (bytes > static_cast<size_t>(begin_ + kRange - at)) return nullptr;
  used_.emplace(at, bytes);
  mapped_ += bytes, ++maps_;
  return at;
}

void SimSource::unmap(void* memory, size_t bytes) noexcept {
  going_();
  std::lock_guard lock(mutex_);
  used_.erase(static_cast<char*>(memory));
  mapped_ -= bytes;
}

void SimSource::set_capacity(size_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes > kRange / 2) throw Error(ErrorKind::kValue, "a simulated device has at most 512 GiB");
  if (bytes < mapped_)
    throw Error(ErrorKind::kValue, std::to_string(mapped_) +
                                       " bytes of the device are in use or cached: a capacity of " +
                                       std::to_string(bytes) + " is too little");
  capacity_ = bytes;
}

size_t SimSource::mapped() {
  std::lock_guard lock(mutex_);
  return mapped_;
}

size_t SimSource::maps() {
  std::lock_guard lock(mutex_);
  return maps_;
}

}  // namespace perflab
