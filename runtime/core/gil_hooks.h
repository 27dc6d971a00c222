// The hooks that stand in for three functions of pthreads where CPython calls them, and the records that they write.
//
// CPython's take_gil() signals switch_cond when it has the GIL, its drop_gil() signals cond when it has let go of it,
// both while they hold gil.mutex. So all of these moments are in one order, and at any of them there is at most one
// open record: the last one. A thread that is refused waits for cond, with gil.mutex held too. One ring, no locks.
//
//   0        8           16          24         32      36      38     40
//   | wait   | acquired  | requested | released | thread | flags | pad  |
//
// wait       tick of asking, where the GIL was not free; else that of acquired
// requested  when a waiter's patience ended and CPython asked this holder to let go; 0: nobody did
// thread     the operating system's id
#pragma once
#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <vector>

namespace perflab {

enum GilFlags : uint16_t {
  kGilCrowd = 1,    // gil.mutex itself was waited for
  kGilBefore = 2,   // waited, or held it, when recording began: that is where the time starts
  kGilAfter = 4,    // held it when recording ended: that is where the time ends
  kGilWaiting = 8,  // waited when recording ended: wait to acquired, and nothing held
};

struct GilHold {
  int64_t wait, acquired, requested, released;
  uint32_t thread;
  uint16_t flags, pad;
};
static_assert(sizeof(GilHold) == 40);

struct GilLocks {  // CPython's own
  pthread_cond_t *cond, *switch_cond;
  pthread_mutex_t *mutex, *switch_mutex;
};

enum GilFunction : size_t { kGilSignal, kGilTimedWait, kGilLock, kGilFunctions };
inline constexpr const char* kGilFunctionNames[] = {"pthread_cond_signal", "pthread_cond_timedwait",
                                                    "pthread_mutex_lock"};
void* gil_hook(size_t function);
void* gil_linked(size_t function);                  // the one that this library is linked with
void* gil_next(size_t function);                    // what the hook calls in turn
void set_gil_next(size_t function, void* address);  // before the hook is in its slot

// --- Calibration: which calls a thread makes.
struct GilCall {
  GilFunction function;
  void *object, *mutex;  // mutex: of a wait
  bool operator==(const GilCall&) const = default;
};
constexpr size_t kGilCalls = 8;
struct GilCalls {
  GilCall call[kGilCalls];
  std::atomic<size_t> count;  // beyond kGilCalls: there were more
};
void gil_watch(GilCalls* calls);  // this thread's; null ends it

// --- Recording. All with the GIL held; `locks.mutex` is taken.
struct GilRing {
  GilHold* holds;
  size_t room;
};
void gil_begin(const GilLocks& locks, GilRing ring);
void gil_end();
void gil_off_in_child() noexcept;  // after a fork

struct GilMark {  // a moment of a recording
  int64_t tick;
  size_t hold;    // the place of the open record, or of the next
  uint64_t lost;  // so far, for want of room
  uint64_t odd;   // so far: releases by another thread than the holder, acquisitions of what was held
};
GilMark gil_mark();
void gil_forget(int64_t tick);                         // records that ended before: marks before it are void
std::vector<GilHold> gil_since(const GilMark& begin);  // with those who hold it, and who wait, now

}  // namespace perflab
