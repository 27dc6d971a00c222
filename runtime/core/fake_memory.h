// Addresses with no memory behind them, and streams that go on when they are told to: allocators decide over it as over
// a device's memory. Histories are replayed on it, and tests see what no device shows.
#pragma once
#include <mutex>
#include <unordered_map>

#include "source.h"

namespace perflab {

class FakeMemory final : public MemorySource {
 public:
  explicit FakeMemory(size_t capacity, size_t page_bytes = size_t{2} << 20) : capacity_(capacity), page_(page_bytes) {}

  void* map(size_t bytes) noexcept override;
  void unmap(void* memory, size_t bytes) noexcept override;
  MemoryInfo info() noexcept override;
  StreamEvent record_event(Stream) noexcept override;
  bool event_passed(StreamEvent) noexcept override;
  void wait_event(StreamEvent) noexcept override;
  void drop_event(StreamEvent) noexcept override;
  size_t page_bytes() noexcept override { return page_; }
  void* reserve_range(size_t bytes) noexcept override;
  void release_range(void*, size_t) noexcept override {}
  bool map_at(void* at, size_t bytes) noexcept override;
  void unmap_at(void* at, size_t bytes) noexcept override;

  void finish(Stream);  // all that is on it now is done
  size_t used();        // mapped now
  size_t events();      // recorded and not dropped

 private:
  bool take(size_t bytes);
  bool passed(StreamEvent) const;

  struct Recorded {
    Stream stream;
    uint64_t place;
  };
  struct Progress {
    uint64_t recorded = 0, done = 0;
  };

  std::mutex mutex_;
  const size_t capacity_, page_;
  size_t used_ = 0;
  uintptr_t next_address_ = uintptr_t{1} << 40;
  StreamEvent last_event_ = 0;
  std::unordered_map<StreamEvent, Recorded> events_;
  std::unordered_map<Stream, Progress> streams_;
};

}  // namespace perflab
