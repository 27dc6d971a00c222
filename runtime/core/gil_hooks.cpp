#include "gil_hooks.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "clock.h"

namespace perflab {
namespace {

enum class State : uint8_t { kElsewhere, kTaking, kHolding };

struct alignas(64) Thread {  // what is known of a thread in this recording; it alone writes
  std::atomic<bool> used;
  bool counted;  // among the blocked
  State state;
  uint16_t flags;  // of the record that it will make
  uint32_t id, recording;
  std::atomic<int64_t> wait;  // since when, 0 not at all
};

constexpr size_t kThreads = 4096;  // alive at once; the holds of further ones are lost
Thread threads[kThreads];
std::atomic<size_t> threads_used{0};
constinit thread_local Thread* this_thread = nullptr;

struct alignas(64) Trace {
  std::atomic<pthread_cond_t*> cond{nullptr}, switch_cond{nullptr};
  std::atomic<pthread_mutex_t*> mutex{nullptr};
  decltype(&pthread_cond_signal) signal = pthread_cond_signal;
  decltype(&pthread_cond_timedwait) timedwait = pthread_cond_timedwait;
  decltype(&pthread_mutex_lock) lock = pthread_mutex_lock;
  GilRing ring{};
  int64_t begin = 0;
  std::atomic<uint32_t> recording{0};  // its number
  std::atomic<GilCalls*> watched{nullptr};
  pthread_t watched_thread{};

