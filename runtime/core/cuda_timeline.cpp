#include "cuda_timeline.h"

#include <atomic>
#include <utility>

#include "clock.h"
#include "cuda_device.h"
#include "error.h"
#include "recorder.h"

namespace perflab::cuda {
namespace {

std::atomic<unsigned> one_in{1};

// Spread, so that in a loop whose length n divides each op has its turn.
bool is_chosen(const Event& e) {
  const unsigned n = one_in.load(std::memory_order_relaxed);
  if (n < 2 || e.flags & kCopy) return n > 0;
  return (e.sequence * 0x9E3779B97F4A7C15u >> 32) % n == 0;
}

uint64_t next_launch() {  // those of sim are counted from 1
  static std::atomic<uint64_t> last{uint64_t{1} << 32};
  return last.fetch_add(1, std::memory_order_relaxed);
}

void record_as(EventKind kind, const Event& like, int64_t t0, int64_t t2) {
  Event& e = next_event();
  e = like;
  e.t0 = t0, e.t2 = t2, e.kind = kind;
}

}  // namespace

void time_one_in(unsigned n) { one_in = n; }

uintptr_t Timeline::take_event() {
  if (free_.empty()) return new_event(device_, true);
  const uintptr_t event = free_.back();
  free_.pop_back();
  return event;
}

Timeline::Span::Span(Timeline& timeline, Stream stream, const Event& like)
    : timeline_(timeline), stream_(stream), event_(like) {
  event_.sequence = next_launch(), event_.scope = current_scope;
  timeline.record_done();
  std::scoped_lock lock(timeline.mutex_);
  const bool chosen = is_chosen(event_);
  if (chosen && !timeline.base_) {  // once: the device is waited for
    timeline.base_ = timeline.take_event();
    record_event(timeline.device_, timeline.base_, stream);
    synchronize_event(timeline.device_, timeline.base_);
    timeline.base_tick_ = ticks();
  }
  if (chosen && timeline.under_way_.size() < kMost) {
    begin_ = timeline.take_event(), end_ = timeline.take_event();
    record_event(timeline.device_, begin_, stream);
  }
  event_.t0 = ticks();
}

Timeline::Span::~Span() {
  record_as(EventKind::kLaunch, event_, event_.t0, ticks());
  if (!begin_) return;
  try {
    record_event(timeline_.device_, end_, stream_);
    std::scoped_lock lock(timeline_.mutex_);
    timeline_.under_way_.push_back({begin_, end_, event_});
  } catch (const Error&) {  // the device failed: who waits for it is told
  }
}

void Timeline::record(Timed& t) {
  const double ticks_per_ms = 1e6 / clock_scale().ns_per_tick;
  const auto at = [&](double ms) { return static_cast<int64_t>(ms * ticks_per_ms); };
  const int64_t begin = base_tick_ + at(elapsed_ms(device_, base_, t.begin));
  const int64_t end = begin + at(elapsed_ms(device_, t.begin, t.end));
  record_as(EventKind::kKernel, t.event, begin, end);
  // The driver tells milliseconds as floats: the base stays near.
  std::swap(base_, t.end), base_tick_ = end;
  free_.push_back(t.begin), free_.push_back(t.end);
}

void Timeline::record_done() {
  std::scoped_lock lock(mutex_);
  while (!under_way_.empty() && event_passed(device_, under_way_.front().end)) {
    Timed t = under_way_.front();
    under_way_.pop_front();
    record(t);
  }
}

}  // namespace perflab::cuda
