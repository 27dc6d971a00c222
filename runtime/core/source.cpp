#include "source.h"

#include <sys/mman.h>
#include <unistd.h>

#include "poison.h"

namespace perflab {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

class HostMemory final : public MemorySource {
 public:
  void* map(size_t bytes) noexcept override {
    void* begin = aligned(bytes, PROT_READ | PROT_WRITE, 0);
    if (begin) advise(begin, bytes);
    return begin;
  }
  void unmap(void* memory, size_t bytes) noexcept override {
    unpoison(memory, bytes);
    munmap(memory, bytes);
  }
  MemoryInfo info() noexcept override {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return {page * static_cast<size_t>(sysconf(_SC_AVPHYS_PAGES)), page * static_cast<size_t>(sysconf(_SC_PHYS_PAGES))};
  }

  size_t page_bytes() noexcept override { return kHugePage; }
  void* reserve_range(size_t bytes) noexcept override { return aligned(bytes, PROT_NONE, MAP_NORESERVE); }
  void release_range(void* begin, size_t bytes) noexcept override { munmap(begin, bytes); }
  bool map_at(void* at, size_t bytes) noexcept override {
    if (mprotect(at, bytes, PROT_READ | PROT_WRITE) != 0) return false;
    advise(at, bytes);
    return true;
  }
  void unmap_at(void* at, size_t bytes) noexcept override {  // a fresh mapping in its place: the pages go back at once
    unpoison(at, bytes);
    mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  }

 private:
  static void* aligned(size_t bytes, int protection, int flags) {
    void* wide = mmap(nullptr, bytes + kHugePage, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (wide == MAP_FAILED) return nullptr;
    char* begin = static_cast<char*>(wide);
    size_t head = -reinterpret_cast<uintptr_t>(begin) % kHugePage;
    if (head) munmap(begin, head);
    begin += head;
    munmap(begin + bytes, kHugePage - head);
    return begin;
  }
  static void advise(void* begin, size_t bytes) {
    if (bytes >= kHugePage) madvise(begin, bytes, MADV_HUGEPAGE);  // only advice: where refused, small pages do
  }
};

}  // namespace

MemorySource& host_memory() {
  static HostMemory& source = *new HostMemory;  // never destroyed: threads may free after static destruction
  return source;
}

}  // namespace perflab
