// Whether sharing work with other threads pays. Where others keep the helpers from their cores, the caller ends its
// parts and waits for one that has been interrupted; then it works alone for some jobs, for more each time.
#pragma once
#include <algorithm>
#include <cstdint>

namespace perflab {

class Patience {
 public:
  static constexpr int kMost = 63;               // jobs alone, before it is tried again
  static constexpr int64_t kShortest = 200'000;  // ns that are a wait

  // Whether the next job is to be shared.
  bool next() {
    if (alone_ == 0) return true;
    --alone_;
    return false;
  }
  // Of a job that was shared: how long the caller worked, and then waited for the others, in ns.
  void note(int64_t worked, int64_t waited) {
    if (waited > kShortest && waited > worked / 2) {
      times_ = std::min(2 * times_ + 1, kMost);
      alone_ = times_;
    } else {
      times_ /= 2;
    }
  }

 private:
  int times_ = 0;  // that it works alone after the last wait
  int alone_ = 0;  // of which are left
};

}  // namespace perflab
