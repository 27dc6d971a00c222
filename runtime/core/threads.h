// Threads that share the work of one kernel. They sleep while there is none, so a kernel calls them only for work of
// hundreds of microseconds.
#pragma once
#include <cstdint>

namespace perflab {

int num_threads();            // the calling one included; unless set, as many as the cores that this process may use
void set_num_threads(int n);  // throws Error(kValue)

// Calls work(begin, end) for parts that cover [0, n), in any order and on any threads; returns when all are done. Parts
// are multiples of `grain` items, but for the last, and alone as many as the number of threads asks for: what is
// computed must not depend on them. `work` knows no Python and records no events; the first exception that it throws
// reaches the caller. While another thread shares its work, or others
// keep the helpers waiting (patience.h), the caller works alone.
void share_parts(int64_t n, int64_t grain, void (*work)(const void* context, int64_t begin, int64_t end),
                 const void* context);

template <class F>
void share(int64_t n, int64_t grain, const F& work) {
  if (n < 2 * grain) return work(int64_t{0}, n);
  share_parts(
      n, grain, [](const void* context, int64_t begin, int64_t end) { (*static_cast<const F*>(context))(begin, end); },
      &work);
}

}  // namespace perflab
