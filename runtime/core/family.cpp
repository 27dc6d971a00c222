#include "family.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <memory>

#include "error.h"
#include "recorder.h"

namespace perflab {
namespace {

struct Control {               // one page, shared by all
  std::atomic<uint32_t> turn;  // counts up; odd: they record
  uint32_t pad;
  std::atomic<uint64_t> max_events;
};

Control* control = nullptr;  // that which we lead

Control* open_control(const std::string& folder, int flags) {
  const std::string path = folder + "/control";
  int file = open(path.c_str(), O_RDWR | O_CLOEXEC | flags, 0600);
  void* page = MAP_FAILED;
  if (file >= 0 && !posix_fallocate(file, 0, sizeof(Control)))
    page = mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const std::string why = std::strerror(errno);
  if (file >= 0) close(file);
  if (page == MAP_FAILED) throw Error(ErrorKind::kValue, path + ": it cannot be opened: " + why);
  return static_cast<Control*>(page);
}

void futex(Control& page, int what, uint32_t value) {
  syscall(SYS_futex, &page.turn, what, value, nullptr, nullptr, 0);
}

void turn_to(bool on) {
  if (!control || (control->turn.load() & 1) == on) return;
  control->turn.fetch_add(1);
  futex(*control, FUTEX_WAKE, INT_MAX);
}

struct Member {
  Control* control;
  std::string folder;
  uint32_t seen;  // the turn that it has obeyed
};

void obey(Member& member, uint32_t turn) {
  member.seen = turn;
  if (turn & 1)
    start_for_family(member.folder, member.control->max_events.load());
  else
    stop_for_family();
}

void* follow(void* argument) {
  std::unique_ptr<Member> member(static_cast<Member*>(argument));
  for (;;) {
    uint32_t turn = member->control->turn.load();
    if (turn == member->seen)
      futex(*member->control, FUTEX_WAIT, turn);
    else
      obey(*member, turn);
  }
}

}  // namespace

void lead_family(const std::string& folder) {
  if (control) munmap(control, sizeof(Control));
  control = nullptr;
  control = open_control(folder, O_CREAT | O_EXCL);
}

void let_family_record(size_t max_events) {
  if (control) control->max_events.store(max_events);
  turn_to(true);
}

void stop_family() { turn_to(false); }

void join_family(const std::string& folder) {
  if (control) munmap(control, sizeof(Control));  // ours when we led it, before the fork
  control = nullptr;
  auto member = std::make_unique<Member>(Member{open_control(folder, 0), folder, 0});
  obey(*member, member->control->turn.load());  // so that no event is missed
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are not for it
  pthread_t thread;
  if (!pthread_create(&thread, nullptr, follow, member.get())) {
    member.release();
    pthread_detach(thread);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace perflab
