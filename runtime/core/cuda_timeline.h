// When work on a CUDA device was done, for the recorder: by pairs of events in the streams. Each costs the streams a
// little, so only some of the ops have one, and none where CUPTI tells the times.
#pragma once
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "event.h"
#include "source.h"

namespace perflab::cuda {

// From now on one op in n has a pair of events, and each copy has; none has where n is 0.
void time_one_in(unsigned n);

class Timeline {
 public:
  explicit Timeline(int device) : device_(device) {}

  // Around what is put on a stream: `like` has the name and flags of the work, and the stream in `address`.
  class Span {
   public:
    Span(Timeline&, Stream, const Event& like);
    ~Span();
    Span(const Span&) = delete;
    void set_backend(EventBackend b) { event_.flags = static_cast<uint16_t>((event_.flags & ~7) | b); }

   private:
    Timeline& timeline_;
    const Stream stream_;
    Event event_;
    uintptr_t begin_ = 0, end_ = 0;  // 0: the work is not timed
  };

  void record_done();  // the work that is done so far

 private:
  struct Timed {
    uintptr_t begin, end;
    Event event;
  };
  uintptr_t take_event();
  void record(Timed&);

  static constexpr size_t kMost = 4096;  // pieces of work under way that are timed
  const int device_;
  std::mutex mutex_;
  std::deque<Timed> under_way_;
  std::vector<uintptr_t> free_;
  uintptr_t base_ = 0;  // an event whose tick is known
  int64_t base_tick_ = 0;
};

}  // namespace perflab::cuda
