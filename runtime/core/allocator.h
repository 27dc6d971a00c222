// The caching allocator for host memory: per-thread free lists of size classes below 1 MiB, cached huge-page-backed
// blocks from there on. Sizes come back with the pointer (the owner knows them), so blocks carry no header; all are
// 64-byte aligned.
#pragma once
#include <cstddef>
#include <cstdint>

#include "source.h"

namespace perflab {

constexpr Stream kHostStream = 0;  // the only one of host memory

void* allocate(size_t bytes, Stream stream = kHostStream);
void deallocate(void* block, size_t bytes, Stream stream = kHostStream) noexcept;
size_t reserved_bytes();  // mapped from the system and not given back
void empty_cache();       // gives cached large blocks back to the system

}  // namespace perflab
