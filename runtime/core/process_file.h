// The files into which the recorder of a forked child writes. Its parent reads them (profiler/family.py), also while
// the child runs and when it was killed: what was recorded is in the system's memory, not in the child's.
//
// PID-TICK.events: a page of header, then chunks of 2 MiB of events as in event.h, each of one thread.
//
//   0       8         16    20       24
//   | magic | dropped | pid | chunks | thread of each chunk, 4 bytes |
//
// PID-TICK.log: what the numbers in events mean, record after record: kind, 4 bytes of length, content.
//
//   't' the next text, in UTF-8; 's' the next shapes, words of 64 bits as in shapes.cpp; 'n' a name, in JSON
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace perflab {

class ProcessFile {
 public:
  explicit ProcessFile(const std::string& folder);  // throws Error where the files cannot be made
  ~ProcessFile();
  ProcessFile(const ProcessFile&) = delete;

  // Memory of the next chunk, zeroed; null where there is no more room. One caller at a time.
  void* map_chunk(uint32_t thread, size_t bytes) noexcept;
  void count_dropped() noexcept { header_->dropped.fetch_add(1, std::memory_order_relaxed); }
  void log(char kind, const void* content, size_t bytes) noexcept;

 private:
  static constexpr size_t kHeaderBytes = 4096;
  static constexpr uint32_t kMostChunks = (kHeaderBytes - 24) / sizeof(uint32_t);
  struct Header {
    char magic[8];
    std::atomic<uint64_t> dropped;
    uint32_t pid;
    std::atomic<uint32_t> chunks;
    uint32_t threads[kMostChunks];
  };
  static_assert(sizeof(Header) == kHeaderBytes);

  Header* header_;
  int events_, log_;
};

}  // namespace perflab
