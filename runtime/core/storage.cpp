#include "storage.h"

#include <new>

#include "allocator.h"
#include "live_count.h"
#include "recorder.h"

namespace perflab {
namespace {

struct LiveBytes;
void account(int64_t bytes) { LiveCount<LiveBytes>::add(bytes); }

[[gnu::noinline]] void record(EventKind kind, const Storage* s) {
  Event& e = next_event();
  e = Event{};
  e.t0 = e.t2 = ticks();
  e.kind = kind;
  e.address = reinterpret_cast<uint64_t>(s->data), e.bytes = s->bytes;
}

}  // namespace

Storage* make_storage(size_t bytes, bool quiet) {
  auto* s = new (allocate(sizeof(Storage) + bytes)) Storage;
  s->bytes = bytes, s->data = s + 1;
  account(static_cast<int64_t>(bytes));
  if (is_recording() && !quiet) [[unlikely]]
    record(EventKind::kAlloc, s);
  return s;
}

Storage* adopt_storage(void* data, size_t bytes, void* owner, void (*release_owner)(void*)) {
  auto* s = new (allocate(sizeof(Storage))) Storage;
  s->bytes = bytes, s->data = data, s->owner = owner, s->release_owner = release_owner;
  return s;
}

void destroy(Storage* s) noexcept {
  if (s->release_owner) [[unlikely]] {
    s->release_owner(s->owner);
    return deallocate(s, sizeof(Storage));
  }
  if (is_recording()) [[unlikely]]
    record(EventKind::kFree, s);
  account(-static_cast<int64_t>(s->bytes));
  deallocate(s, sizeof(Storage) + s->bytes);
}

int64_t live_storage_bytes() { return LiveCount<LiveBytes>::sum(); }

}  // namespace perflab
