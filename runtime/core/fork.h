// fork() copies a mutex as it is: one that another thread held would stay locked in the child for ever.
#pragma once
#include <mutex>

namespace perflab {

// The forking thread takes the mutex before, and frees it after, in parent and child. Lives as long as the process;
// nobody who holds one of these takes one that was registered before it. `in_child` runs in the child, before the mutex
// is freed.
void hold_across_fork(std::mutex& mutex, void (*in_child)() = nullptr);

}  // namespace perflab
