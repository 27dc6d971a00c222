// Sizes of small blocks: every 64 bytes up to 2 KiB, from there four per doubling up to 1 MiB, and all of them 64 bytes
// more: a storage begins with a header of 64 bytes, and what follows it is most often a power of two.
#pragma once
#include <bit>
#include <cstddef>

namespace perflab {

constexpr size_t kHeader = 64, kFine = 2048 + kHeader, kLargestSmall = (size_t{1} << 20) + kHeader;
constexpr int kFineClasses = kFine / 64, kSizeClasses = kFineClasses + 4 * 9;

constexpr int size_class(size_t bytes) {
  if (bytes <= kFine) return static_cast<int>((bytes - (bytes != 0)) / 64);
  const size_t last = bytes - kHeader - 1;
  const int log = std::bit_width(last) - 1;
  return kFineClasses + 4 * (log - 11) + static_cast<int>(last >> (log - 2)) - 4;
}

constexpr size_t class_bytes(int c) {
  if (c < kFineClasses) return static_cast<size_t>(c + 1) * 64;
  c -= kFineClasses;
  return kHeader + (static_cast<size_t>(5 + c % 4) << (9 + c / 4));
}

static_assert(size_class(kLargestSmall) == kSizeClasses - 1 && class_bytes(kSizeClasses - 1) == kLargestSmall);
static_assert(size_class(kFine + 1) == kFineClasses && class_bytes(kFineClasses) == 2560 + kHeader);

}  // namespace perflab
