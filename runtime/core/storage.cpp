#include "storage.h"

#include <new>

#include "allocator.h"
#include "block.h"
#include "call_stack.h"
#include "device.h"
#include "live_bytes.h"
#include "memory_use.h"
#include "recorder.h"
#include "size_classes.h"
#include "stamp.h"

namespace perflab {
namespace {

constinit LiveBytes in_use;
constinit thread_local LiveBytes::Cell* mine = nullptr;

LiveBytes::Cell& cell() {
  if (!mine) [[unlikely]]
    mine = in_use.make_cell();
  return *mine;
}

}  // namespace

LiveBytes& host_bytes() { return in_use; }

void record_memory(EventKind kind, const Storage* s) {
  if (!is_recording()) return;
  const int64_t now = kind == EventKind::kFree ? last_stamp() : stamp_alone();
  Event& e = next_event();
  e = Event{};
  e.t0 = e.t2 = now;
  e.kind = kind, e.flags = s->device;
  e.address = reinterpret_cast<uint64_t>(s->data), e.bytes = s->bytes;
  if (!s->device) {
    e.t1 = static_cast<int64_t>(block_bytes(sizeof(Storage) + s->bytes));
  } else {
    e.t1 = static_cast<int64_t>(s->block->bytes);
    e.flags |= static_cast<uint16_t>(s->block->segment->home->pool << 8);
    e.sequence = static_cast<uint64_t>(device(s->device).stream_number(s->stream));
  }
  if (kind == EventKind::kAlloc && stack_of_thread)
    s->block ? record_stack(now, s->block->owner.stack) : record_stack(now);
}

void record_use(const Storage* s, MemoryUse use, uint32_t scope) {
  if (s->owner) return;  // somebody else's
  Event& e = next_event();
  e = Event{};
  e.t0 = e.t2 = stamp();
  e.kind = EventKind::kUse, e.flags = static_cast<uint16_t>(use | s->device << 8), e.scope = scope;
  e.address = reinterpret_cast<uint64_t>(s->data), e.bytes = s->bytes;
  if (s->device) e.t1 = static_cast<int64_t>(s->block->bytes);
}

void record_saved(Storage* s) {
  const uint32_t now = recordings.load(std::memory_order_relaxed);
  if (s->saved_in.load(std::memory_order_relaxed) == now) return;
  s->saved_in.store(now, std::memory_order_relaxed);
  record_use(s, kSaved);
}

Storage* make_storage(size_t bytes, bool quiet) {
  const size_t whole = sizeof(Storage) + bytes;
  Block* block = whole > kLargestSmall ? allocate_block(whole) : nullptr;
  auto* s = new (block ? block->address : allocate(whole)) Storage;
  s->bytes = bytes, s->data = s + 1, s->block = block;
  in_use.add(cell(), static_cast<int64_t>(bytes));
  if (is_recording() && !quiet) [[unlikely]]
    record_memory(EventKind::kAlloc, s);
  return s;
}

Storage* adopt_storage(void* data, size_t bytes, void* owner, void (*give_back)(Storage*)) {
  auto* s = new (allocate(sizeof(Storage))) Storage;
  s->bytes = bytes, s->data = data, s->owner = owner, s->give_back = give_back;
  return s;
}

void destroy(Storage* s) noexcept {
  if (s->give_back) [[unlikely]] {
    s->give_back(s);
    return deallocate(s, sizeof(Storage));
  }
  if (is_recording()) [[unlikely]]
    record_memory(EventKind::kFree, s);
  in_use.remove(cell(), static_cast<int64_t>(s->bytes));
  s->block ? deallocate_block(s->block) : deallocate(s, sizeof(Storage) + s->bytes);
}

int64_t live_storage_bytes() { return host_bytes().stat().current; }

}  // namespace perflab
