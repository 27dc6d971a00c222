#include <algorithm>
#include <vector>

#include "arrays.h"
#include "check.h"
#include "kernels/random.h"

namespace perflab {
namespace {

// The known answers that come with Random123, Philox's reference implementation.
TEST(philox_gives_the_published_numbers) {
  Array words = array<int64_t>({4});
  auto word = [&](int64_t i) { return static_cast<uint64_t>(words.as<int64_t>()[i]); };
  random_integers(words, {0, 0}, 0, 0);
  CHECK(word(0) == 0xe169c58d6627e8d5u);
  CHECK(word(1) == 0x9b00dbd8bc57ac4cu);
  random_integers(words, {0, 1}, 0, 0);
  const uint64_t second_block = word(0);
  random_integers(words, {0, 0}, 0, 0);
  CHECK(word(2) == second_block);
}

TEST(numbers_below_a_span_stay_there) {
  Array dice = array<int64_t>({1000});
  random_integers(dice, {7, 0}, -3, 6);
  auto [low, high] = std::minmax_element(dice.as<int64_t>(), dice.as<int64_t>() + 1000);
  CHECK(*low == -3);
  CHECK(*high == 2);
}

TEST(a_permutation_has_every_number_once) {
  Array order = array<int64_t>({1000});
  random_permutation(order, {7, 0});
  std::vector<int64_t> sorted(order.as<int64_t>(), order.as<int64_t>() + 1000);
  CHECK(!std::is_sorted(sorted.begin(), sorted.end()));
  std::sort(sorted.begin(), sorted.end());
  for (int64_t i = 0; i < 1000; ++i) CHECK(sorted[static_cast<size_t>(i)] == i);
}

TEST(random_floats_go_into_floats) {
  Array whole = array<int64_t>({4});
  CHECK_THROWS(Error, random_uniform(whole, {0, 0}, 0, 1, 24));
  Array single = array<float>({4});
  CHECK_THROWS(Error, random_integers(single, {0, 0}, 0, 2));
}

}  // namespace
}  // namespace perflab
