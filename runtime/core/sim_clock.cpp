#include "sim_clock.h"

#include <algorithm>
#include <cmath>

#include "clock.h"
#include "error.h"

namespace perflab {

namespace {
constexpr int64_t kBegin = 1'000'000;
}

SimClock& sim_clock() {
  static SimClock& clock = *new SimClock;
  return clock;
}

void SimClock::start(const SimSpec& spec) {
  std::lock_guard lock(mutex_);
  if (is_on()) throw Error(ErrorKind::kValue, "modelled time is kept already: one with block at a time");
  spec_ = spec, host_ = kBegin;
  set_fake_ticks(host_);
  on_.store(true);
}

void SimClock::stop() {
  std::lock_guard lock(mutex_);
  on_.store(false);
  use_real_clock();
}

SimClock::Span SimClock::spend(SimLine& line, const SimWork& work) {
  std::lock_guard lock(mutex_);
  const double rate = spec_.flops[static_cast<int>(work.dtype)];
  const double seconds = work.to_cpu_or_back ? work.bytes / spec_.copy_bandwidth
                                             : std::max(work.flops / rate, work.bytes / spec_.bandwidth);
  const int64_t launch = host_;
  host_ += spec_.launch_ns;
  const int64_t begin = std::max(host_, line.free_at);
  line.free_at = begin + std::max<int64_t>(1, std::llround(seconds * 1e9));
  set_fake_ticks(host_);
  return {launch, begin, line.free_at};
}

void SimClock::wait(SimLine& waiting, const SimLine& other) {
  std::lock_guard lock(mutex_);
  waiting.free_at = std::max(waiting.free_at, other.free_at);
}

void SimClock::wait_until(SimLine& waiting, int64_t time) {
  std::lock_guard lock(mutex_);
  waiting.free_at = std::max(waiting.free_at, time);
}

int64_t SimClock::host_waits(int64_t until) {
  std::lock_guard lock(mutex_);
  host_ = std::max(host_, until);
  set_fake_ticks(host_);
  return host_;
}

int64_t SimClock::now() {
  std::lock_guard lock(mutex_);
  return host_;
}

}  // namespace perflab
