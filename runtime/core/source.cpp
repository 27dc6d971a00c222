#include "source.h"

#include <sys/mman.h>

#include <cstdint>

namespace perflab {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

class HostMemory final : public MemorySource {
 public:
  void* map(size_t bytes) noexcept override {
    void* wide = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (wide == MAP_FAILED) return nullptr;
    char* begin = static_cast<char*>(wide);
    size_t head = -reinterpret_cast<uintptr_t>(begin) % kHugePage;
    if (head) munmap(begin, head);
    begin += head;
    munmap(begin + bytes, kHugePage - head);
    if (bytes >= kHugePage) madvise(begin, bytes, MADV_HUGEPAGE);  // only advice: where refused, small pages do
    return begin;
  }
  void unmap(void* memory, size_t bytes) noexcept override { munmap(memory, bytes); }
};

}  // namespace

MemorySource& host_memory() {
  static HostMemory& source = *new HostMemory;  // never destroyed: threads may free after static destruction
  return source;
}

}  // namespace perflab
