#include "process_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "clock.h"
#include "error.h"

namespace perflab {
namespace {

constexpr char kMagic[8] = {'p', 'e', 'r', 'f', 'l', 'a', 'b', '1'};

void* map(int file, size_t offset, size_t bytes) noexcept {
  // reserved at once: a disk that is full is told here, and not by a signal when the memory is written
  if (int error = posix_fallocate(file, static_cast<off_t>(offset), static_cast<off_t>(bytes))) {
    errno = error;
    return nullptr;
  }
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(offset));
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

ProcessFile::ProcessFile(const std::string& folder) {
  // the system gives numbers of processes that have ended to others
  const std::string path = folder + "/" + std::to_string(getpid()) + "-" + std::to_string(ticks());
  events_ = open((path + ".events").c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  log_ = open((path + ".log").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
  header_ = events_ < 0 || log_ < 0 ? nullptr : static_cast<Header*>(map(events_, 0, kHeaderBytes));
  if (!header_) {
    const std::string why = std::strerror(errno);
    if (events_ >= 0) close(events_);
    if (log_ >= 0) close(log_);
    throw Error(ErrorKind::kValue, path + ": the recorder's file cannot be made: " + why);
  }
  header_->pid = static_cast<uint32_t>(getpid());
  std::memcpy(header_->magic, kMagic, sizeof kMagic);
}

ProcessFile::~ProcessFile() {
  munmap(header_, kHeaderBytes);
  close(events_), close(log_);
}

void* ProcessFile::map_chunk(uint32_t thread, size_t bytes) noexcept {
  const uint32_t number = header_->chunks.load(std::memory_order_relaxed);
  if (number == kMostChunks) return nullptr;
  void* memory = map(events_, kHeaderBytes + number * bytes, bytes);
  if (!memory) return nullptr;
  header_->threads[number] = thread;
  header_->chunks.store(number + 1, std::memory_order_release);
  return memory;
}

void ProcessFile::log(char kind, const void* content, size_t bytes) noexcept {
  auto length = static_cast<uint32_t>(bytes);
  const iovec parts[] = {{&kind, 1}, {&length, sizeof length}, {const_cast<void*>(content), bytes}};
  [[maybe_unused]] ssize_t written = writev(log_, parts, 3);  // a log that is cut short is read up to there
}

}  // namespace perflab
