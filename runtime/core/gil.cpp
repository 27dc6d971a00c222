#include "gil.h"

#include <Python.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "gil_slots.h"
#include "py_restore.h"

namespace perflab {
namespace {

constexpr size_t kWarm = size_t{1} << 20;  // bytes of the ring that are kept: a first touch costs 20 ns a record

struct Tracer {  // guarded by the GIL, and while that is given away by `busy`
  std::optional<Module> python;
  bool hooked[kGilFunctions] = {};  // our hook is in its slots
  bool proven = false;              // that a thread which waits for the GIL passes through our hook
  bool busy = false;
  unsigned users = 0;
  unsigned life = 1;  // goes up in a forked child
  GilRing ring{};
} tracer;

class Busy {
 public:
  Busy() {
    while (tracer.busy) {
      Py_BEGIN_ALLOW_THREADS;
      usleep(50);
      Py_END_ALLOW_THREADS;
    }
    tracer.busy = true;
  }
  ~Busy() { tracer.busy = false; }
  Busy(const Busy&) = delete;
};

[[noreturn]] void refuse(const std::string& why) { throw std::runtime_error(why); }

// --- slots

void hook(GilFunction function) {
  if (tracer.hooked[function]) return;  // left there, as somebody had hooked over it
  void* next = nullptr;
  for (const Slot& slot : tracer.python->slots) {
    if (slot.function != function) continue;
    void* old = read_slot(slot);
    // A slot that was not used yet leads into its own module, to the code that looks the function up.
    if (tracer.python->holds(old)) old = gil_linked(function);
    if (next && next != old) refuse("two libraries stand in for " + std::string(kGilFunctionNames[function]));
    next = old;
  }
  set_gil_next(function, next);
  tracer.hooked[function] = true;
  for (const Slot& slot : tracer.python->slots)
    if (slot.function == function) write_slot(slot, gil_hook(function));
}

void check_slots() {
  for (const Slot& slot : tracer.python->slots)
    if (tracer.hooked[slot.function] && read_slot(slot) != gil_hook(slot.function))
      refuse(std::string("another library has put itself in front of our ") + kGilFunctionNames[slot.function]);
}

// Where somebody has hooked over us ours stays, as theirs leads to it: it matches nothing, and calls on. What stayed.
std::string unhook() noexcept {
  std::string left;
  bool stays[kGilFunctions] = {};
  for (const Slot& slot : tracer.python->slots) {
    if (!tracer.hooked[slot.function]) continue;
    void *now = read_slot(slot), *next = gil_next(slot.function);
    try {
      if (now == gil_hook(slot.function))
        write_slot(slot, next);
      else if (now != next && !tracer.python->holds(now))
        refuse("another library has put itself in front of it");
    } catch (const std::exception& error) {
      stays[slot.function] = true;
      left += std::string(kGilFunctionNames[slot.function]) + " stays hooked: " + error.what() + "; ";
    }
  }
  std::copy(std::begin(stays), std::end(stays), tracer.hooked);
  return left;
}

// --- calibration

std::string spelled(const GilCalls& calls) {
  std::string text;
  for (size_t i = 0; i < std::min(calls.count.load(), kGilCalls); ++i) {
    char place[32];
    std::snprintf(place, sizeof place, "(%p)", calls.call[i].object);
    text += (i ? ", " : "") + std::string(kGilFunctionNames[calls.call[i].function]) + place;
  }
  return text.empty() ? "nothing" : text;
}

// What one release and one acquisition lock and signal:
//   release: lock mutex, signal cond, and where another thread was to have it, lock switch_mutex
//   acquire: lock mutex, lock switch_mutex, signal switch_cond
GilLocks observe() {
  GilCalls release{}, acquire{};
  gil_watch(&release);
  PyThreadState* state = PyEval_SaveThread();
  gil_watch(&acquire);
  restore_thread(state);
  gil_watch(nullptr);
  const auto &out = release.call, &in = acquire.call;
  auto is = [](const GilCall& call, GilFunction function) { return call.function == function; };
  GilLocks locks{};
  bool known = (release.count == 2 || release.count == 3) && acquire.count == 3 && is(out[0], kGilLock) &&
               is(out[1], kGilSignal) && is(in[0], kGilLock) && is(in[1], kGilLock) && is(in[2], kGilSignal);
  if (known) {
    locks = {static_cast<pthread_cond_t*>(out[1].object), static_cast<pthread_cond_t*>(in[2].object),
             static_cast<pthread_mutex_t*>(in[0].object), static_cast<pthread_mutex_t*>(in[1].object)};
    known = out[0].object == locks.mutex && locks.mutex != locks.switch_mutex && locks.cond != locks.switch_cond &&
            (release.count == 2 || (is(out[2], kGilLock) && out[2].object == locks.switch_mutex));
  }
  if (!known)
    refuse("this CPython takes it in a way that is not known. Releasing it called " + spelled(release) +
           "; acquiring it called " + spelled(acquire));
  return locks;
}

GilLocks calibrate() {
  hook(kGilSignal), hook(kGilLock);
  GilLocks locks = observe();
  for (int i = 0; i < 2; ++i) {
    GilLocks again = observe();
    if (again.cond != locks.cond || again.switch_cond != locks.switch_cond || again.mutex != locks.mutex)
      refuse("two acquisitions went through different locks");
  }
  // The slot of the wait may still lead to the dynamic linker, which writes it when it has found the function. Its one
  // caller holds gil.mutex: while we do, no thread is in there.
  struct Held {
    pthread_mutex_t* mutex;
    explicit Held(pthread_mutex_t* m) : mutex(m) { pthread_mutex_lock(m); }
    ~Held() { pthread_mutex_unlock(mutex); }
  } held(locks.mutex);
  hook(kGilTimedWait);
  return locks;
}

void* ask(void* calls) {
  gil_watch(static_cast<GilCalls*>(calls));
  PyGILState_Release(PyGILState_Ensure());
  return nullptr;
}

// A thread that asks for the GIL, which we hold, must wait through our hook.
void prove(const GilLocks& locks) {
  if (tracer.proven) return;
  GilCalls calls{};
  pthread_t thread;
  if (pthread_create(&thread, nullptr, ask, &calls)) refuse("a thread to try it with cannot be started");
  auto waited = [&] {
    auto end = calls.call + std::min(calls.count.load(), kGilCalls);
    return std::find(calls.call, end, GilCall{kGilTimedWait, locks.cond, locks.mutex}) != end;
  };
  for (int i = 0; i < 20'000 && !waited(); ++i) usleep(50);
  gil_watch(nullptr);
  Py_BEGIN_ALLOW_THREADS;
  pthread_join(thread, nullptr);
  Py_END_ALLOW_THREADS;
  if (!waited()) refuse("a thread that waits for it does not call pthread_cond_timedwait");
  tracer.proven = true;
}

// --- the ring

void make_room(size_t room) {
  if (tracer.ring.room == room) return;
  if (tracer.ring.holds) munmap(tracer.ring.holds, tracer.ring.room * sizeof(GilHold));
  tracer.ring = {};
  void* memory =
      mmap(nullptr, room * sizeof(GilHold), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) refuse("there is no memory for " + std::to_string(room) + " records");
  tracer.ring = {static_cast<GilHold*>(memory), room};
  std::memset(memory, 0, std::min(room * sizeof(GilHold), kWarm));
}

void give_back_memory() {
  char* begin = reinterpret_cast<char*>(tracer.ring.holds);
  size_t bytes = tracer.ring.room * sizeof(GilHold);
  if (bytes > kWarm) madvise(begin + kWarm, bytes - kWarm, MADV_DONTNEED);
}

// --- fork: the other threads are gone, and with them who traced

void in_child() {
  gil_off_in_child();
  unhook();
  tracer.busy = false, tracer.users = 0, ++tracer.life;
}

void begin(size_t room) {
#ifdef Py_GIL_DISABLED
  refuse("this is a free-threaded Python, which has none");
#endif
#ifdef PYPY_VERSION
  refuse("this is not CPython");
#endif
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) refuse("this is not the main interpreter");
  if (!tracer.python) {
    void* code = dlsym(RTLD_DEFAULT, "PyEval_SaveThread");
    tracer.python = find_module(code ? code : reinterpret_cast<void*>(&PyEval_SaveThread), kGilFunctionNames);
    pthread_atfork(nullptr, nullptr, in_child);
  }
  check_slots();
  make_room(room);
  try {
    GilLocks locks = calibrate();
    prove(locks);
    check_slots();
    gil_begin(locks, tracer.ring);
  } catch (...) {
    gil_watch(nullptr);
    unhook();
    throw;
  }
}

}  // namespace

GilTrace::GilTrace(size_t room) {
  Busy busy;
  if (!tracer.users) begin(room);
  ++tracer.users;
  life_ = tracer.life;
  begin_ = gil_mark();
}

GilTraced GilTrace::so_far() const {
  if (life_ != tracer.life) return {};
  GilMark end = gil_mark();
  GilTraced traced{gil_since(begin_), end.lost - begin_.lost, {}};
  if (end.odd > begin_.odd)
    traced.trouble = std::to_string(end.odd - begin_.odd) + " acquisitions or releases went past the hooks; ";
  return traced;
}

size_t GilTrace::count() const {
  Busy busy;
  return life_ == tracer.life ? gil_mark().hold - begin_.hold : 0;
}

GilTraced GilTrace::read() const {
  Busy busy;
  return so_far();
}

void GilTrace::forget(int64_t tick) {
  Busy busy;
  if (life_ != tracer.life || tracer.users > 1) return;
  gil_forget(tick);
  begin_.tick = std::max(begin_.tick, tick), begin_.hold = 0;
}

GilTraced GilTrace::stop() {
  Busy busy;
  GilTraced traced = so_far();
  if (life_ == tracer.life) traced.trouble += leave();
  return traced;
}

GilTrace::~GilTrace() {
  Busy busy;
  if (life_ == tracer.life) leave();
}

std::string GilTrace::leave() {
  life_ = 0;
  if (--tracer.users) return {};
  gil_end();
  give_back_memory();
  return unhook();
}

}  // namespace perflab
