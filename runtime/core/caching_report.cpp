// What the caching allocator tells: counts, a snapshot, and who holds memory when there is no more.
#include <algorithm>

#include "caching_allocator.h"

namespace perflab {

void CachingAllocator::count_segment(const Segment& s, int sign) {
  count(*s.home, [&](PoolStats& p) { p.segment.add(sign); });
  if (s.bytes >= options_.max_split_bytes && !s.step) stats_.oversize_segments.add(sign);
}

void CachingAllocator::count_reserved(Segment& s, int64_t bytes) {
  s.mapped += static_cast<size_t>(bytes);
  count(*s.home, [&](PoolStats& p) { p.reserved_bytes.add(bytes); });
}

void CachingAllocator::set_limit(size_t bytes) {
  std::lock_guard lock(mutex_);
  limit_ = bytes;
}

size_t CachingAllocator::reserved_bytes() {
  std::lock_guard lock(mutex_);
  return static_cast<size_t>(stats_.all.reserved_bytes.current);
}

size_t CachingAllocator::allocated_bytes() {
  if (kept_) return static_cast<size_t>(kept_->in_use().stat().current);
  std::lock_guard lock(mutex_);
  return static_cast<size_t>(stats_.all.allocated_bytes.current);
}

FreeBytes CachingAllocator::free_bytes() {
  std::unique_lock lock(mutex_);
  collect_kept(lock);
  FreeBytes f{0, 0};
  for (const auto& [number, pool] : pools_)
    for (const FreeBlocks* home : {&pool.small, &pool.large})
      for (const Block* b : home->mapped) f.bytes += b->bytes, f.largest = std::max(f.largest, b->bytes);
  return f;
}

MemoryStats CachingAllocator::stats() {
  std::unique_lock lock(mutex_);
  collect_kept(lock);
  process_events();
  MemoryStats stats = stats_;
  lock.unlock();
  if (kept_) stats.all.allocated_bytes = kept_->in_use().stat();  // without what threads keep, at its peak as well
  return stats;
}

void CachingAllocator::reset_peaks() {
  std::unique_lock lock(mutex_);
  collect_kept(lock);
  stats_.each([](Stat& s) { s.peak = s.current; });
  lock.unlock();
  if (kept_) kept_->in_use().reset_peak();
}

void CachingAllocator::reset_accumulated() {
  std::unique_lock lock(mutex_);
  collect_kept(lock);
  stats_.each([](Stat& s) { s.allocated = s.freed = 0; });
  stats_.retries = stats_.ooms = stats_.device_allocs = stats_.device_frees = 0;
  lock.unlock();
  if (kept_) kept_->in_use().reset_accumulated();
}

std::vector<SegmentState> CachingAllocator::snapshot() {
  std::unique_lock lock(mutex_);
  collect_kept(lock);
  process_events();
  std::vector<SegmentState> all;
  for (const auto& [address, s] : segments_) {
    SegmentState& state = all.emplace_back();
    state = {reinterpret_cast<uintptr_t>(address),
             s.bytes,
             s.mapped,
             s.stream,
             s.home->pool,
             s.home->small,
             s.step != 0,
             {}};
    for (const Block* b = s.first; b; b = b->next)
      state.blocks.push_back({reinterpret_cast<uintptr_t>(b->address), b->bytes, b->asked,
                              !b->mapped      ? BlockState::kUnmapped
                              : b->used       ? BlockState::kUsed
                              : !b->is_free() ? BlockState::kPending
                                              : BlockState::kFree,
                              b->owner});
  }
  return all;
}

void CachingAllocator::refuse(size_t asked, size_t bytes) {
  ++stats_.ooms;
  OutOfMemory e(asked);
  e.device = device_, e.rounded = bytes, e.limit = limit_, e.on_device = source_.info();
  e.allocated = static_cast<size_t>(stats_.all.allocated_bytes.current);
  e.reserved = static_cast<size_t>(stats_.all.reserved_bytes.current);
  std::map<Owner, OwnedBytes> owners;
  for (const auto& [address, s] : segments_)
    for (const Block* b = s.first; b; b = b->next) {
      if (b->used) {
        OwnedBytes& o = owners[b->owner];
        o.owner = b->owner, o.bytes += b->bytes, ++o.blocks;
      } else if (b->mapped && b->is_free()) {
        e.free += b->bytes, e.largest_free = std::max(e.largest_free, b->bytes);
      }
    }
  std::vector<OwnedBytes> largest;
  for (const auto& [owner, o] : owners) largest.push_back(o);
  std::sort(largest.begin(), largest.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  std::copy_n(largest.begin(), std::min(largest.size(), e.owners.size()), e.owners.begin());
  throw e;
}

}  // namespace perflab
