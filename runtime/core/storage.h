// Storage: counted memory behind arrays, with the version counter that its views share.
#pragma once
#include <cstdint>

#include "counted.h"
#include "source.h"

namespace perflab {

struct Block;
enum class EventKind : uint16_t;

struct alignas(64) Storage {  // where the memory is ours, it follows this header in the same block
  std::atomic<uint32_t> refs{1}, version{0};
  size_t bytes;  // of the memory, as asked for
  void* data;
  void* owner = nullptr;                  // somebody else's memory (a numpy array's): who keeps it
  void (*give_back)(Storage*) = nullptr;  // null: it lies in this block. Called on any thread, with or without the GIL
  Block* block = nullptr;                 // of a caching allocator; null: a small one of the host
  Stream stream = 0;                      // that it was allocated for, and what work on it follows
  uint8_t device = 0;
  uint8_t pinned = 0;                 // of the CPU, by the device of this number; 0: it is not
  std::atomic<uint32_t> saved_in{0};  // the recording that was told that a node keeps it
};
static_assert(sizeof(Storage) == 64);

// Records an alloc event when the recorder is on, unless the caller's op event says it (`quiet`).
Storage* make_storage(size_t bytes, bool quiet = false);
Storage* adopt_storage(void* data, size_t bytes, void* owner, void (*give_back)(Storage*));
Storage* make_storage_on(int device, size_t bytes);  // not 0
void destroy(Storage*) noexcept;
void record_memory(EventKind, const Storage*);  // kAlloc or kFree, when the recorder is on
int64_t live_storage_bytes();                   // memory of ours that storages hold now

}  // namespace perflab
