#include <thread>
#include <vector>

#include "check.h"
#include "live_bytes.h"

namespace perflab {
namespace {

TEST(the_peak_of_one_thread_is_exact) {
  LiveBytes::reset_peak();
  const int64_t before = LiveBytes::totals().peak;
  LiveBytes::add(100), LiveBytes::add(50), LiveBytes::remove(120), LiveBytes::add(60);
  const auto t = LiveBytes::totals();
  CHECK(t.peak == before + 150 && t.added - t.freed == before + 90);
  LiveBytes::reset_peak();
  CHECK(LiveBytes::totals().peak == before + 90);
  LiveBytes::add(1), LiveBytes::remove(91);
  CHECK(LiveBytes::totals().peak == before + 91);
}

// Each holds its bytes while the others reach theirs: the peak is the sum, though no thread sees more than its own.
TEST(the_peak_of_threads_that_take_turns_is_their_sum) {
  LiveBytes::reset_peak();
  const int64_t before = LiveBytes::totals().peak;
  for (int round = 0; round < 3; ++round) {
    for (int64_t t = 1; t <= 4; ++t)
      std::thread([t] { LiveBytes::add(1000 * t), LiveBytes::remove(400 * t), LiveBytes::add(400 * t); }).join();
    CHECK(LiveBytes::totals().peak == before + 10'000);
    std::thread([] { LiveBytes::remove(10'000); }).join();
  }
}

TEST(bytes_of_many_threads_add_up) {
  const auto start = LiveBytes::totals();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 20'000; ++i)
        LiveBytes::add(64), LiveBytes::add(i), LiveBytes::remove(i), LiveBytes::remove(64);
    });
  for (auto& t : threads) t.join();
  const auto end = LiveBytes::totals();
  CHECK(end.added - end.freed == start.added - start.freed);
  CHECK(end.added - start.added == 8 * (20'000 * 64 + 20'000ll * 19'999 / 2));
  LiveBytes::reset_peak();
}

}  // namespace
}  // namespace perflab
