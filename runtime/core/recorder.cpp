#include "recorder.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>

#include "error.h"
#include "fork.h"
#include "process_file.h"
#include "shapes.h"
#include "source.h"

namespace perflab {
namespace {

constexpr size_t kChunkBytes =
    size_t{2} << 20;  // a huge page: first touched, it costs 5 ns an event, in small pages 20
constexpr size_t kChunkEvents = kChunkBytes / sizeof(Event);
constexpr size_t kGrant = 256;  // events of the session's limit that a thread takes at a time
constexpr size_t kKeptChunks = 16;

struct Chunk {
  Event* events = nullptr;
  int refs = 1;  // under the lock
  bool in_file = false;
};

// A chunk is not taken from its thread when it is drained: both hold it, the thread goes on behind the drained part.
// So no thread is ever waited for, and one that still records writes where nobody reads.
struct Lane : EventLane {
  uint64_t thread = static_cast<uint64_t>(gettid());
  Chunk* chunk = nullptr;
  Event* drained = nullptr;    // up to here in the chunk
  std::vector<Recorded> full;  // what lies in earlier chunks
  bool ended = false;
};

struct Recorder {
  std::mutex mutex;
  std::vector<std::unique_ptr<Lane>> lanes;
  std::vector<Chunk*> kept;  // for the next threads and sessions
  std::unordered_map<std::string, uint32_t> ids{{"", 0}};
  std::vector<std::string> texts{""};
  std::atomic<size_t> left{0};  // of the session's limit; changed under the lock
  std::atomic<uint64_t> dropped{0};
  uint64_t taken = 0;                    // by drain(), since the last start
  bool session = false, family = false;  // who records
  std::atomic<ProcessFile*> file{nullptr};
  std::vector<std::string> names;  // for it

