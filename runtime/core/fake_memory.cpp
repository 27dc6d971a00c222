#include "fake_memory.h"

#include <algorithm>
#include <utility>

namespace perflab {

void* FakeMemory::take_range(size_t bytes) noexcept {
  return reinterpret_cast<void*>(std::exchange(next_address_, next_address_ + bytes + page_));
}

StreamEvent FakeMemory::record_event(Stream stream) noexcept {
  std::lock_guard lock(mutex_);
  events_[++last_event_] = {stream, ++streams_[stream].recorded};
  return last_event_;
}

bool FakeMemory::passed(StreamEvent event) const {
  const Recorded& e = events_.at(event);
  return e.place <= streams_.at(e.stream).done;
}

bool FakeMemory::event_passed(StreamEvent event) noexcept {
  std::lock_guard lock(mutex_);
  return passed(event);
}

void FakeMemory::wait_event(StreamEvent event) noexcept {
  std::lock_guard lock(mutex_);
  const Recorded& e = events_.at(event);
  uint64_t& done = streams_.at(e.stream).done;
  done = std::max(done, e.place);
}

void FakeMemory::drop_event(StreamEvent event) noexcept {
  std::lock_guard lock(mutex_);
  events_.erase(event);
}

void FakeMemory::finish(Stream stream) {
  std::lock_guard lock(mutex_);
  Progress& p = streams_[stream];
  p.done = p.recorded;
}

size_t FakeMemory::events() {
  std::lock_guard lock(mutex_);
  return events_.size();
}

}  // namespace perflab
