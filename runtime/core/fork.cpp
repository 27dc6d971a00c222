#include "fork.h"

#include <pthread.h>

#include <vector>

namespace perflab {
namespace {

struct Held {
  std::mutex registry;
  std::vector<std::mutex*> mutexes;
};
Held& held() {
  static Held& shared = *new Held;
  return shared;
}

void lock_all() {
  held().registry.lock();
  for (std::mutex* m : held().mutexes) m->lock();
}
void unlock_all() {
  for (std::mutex* m : held().mutexes) m->unlock();
  held().registry.unlock();
}

}  // namespace

void hold_across_fork(std::mutex& mutex) {
  [[maybe_unused]] static const int registered = pthread_atfork(lock_all, unlock_all, unlock_all);
  std::lock_guard lock(held().registry);
  held().mutexes.push_back(&mutex);
}

}  // namespace perflab