  Recorder() { kept.reserve(kKeptChunks); }
  Chunk* take_chunk(uint64_t thread);
  void drop(Chunk* chunk) noexcept;
  void forget() noexcept;
  void reap() noexcept;
  bool grant(Lane& lane);
  void switch_chunks() noexcept;
};

void in_child();

Recorder& recorder() {
  static Recorder& shared = []() -> Recorder& {
    auto* r = new Recorder;  // never destroyed: threads may record after static destruction
    hold_across_fork(r->mutex);
    pthread_atfork(nullptr, nullptr, in_child);  // after the mutex is free again
    return *r;
  }();
  return shared;
}

Chunk* Recorder::take_chunk(uint64_t thread) {
  if (family) {
    auto chunk = std::make_unique<Chunk>();
    chunk->in_file = true;
    chunk->events = static_cast<Event*>(file.load()->map_chunk(static_cast<uint32_t>(thread), kChunkBytes));
    if (!chunk->events) throw std::bad_alloc();
    return chunk.release();
  }
  if (!kept.empty()) {
    Chunk* chunk = kept.back();
    kept.pop_back();
    chunk->refs = 1;
    return chunk;
  }
  auto chunk = std::make_unique<Chunk>();
  chunk->events = static_cast<Event*>(host_memory().map(kChunkBytes));
  if (!chunk->events) throw std::bad_alloc();
  return chunk.release();
}

void Recorder::drop(Chunk* chunk) noexcept {
  if (!chunk || --chunk->refs > 0) return;
  if (!chunk->in_file && kept.size() < kKeptChunks) return kept.push_back(chunk);
  if (chunk->in_file)
    munmap(chunk->events, kChunkBytes);
  else
    host_memory().unmap(chunk->events, kChunkBytes);
  delete chunk;
}

void Recorder::forget() noexcept {
  for (auto& lane : lanes) {
    for (const Recorded& r : lane->full) drop(static_cast<Chunk*>(r.chunk));
    lane->full.clear();
    lane->drained = lane->at.load(std::memory_order_acquire);
    lane->end.store(lane->drained, std::memory_order_relaxed);
  }
  reap();
}

void Recorder::reap() noexcept {  // lanes of threads that have ended, when nothing is left to drain
  std::erase_if(lanes, [this](const auto& lane) {
    if (!lane->ended || !lane->full.empty() || lane->drained != lane->at.load(std::memory_order_relaxed)) return false;
    drop(lane->chunk);
    return true;
  });
}

// Room for the calling thread's next events; false when the session's limit is reached.
bool Recorder::grant(Lane& lane) {
  const size_t n = std::min(kGrant, left.load(std::memory_order_relaxed));
  if (n == 0) return false;
  Event* at = lane.at.load(std::memory_order_relaxed);
  if (!lane.chunk || at == lane.chunk->events + kChunkEvents || lane.chunk->in_file != family) {
    Chunk* fresh = take_chunk(lane.thread);
    if (at > lane.drained && (session || !lane.chunk->in_file))
      lane.full.push_back({lane.thread, lane.drained, static_cast<size_t>(at - lane.drained), lane.chunk});
    else
      drop(lane.chunk);
    lane.chunk = fresh, lane.drained = at = fresh->events;
    lane.at.store(at, std::memory_order_relaxed);
  }
  const size_t room = std::min<size_t>(n, lane.chunk->events + kChunkEvents - at);
  lane.end.store(at + room, std::memory_order_relaxed);
  left.store(left.load(std::memory_order_relaxed) - room, std::memory_order_relaxed);
  return true;
}

// Each thread's next event goes where events go now.
void Recorder::switch_chunks() noexcept {
  for (auto& lane : lanes) lane->end.store(lane->at.load(std::memory_order_acquire), std::memory_order_relaxed);
}

thread_local bool ended = false;  // destructors of this thread's other variables may still record
thread_local Event scratch;

struct Ending {
  Lane* lane = nullptr;
  ~Ending() {
    std::lock_guard lock(recorder().mutex);
    ended = true, event_lane = &no_lane;
    if (lane) lane->ended = true, recorder().reap();
  }
};
thread_local Ending ending;

Lane& my_lane(Recorder& r) {
  if (!ending.lane) {
    r.lanes.push_back(std::make_unique<Lane>());
    event_lane = ending.lane = r.lanes.back().get();
  }
  return *ending.lane;
}

void in_child() {
  Recorder& r = recorder();
  std::lock_guard lock(r.mutex);
  recording.store(false, std::memory_order_relaxed);
  r.session = r.family = false;
  delete r.file.exchange(nullptr);
  r.names.clear();
  r.left.store(0), r.dropped.store(0);
  for (auto& lane : r.lanes) lane->ended = lane.get() != ending.lane;  // the other threads are not in the child
  r.forget();
  for (auto& lane : r.lanes) {  // a chunk may be the parent's file
    r.drop(std::exchange(lane->chunk, nullptr));
    lane->at.store(nullptr), lane->end.store(nullptr), lane->drained = nullptr;
  }
  if (ending.lane) ending.lane->thread = static_cast<uint64_t>(gettid());
}

}  // namespace

Event& next_event_slow() {
  Recorder& r = recorder();
  try {
    if (!ended && r.left.load(std::memory_order_relaxed) > 0) {
      std::lock_guard lock(r.mutex);
      if (r.grant(my_lane(r))) return next_event();
    }
  } catch (const std::bad_alloc&) {  // dropped, as beyond the limit
  }
  r.dropped.fetch_add(1, std::memory_order_relaxed);
  if (ProcessFile* file = r.file.load()) file->count_dropped();
  return scratch;
}

void start_recording(size_t max_events) {
  Recorder& r = recorder();
  std::lock_guard lock(r.mutex);
  if (r.session) throw Error(ErrorKind::kValue, "the recorder is on already: stop it before starting it again");
  r.forget();
  r.left.store(max_events + (r.family ? r.left.load() : 0)), r.dropped.store(0);
  r.session = true, r.taken = 0;
  recording.store(true);
}

void allow_more_events(size_t count) {
  std::lock_guard lock(recorder().mutex);
  recorder().left.fetch_add(count);
}

void stop_recording() {
  Recorder& r = recorder();
  std::lock_guard lock(r.mutex);
  r.session = false;
  recording.store(r.family);
}

bool is_session() {
  std::lock_guard lock(recorder().mutex);
  return recorder().session;
}

void start_for_family(const std::string& folder, size_t max_events) noexcept try {
  Recorder& r = recorder();
  std::unique_lock lock(r.mutex);
  if (!r.file.load()) {
    auto file = std::make_unique<ProcessFile>(folder);
    for (const std::string& text : r.texts) file->log('t', text.data(), text.size());
    for (const std::string& name : r.names) file->log('n', name.data(), name.size());
    r.file.store(file.release());
    lock.unlock();
    log_shapes(r.file.load());  // before the first event that has them
    lock.lock();
  }
  r.left.store(max_events + (r.session ? r.left.load() : 0));
  r.family = true;
  r.switch_chunks();
  recording.store(true);
} catch (const std::exception&) {
}

void stop_for_family() noexcept {
  Recorder& r = recorder();
  std::lock_guard lock(r.mutex);
  r.family = false;
  r.switch_chunks();
  recording.store(r.session);
}

void log_name(const std::string& json) {
  Recorder& r = recorder();
  std::lock_guard lock(r.mutex);
  r.names.push_back(json);
  if (ProcessFile* file = r.file.load()) file->log('n', json.data(), json.size());
}

uint64_t recorded_events() {
  Recorder& r = recorder();
  std::lock_guard lock(r.mutex);
  uint64_t count = r.taken;
  for (auto& lane : r.lanes) {
    for (const Recorded& piece : lane->full) count += piece.count;
    count += static_cast<uint64_t>(lane->at.load(std::memory_order_acquire) - lane->drained);
  }
  return count;
}

uint64_t dropped_events() { return recorder().dropped.load(); }

std::vector<Recorded> drain() {
  Recorder& r = recorder();
  std::lock_guard lock(r.mutex);
  size_t pieces = 0;
  for (auto& lane : r.lanes) pieces += lane->full.size() + 1;
  std::vector<Recorded> all;
  all.reserve(pieces);
  for (auto& lane : r.lanes) {
    all.insert(all.end(), lane->full.begin(), lane->full.end());
    lane->full.clear();
    Event* at = lane->at.load(std::memory_order_acquire);
    if (at == lane->drained) continue;
    ++lane->chunk->refs;
    all.push_back({lane->thread, lane->drained, static_cast<size_t>(at - lane->drained), lane->chunk});
    lane->drained = at;
  }
  for (const Recorded& piece : all) r.taken += piece.count;
  r.reap();
  return all;
}

void release_chunk(void* chunk) noexcept {
  std::lock_guard lock(recorder().mutex);
  recorder().drop(static_cast<Chunk*>(chunk));
}

uint32_t intern(const std::string& text) {
  Recorder& r = recorder();
  std::lock_guard lock(r.mutex);
  auto [at, fresh] = r.ids.try_emplace(text, static_cast<uint32_t>(r.texts.size()));
  if (fresh) {
    r.texts.push_back(text);
    if (ProcessFile* file = r.file.load()) file->log('t', text.data(), text.size());
  }
  return at->second;
}

std::vector<std::string> interned() {
  std::lock_guard lock(recorder().mutex);
  return recorder().texts;
}

}  // namespace perflab