  // while gil.mutex is held
  alignas(64) GilHold* open = nullptr;
  size_t count = 0;
  Thread *holder = nullptr, *last_holder = nullptr;
  int64_t last_release = 0, blocked = 0;
  uint64_t switches = 0, lost = 0, odd = 0;
} trace;

void forget(void* thread) {  // it ends; if it asks for the GIL once more, it gets a new block
  this_thread = nullptr;
  static_cast<Thread*>(thread)->used.store(false, std::memory_order_release);
}

pthread_key_t make_key() {
  pthread_key_t key;
  pthread_key_create(&key, forget);
  return key;
}
const pthread_key_t at_end = make_key();

[[gnu::noinline, gnu::cold]] Thread* new_thread() {
  size_t known = std::min(threads_used.load(), kThreads), at = 0;
  auto take = [&] { return !threads[at].used.load() && !threads[at].used.exchange(true); };
  while (at < known && !take()) ++at;
  if (at == known) {
    do at = threads_used.fetch_add(1);
    while (at < kThreads && !take());
    if (at >= kThreads) return threads_used.store(kThreads), nullptr;
  }
  Thread* t = &threads[at];
  t->id = static_cast<uint32_t>(gettid()), t->recording = 0;
  pthread_setspecific(at_end, t);
  return this_thread = t;
}

inline Thread* self() {
  Thread* t = this_thread;
  if (!t) [[unlikely]]
    t = new_thread();
  if (uint32_t now = trace.recording.load(std::memory_order_relaxed); t && t->recording != now) [[unlikely]] {
    t->recording = now, t->state = State::kElsewhere, t->counted = false, t->flags = 0;
    t->wait.store(0, std::memory_order_relaxed);
  }
  return t;
}

inline void acquired() {
  Thread* t = self();
  // Reading the clock in order costs twice as much. It matters where threads meet: a hold must not seem to begin
  // before the one of another thread ended.
  const bool alone = trace.last_holder == t && trace.blocked == 0;
  int64_t now = std::max(alone ? ticks() : ordered_ticks(), trace.last_release);
  if (trace.open) [[unlikely]]
    ++trace.odd, trace.open->released = now, trace.open = nullptr;
  if (!t) [[unlikely]] {
    ++trace.lost, ++trace.switches, trace.holder = trace.last_holder = nullptr;
    return;
  }
  if (trace.last_holder != t) trace.last_holder = t, ++trace.switches;
  if (trace.count < trace.ring.room) [[likely]] {
    int64_t wait = t->wait.load(std::memory_order_relaxed);
    uint16_t flags = t->flags;
    if (t->state != State::kTaking) [[unlikely]]  // asked before recording began
      flags |= kGilBefore, wait = trace.begin;
    trace.open = &trace.ring.holds[trace.count++];
    *trace.open = {wait ? wait : now, now, 0, 0, t->id, flags, 0};
  } else {
    ++trace.lost;
  }
  if (t->counted) t->counted = false, --trace.blocked;
  t->wait.store(0, std::memory_order_relaxed);
  t->state = State::kHolding;
  trace.holder = t;
}

inline void released() {
  int64_t now = trace.blocked ? ordered_ticks() : ticks();
  Thread* t = self();
  if (trace.holder != t) [[unlikely]]
    ++trace.odd;
  if (trace.open) [[likely]]
    trace.open->released = now, trace.open = nullptr;
  trace.last_release = now;
  trace.holder = nullptr;
  if (t) t->state = State::kElsewhere;
}

[[gnu::noinline, gnu::cold]] void note(GilCall call) {
  GilCalls* calls = trace.watched.load(std::memory_order_acquire);
  if (!calls || !pthread_equal(trace.watched_thread, pthread_self())) return;
  size_t count = calls->count.load();
  if (count && count <= kGilCalls && calls->call[count - 1] == call) return;  // it waits on
  if (count < kGilCalls) calls->call[count] = call;
  calls->count.store(count + 1);
}
inline bool is_watched() { return trace.watched.load(std::memory_order_relaxed); }

int on_signal(pthread_cond_t* cond) {
  if (cond == trace.switch_cond.load(std::memory_order_relaxed))
    acquired();
  else if (cond == trace.cond.load(std::memory_order_relaxed))
    released();
  else if (is_watched()) [[unlikely]]
    note({kGilSignal, cond, nullptr});
  return trace.signal(cond);
}

int on_lock(pthread_mutex_t* mutex) {
  if (mutex == trace.mutex.load(std::memory_order_acquire)) {
    if (Thread* t = self(); t && t->state != State::kHolding) {  // not on its way out
      t->state = State::kTaking, t->flags = 0;
      t->wait.store(0, std::memory_order_relaxed);
      if (pthread_mutex_trylock(mutex) == 0) [[likely]]
        return 0;
      t->flags = kGilCrowd;
      t->wait.store(ordered_ticks(), std::memory_order_relaxed);
    }
  } else if (is_watched()) [[unlikely]] {
    note({kGilLock, mutex, nullptr});
  }
  return trace.lock(mutex);
}

// May be left by cancellation, or by the end of the thread: it must let an unwinding pass, and cleans up nothing.
int on_timedwait(pthread_cond_t* cond, pthread_mutex_t* mutex, const timespec* until) {
  if (cond != trace.cond.load(std::memory_order_relaxed)) {
    if (is_watched()) [[unlikely]]
      note({kGilTimedWait, cond, mutex});
    return trace.timedwait(cond, mutex, until);
  }
  Thread* t = self();
  if (!t) return trace.timedwait(cond, mutex, until);
  if (!t->counted) t->counted = true, ++trace.blocked;
  if (!t->wait.load(std::memory_order_relaxed)) t->wait.store(ordered_ticks(), std::memory_order_relaxed);
  const uint32_t recording = t->recording;
  const uint64_t switches = trace.switches;
  int result = trace.timedwait(cond, mutex, until);
  // CPython sees the same now, and sets the drop request
  if (result == ETIMEDOUT && trace.recording.load(std::memory_order_relaxed) == recording &&
      trace.switches == switches && trace.open && !trace.open->requested)
    trace.open->requested = ordered_ticks();
  return result;
}

class GilMutex {
 public:
  explicit GilMutex(pthread_mutex_t* mutex) : mutex_(mutex) { trace.lock(mutex_); }
  ~GilMutex() { pthread_mutex_unlock(mutex_); }
  GilMutex(const GilMutex&) = delete;

