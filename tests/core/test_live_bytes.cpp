#include <thread>
#include <vector>

#include "check.h"
#include "live_bytes.h"

namespace perflab {
namespace {

TEST(the_peak_of_one_thread_is_exact) {
  LiveBytes bytes;
  LiveBytes::Cell& c = *bytes.make_cell();
  bytes.add(c, 100), bytes.add(c, 50), bytes.remove(c, 120), bytes.add(c, 60);
  CHECK(bytes.stat().peak == 150 && bytes.stat().current == 90);
  bytes.reset_peak();
  CHECK(bytes.stat().peak == 90);
  bytes.add(c, 1), bytes.remove(c, 91);
  CHECK(bytes.stat().peak == 91 && bytes.stat().current == 0 && bytes.stat().allocated == 211);
  bytes.reset_accumulated();
  bytes.add(c, 5);
  CHECK(bytes.stat().allocated == 5 && bytes.stat().freed == 0 && bytes.stat().current == 5);
  bytes.change_by_any(100), bytes.change_by_any(-30);
  CHECK(bytes.stat().current == 75 && bytes.stat().peak == 105);
  delete &c;
}

// Each holds its bytes while the others reach theirs: the peak is the sum, though no thread sees more than its own.
TEST(the_peak_of_threads_that_take_turns_is_their_sum) {
  LiveBytes bytes;
  std::vector<LiveBytes::Cell*> cells;
  for (int t = 0; t < 4; ++t) cells.push_back(bytes.make_cell());
  for (int round = 0; round < 3; ++round) {
    int64_t n = 0;
    for (LiveBytes::Cell* c : cells) n += 1000, bytes.add(*c, n), bytes.remove(*c, 400), bytes.add(*c, 400);
    CHECK(bytes.stat().peak == 10'000 && bytes.stat().current == 10'000);
    bytes.remove(*cells[0], 10'000);
  }
  for (LiveBytes::Cell* c : cells) delete c;
}

TEST(bytes_of_many_threads_add_up) {
  LiveBytes bytes;
  std::vector<LiveBytes::Cell*> cells;
  for (int t = 0; t < 8; ++t) cells.push_back(bytes.make_cell());
  std::vector<std::thread> threads;
  for (LiveBytes::Cell* c : cells)
    threads.emplace_back([&bytes, c] {
      for (int i = 0; i < 20'000; ++i) bytes.add(*c, 64), bytes.add(*c, i), bytes.remove(*c, i), bytes.remove(*c, 64);
    });
  for (auto& t : threads) t.join();
  CHECK(bytes.stat().current == 0 && bytes.stat().allocated == 8 * (20'000 * 64 + 20'000ll * 19'999 / 2));
  CHECK(bytes.stat().peak >= 64 + 19'999 && bytes.stat().peak <= 8 * (64 + 19'999));
  for (LiveBytes::Cell* c : cells) delete c;
}

}  // namespace
}  // namespace perflab
