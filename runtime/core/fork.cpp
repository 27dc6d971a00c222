#include "fork.h"

#include <pthread.h>

#include <vector>

namespace perflab {
namespace {

struct Item {
  std::mutex* mutex;
  void (*in_child)();
};
struct Held {
  std::mutex registry;
  std::vector<Item> items;
};
Held& held() {
  static Held& shared = *new Held;
  return shared;
}

void lock_all() {
  held().registry.lock();
  for (const Item& i : held().items) i.mutex->lock();
}
void unlock_all() {
  for (const Item& i : held().items) i.mutex->unlock();
  held().registry.unlock();
}
void wake_in_child() {
  for (const Item& i : held().items)
    if (i.in_child) i.in_child();
  unlock_all();
}

}  // namespace

void hold_across_fork(std::mutex& mutex, void (*in_child)()) {
  [[maybe_unused]] static const int registered = pthread_atfork(lock_all, unlock_all, wake_in_child);
  std::lock_guard lock(held().registry);
  held().items.push_back({&mutex, in_child});
}

}  // namespace perflab
