#include "event_costs.h"

#include <algorithm>
#include <limits>

#include "clock.h"
#include "dispatch.h"
#include "error.h"
#include "node.h"
#include "recorder.h"
#include "storage.h"

namespace perflab {
namespace {

constexpr int kEvents = 500, kTries = 8;

template <class F>
double least(F&& one) {  // ticks
  int64_t best = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < kTries; ++i) {
    const int64_t begin = ticks();
    for (int k = 0; k < kEvents; ++k) one();
    best = std::min(best, ticks() - begin);
  }
  return static_cast<double>(best) / kEvents;
}

}  // namespace

EventCosts measure_event_costs() {
  if (is_recording()) throw Error(ErrorKind::kValue, "events are measured while nothing is recorded");
  const Op op{};
  Array a;
  a.ndim = 1, a.shape[0] = 1;
  a.pack();
  a.fill_storage();
  const Array* in[] = {&a, &a};
  int64_t read = 0;  // keeps the readings
  start_recording(size_t{2} * kEvents * kTries * 3);
  const double free = least([&] { record_memory(EventKind::kFree, a.storage); });
  auto of_op = [&](int inputs) {
    return least([&] {
      const int64_t begin = ticks(), kernel = ticks();
      record_op(op, kNative, in, inputs, &a, true, begin, kernel, 0);
    });
  };
  const double whole = of_op(2), bare = of_op(0);
  const double stamp = least([&] { read ^= ticks(); });
  stop_recording();
  for (const Recorded& r : drain()) release_chunk(r.chunk);
  volatile int64_t kept = read;
  (void)kept;
  const double ns = clock_scale().ns_per_tick;
  return {(whole + free) * ns, std::max(whole - bare, 0.0) * ns, (free + stamp) * ns, 2 * stamp * ns};
}

}  // namespace perflab
