#include "storage.h"

#include <new>

#include "allocator.h"
#include "live_count.h"
#include "recorder.h"

namespace perflab {
namespace {

struct LiveBytes;
void account(int64_t bytes) { LiveCount<LiveBytes>::add(bytes); }

}  // namespace

void record_memory(EventKind kind, const Storage* s) {
  if (!is_recording()) return;
  Event& e = next_event();
  e = Event{};
  e.t0 = e.t2 = ticks();
  e.kind = kind, e.flags = s->device;
  e.address = reinterpret_cast<uint64_t>(s->data), e.bytes = s->bytes;
}

Storage* make_storage(size_t bytes, bool quiet) {
  auto* s = new (allocate(sizeof(Storage) + bytes)) Storage;
  s->bytes = bytes, s->data = s + 1;
  account(static_cast<int64_t>(bytes));
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
  account(-static_cast<int64_t>(s->bytes));
  deallocate(s, sizeof(Storage) + s->bytes);
}

int64_t live_storage_bytes() { return LiveCount<LiveBytes>::sum(); }

}  // namespace perflab
