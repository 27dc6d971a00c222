// Addresses with no memory behind them, and streams that go on when they are told to: allocators decide over it as over
// a device's memory. Histories are replayed on it, and tests see what no device shows.
#pragma once
#include <unordered_map>

#include "counted_memory.h"

namespace perflab {

class FakeMemory final : public CountedMemory {
 public:
  explicit FakeMemory(size_t capacity, size_t page_bytes = size_t{2} << 20) : CountedMemory(capacity, page_bytes) {}

  StreamEvent record_event(Stream) noexcept override;
  bool event_passed(StreamEvent) noexcept override;
  void wait_event(StreamEvent) noexcept override;
  void drop_event(StreamEvent) noexcept override;

  void finish(Stream);  // all that is on it now is done
  size_t events();      // recorded and not dropped

 private:
  void* take_range(size_t bytes) noexcept override;
  bool passed(StreamEvent) const;

  struct Recorded {
    Stream stream;
    uint64_t place;
  };
  struct Progress {
    uint64_t recorded = 0, done = 0;
  };

  uintptr_t next_address_ = uintptr_t{1} << 40;
  StreamEvent last_event_ = 0;
  std::unordered_map<StreamEvent, Recorded> events_;
  std::unordered_map<Stream, Progress> streams_;
};

}  // namespace perflab
