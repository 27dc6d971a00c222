// Sizes of small blocks: every 64 bytes up to 2 KiB, from there four per doubling up to 1 MiB (at most 25 % unused).
#pragma once
#include <bit>
#include <cstddef>

namespace perflab {

constexpr size_t kLargestSmall = size_t{1} << 20;
constexpr int kSizeClasses = 32 + 4 * 9;

constexpr int size_class(size_t bytes) {
  if (bytes <= 2048) return static_cast<int>((bytes - (bytes != 0)) / 64);
  int log = std::bit_width(bytes - 1) - 1;  // 2^log < bytes <= 2^(log + 1)
  return 32 + 4 * (log - 11) + static_cast<int>((bytes - 1) >> (log - 2)) - 4;
}

constexpr size_t class_bytes(int c) {
  return c < 32 ? static_cast<size_t>(c + 1) * 64 : static_cast<size_t>(5 + (c - 32) % 4) << (9 + (c - 32) / 4);
}

static_assert(size_class(kLargestSmall) == kSizeClasses - 1 && class_bytes(kSizeClasses - 1) == kLargestSmall);
static_assert(size_class(2048) == 31 && class_bytes(31) == 2048 && size_class(2049) == 32 && class_bytes(32) == 2560);

}  // namespace perflab
