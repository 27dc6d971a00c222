// Memory of the host: per-thread free lists of size classes up to 1 MiB, the caching allocator from there on. Sizes
// come back with the pointer (the owner knows them), so blocks carry no header; all are 64-byte aligned.
#pragma once
#include <cstddef>

#include "source.h"

namespace perflab {

struct Block;
class CachingAllocator;
class LiveBytes;

constexpr Stream kHostStream = 0;  // the only one of host memory

void* allocate(size_t bytes);  // throws OutOfMemory
void deallocate(void* block, size_t bytes) noexcept;
// Of more than kLargestSmall bytes, for those that remember the block.
Block* allocate_block(size_t bytes);
void deallocate_block(Block*) noexcept;
LiveBytes& host_bytes();           // of storages, as asked for
size_t block_bytes(size_t bytes);  // of the block that serves so many

CachingAllocator& host_allocator();  // what lies behind: large blocks, and slabs of small ones

}  // namespace perflab