 private:
  pthread_mutex_t* mutex_;
};

template <class F>
void* any(F* function) {
  return reinterpret_cast<void*>(function);
}

void unpublish() {
  trace.cond.store(nullptr), trace.switch_cond.store(nullptr), trace.mutex.store(nullptr);
  trace.open = nullptr, trace.holder = nullptr;
}

}  // namespace

void* gil_hook(size_t function) {
  void* hooks[] = {any(on_signal), any(on_timedwait), any(on_lock)};
  return hooks[function];
}

void* gil_linked(size_t function) {
  void* linked[] = {any(pthread_cond_signal), any(pthread_cond_timedwait), any(pthread_mutex_lock)};
  return linked[function];
}

void* gil_next(size_t function) {
  void* next[] = {any(trace.signal), any(trace.timedwait), any(trace.lock)};
  return next[function];
}

void set_gil_next(size_t function, void* address) {
  if (function == kGilSignal) trace.signal = reinterpret_cast<decltype(trace.signal)>(address);
  if (function == kGilTimedWait) trace.timedwait = reinterpret_cast<decltype(trace.timedwait)>(address);
  if (function == kGilLock) trace.lock = reinterpret_cast<decltype(trace.lock)>(address);
}

void gil_watch(GilCalls* calls) {
  trace.watched_thread = pthread_self();
  trace.watched.store(calls, std::memory_order_release);
}

void gil_begin(const GilLocks& locks, GilRing ring) {
  GilMutex held(locks.mutex);
  trace.recording.fetch_add(1);
  trace.ring = ring;
  trace.count = trace.switches = trace.lost = trace.odd = 0;
  trace.blocked = 0;
  trace.last_release = 0, trace.last_holder = nullptr;
  trace.begin = ordered_ticks();
  if (Thread* t = self()) t->state = State::kTaking;
  acquired();
  if (trace.open) trace.open->flags = kGilBefore;
  trace.cond.store(locks.cond), trace.switch_cond.store(locks.switch_cond), trace.mutex.store(locks.mutex);
}

void gil_end() {
  GilMutex held(trace.mutex.load());
  unpublish();
}

void gil_off_in_child() noexcept {
  unpublish();
  trace.watched.store(nullptr);
  for (Thread& t : std::span(threads, std::min(threads_used.load(), kThreads)))
    if (&t != this_thread) t.used.store(false);
  if (this_thread) this_thread->id = static_cast<uint32_t>(gettid());
}

GilMark gil_mark() {
  GilMutex held(trace.mutex.load());
  return {ordered_ticks(), trace.count - (trace.open ? 1 : 0), trace.lost, trace.odd};
}

void gil_forget(int64_t tick) {
  GilMutex held(trace.mutex.load());
  GilHold *first = trace.ring.holds, *end = first + trace.count;
  GilHold* kept = std::lower_bound(first, trace.open ? end - 1 : end, tick,
                                   [](const GilHold& hold, int64_t at) { return hold.released < at; });
  std::copy(kept, end, first);
  trace.count -= static_cast<size_t>(kept - first);
  if (trace.open) trace.open -= kept - first;
}

std::vector<GilHold> gil_since(const GilMark& begin) {
  GilMutex held(trace.mutex.load());
  const int64_t now = ordered_ticks();
  std::span known(threads, std::min(threads_used.load(), kThreads));
  std::vector<GilHold> holds;
  holds.reserve(trace.count - begin.hold + known.size());
  holds.assign(trace.ring.holds + begin.hold, trace.ring.holds + trace.count);
  if (trace.open) holds.back().released = now, holds.back().flags |= kGilAfter;
  for (const Thread& t : known) {
    int64_t wait = t.wait.load(std::memory_order_relaxed);
    // later than now: it waits for gil.mutex, which we hold
    if (t.used.load() && wait && wait <= now && t.recording == trace.recording.load())
      holds.push_back({wait, now, 0, now, t.id, kGilWaiting, 0});
  }
  for (GilHold& hold : holds) {  // what reaches back before the beginning is cut there
    if (hold.wait < begin.tick) hold.wait = begin.tick, hold.flags |= kGilBefore;
    hold.acquired = std::max(hold.acquired, begin.tick);
    if (hold.requested) hold.requested = std::max(hold.requested, begin.tick);
  }
  return holds;
}

}  // namespace perflab
