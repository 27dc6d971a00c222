// The recorder: per-thread chunks of events, no lock and no allocation on the hot path. Off, it costs one relaxed load.
#pragma once
#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "clock.h"
#include "event.h"

namespace perflab {

inline std::atomic<bool> recording{false};
#ifdef PERFLAB_NEVER_RECORDS
constexpr bool is_recording() { return false; }
#else
inline bool is_recording() { return recording.load(std::memory_order_relaxed); }
#endif

// Where a thread writes. Only the thread itself moves `at`, drain() reads it; start_recording() may lower `end`.
struct EventLane {
  std::atomic<Event*> at{nullptr}, end{nullptr};
};
inline EventLane no_lane;
inline constinit thread_local EventLane* event_lane = &no_lane;
Event& next_event_slow();
constexpr int kAhead = 4;  // events whose memory is fetched before they come

// The slot to fill, at once: until its kind is set it is no event. A scratch slot when the limit is reached (counted as
// dropped). Never throws.
inline Event& next_event() {
  EventLane& lane = *event_lane;
  Event* e = lane.at.load(std::memory_order_relaxed);
  if (e >= lane.end.load(std::memory_order_relaxed)) [[unlikely]]
    return next_event_slow();
  e->kind = EventKind{};
  __builtin_prefetch(e + kAhead, 1);
  lane.at.store(e + 1, std::memory_order_release);
  return *e;
}

// Forgets what was recorded before and not drained. Throws Error(kValue) when already on.
void start_recording(size_t max_events);
void allow_more_events(size_t count);  // beyond the limit: so many were forgotten
void stop_recording();
uint64_t recorded_events();  // since the last start, and not dropped
bool is_session();           // whether it was started; it may also be on for the family
uint64_t dropped_events();   // since the last start

// In a forked child, for the process that is profiled (family.h): what is recorded from now on goes into files in the
// folder. A session may run at the same time. Does nothing where the files cannot be made.
void start_for_family(const std::string& folder, size_t max_events) noexcept;
void stop_for_family() noexcept;
void log_name(const std::string& json);  // of the process or one of its threads, for those files

struct Recorded {   // one thread's events of one chunk; the memory stays valid while the chunk is held
  uint64_t thread;  // the operating system's thread id
  Event* events;
  size_t count;
  void* chunk;  // give back with release_chunk, once for each Recorded
};
// Takes every event recorded so far, a thread's in the order of their slots; call it when recording is off. A thread
// that is still filling its last event is not waited for: that event may come out empty (kind 0) or be lost.
std::vector<Recorded> drain();
void release_chunk(void* chunk) noexcept;

uint32_t intern(const std::string& text);  // 0 is the empty string
std::vector<std::string> interned();

class Interned {  // a text that events have often
 public:
  constexpr explicit Interned(const char* text) : text_(text) {}
  const char* text() const { return text_; }
  uint32_t id() {
    if (!id_.load(std::memory_order_relaxed)) id_.store(intern(text_), std::memory_order_relaxed);
    return id_.load(std::memory_order_relaxed);
  }

 private:
  const char* text_;
  std::atomic<uint32_t> id_{0};
};

inline constinit thread_local uint32_t current_scope = 0;  // interned module path of this thread

}  // namespace perflab
