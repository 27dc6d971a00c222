// Segments of the caching allocator: how they come, grow, shrink and go.
#include <algorithm>

#include "caching_allocator.h"

namespace perflab {
namespace {

size_t segment_bytes(size_t bytes) {
  if (bytes <= kLargestOfSmallPool) return kSmallSegment;
  return bytes < kOwnSegment ? kLargeSegment : round_up(bytes, 2 * kMiB);
}

}  // namespace

Block* CachingAllocator::map(const Request& r) {
  if (options_.expandable_segments && source_.page_bytes()) return grow(r);
  const size_t bytes = segment_bytes(r.bytes);
  if (!may_reserve(bytes)) return nullptr;
  auto whole = std::make_unique<Block>();
  void* memory = source_.map(bytes);
  if (!memory) return nullptr;
  ++stats_.device_allocs;
  Segment& s = add_segment(memory, bytes, 0, r, std::move(whole));
  count_reserved(s, static_cast<int64_t>(bytes));
  return s.first;
}

bool CachingAllocator::may_reserve(size_t bytes) const {
  return limit_ == SIZE_MAX || static_cast<size_t>(stats_.all.reserved_bytes.current) + bytes <= limit_;
}

Segment& CachingAllocator::add_segment(void* memory, size_t bytes, size_t step, const Request& r,
                                       std::unique_ptr<Block> whole) {
  auto* address = static_cast<char*>(memory);
  Segment& s = segments_[address];
  s = {address, bytes, step, 0, r.stream, &r.home, whole.release()};
  s.first->address = address, s.first->bytes = bytes, s.first->segment = &s;
  ++pools_.at(r.home.pool).segments;
  count_segment(s, 1);
  return s;
}

void CachingAllocator::remove_segment(Segment& s) noexcept {
  delete s.first;
  --pools_.at(s.home->pool).segments;
  count_segment(s, -1);
  segments_.erase(s.address);
}

void CachingAllocator::release(Block* b) noexcept {
  Segment& s = *b->segment;
  leave(b);
  source_.unmap(s.address, s.bytes);
  ++stats_.device_frees;
  count_reserved(s, -static_cast<int64_t>(s.bytes));
  remove_segment(s);
}

// --- segments that grow

// Where free blocks and unmapped parts, one behind the other, have room enough: its first block.
Block* CachingAllocator::place_to_grow(const Request& r) {
  for (Block* b : r.home.unmapped) {
    if (b->stream() != r.stream) continue;
    if (b->prev && b->prev->is_free()) b = b->prev;
    size_t room = 0;
    for (Block* at = b; at && at->is_free() && room < r.bytes; at = at->next) room += at->bytes;
    if (room >= r.bytes) return b;
  }
  const size_t step = round_up(r.home.small ? kSmallSegment : kLargeSegment, source_.page_bytes());
  const size_t total = source_.info().total;
  const size_t bytes = round_up(std::max(total + total / 8, r.bytes), step);  // an eighth more: parts may lie bare
  auto whole = std::make_unique<Block>();
  void* range = source_.reserve_range(bytes);
  if (!range) return nullptr;
  Block* b = add_segment(range, bytes, step, r, std::move(whole)).first;
  b->mapped = false;
  enter(b);
  return b;
}

Block* CachingAllocator::grow(const Request& r) {
  Block* b = place_to_grow(r);
  if (b && !b->mapped) b = commit(b, r.bytes);
  while (b && b->bytes < r.bytes) b = commit(b->next, r.bytes - b->bytes);
  if (b) leave(b);
  return b;
}

// Puts memory behind the beginning of an unmapped block: the free block that this becomes a part of, or null.
Block* CachingAllocator::commit(Block* b, size_t bytes) {
  Segment& s = *b->segment;
  bytes = std::min(round_up(bytes, s.step), b->bytes);
  if (!may_reserve(bytes)) return nullptr;
  auto rest = std::make_unique<Block>();
  if (!source_.map_at(b->address, bytes)) return nullptr;
  ++stats_.device_allocs;
  leave(b);
  if (bytes < b->bytes) {
    Block* tail = rest.release();
    tail->address = b->address + bytes, tail->bytes = b->bytes - bytes, tail->segment = &s, tail->mapped = false;
    tail->put_after(b);
    b->bytes = bytes;
    enter(tail);
  }
  b->mapped = true;
  count_reserved(s, static_cast<int64_t>(bytes));
  b = merged(b);
  enter(b);
  return b;
}

// Takes the memory from behind what is whole steps of a free block.
void CachingAllocator::withdraw(Block* b) {
  Segment& s = *b->segment;
  const auto at = static_cast<size_t>(b->address - s.address);
  const size_t begin = round_up(at, s.step), end = (at + b->bytes) / s.step * s.step;
  if (begin >= end) return;
  auto front = std::make_unique<Block>(), back = std::make_unique<Block>();
  source_.unmap_at(s.address + begin, end - begin);
  ++stats_.device_frees;
  leave(b);
  const auto split_off = [&](std::unique_ptr<Block>& part, size_t bytes) {  // what follows so many bytes of b
    Block* tail = part.release();
    tail->address = b->address + bytes, tail->bytes = b->bytes - bytes, tail->segment = &s;
    tail->put_after(b);
    b->bytes = bytes;
    return tail;
  };
  if (begin > at) {
    Block* bare = split_off(front, begin - at);
    enter(b);
    b = bare;
  }
  if (b->bytes > end - begin) enter(split_off(back, end - begin));
  b->mapped = false;
  count_reserved(s, -static_cast<int64_t>(end - begin));
  enter(merged(b));
}

void CachingAllocator::release_range(Block* b) noexcept {
  Segment& s = *b->segment;
  leave(b);
  source_.release_range(s.address, s.bytes);
  remove_segment(s);
}

// --- giving memory back

void CachingAllocator::empty_cache() {
  std::unique_lock lock(mutex_);
  collect_kept(lock);
  wait_for_events(lock);
  release_cached();
}

void CachingAllocator::release_cached() {
  release_cached(pools_.at(0).large);
  release_cached(pools_.at(0).small);
  for (auto p = pools_.begin(); p != pools_.end();) retire((p++)->first);
}

void CachingAllocator::release_cached(FreeBlocks& home) {
  for (Block* b : std::vector<Block*>(home.mapped.begin(), home.mapped.end())) {
    if (b->segment->step)
      withdraw(b);
    else if (!b->is_split())
      release(b);
  }
  for (Block* b : std::vector<Block*>(home.unmapped.begin(), home.unmapped.end()))
    if (!b->is_split()) release_range(b);
}

// What an ended pool has cached; the pool too, once it has nothing left.
void CachingAllocator::retire(uint32_t number) {
  auto p = pools_.find(number);
  if (p == pools_.end() || !p->second.ended) return;
  release_cached(p->second.large);
  release_cached(p->second.small);
  if (p->second.segments == 0) pools_.erase(p);
}

// The smallest cached block that is too large to be split for the request but would do, or as many of the largest as
// make up for it.
bool CachingAllocator::release_fitting(const Request& r) {
  if (options_.max_split_bytes == SIZE_MAX) return false;
  BlocksBySize& free = r.home.mapped;
  const size_t wanted = std::max(r.bytes, options_.max_split_bytes);
  const auto whole = [&](Block* b) { return b->stream() == r.stream && !b->is_split() && !b->segment->step; };
  auto at = free.lower_bound(BySize::Key{r.stream, wanted});
  for (auto fits = at; fits != free.end() && (*fits)->stream() == r.stream; ++fits)
    if (whole(*fits)) return release(*fits), true;
  size_t released = 0;
  while (released < wanted && at != free.begin()) {
    Block* b = *std::prev(at);
    if (b->stream() != r.stream || b->bytes < options_.max_split_bytes) break;
    if (!whole(b)) {
      --at;
      continue;
    }
    released += b->bytes;
    release(b);
  }
  return released >= wanted;
}

// Garbage collection: whole cached blocks, the longest unused first, until what is reserved is below the threshold.
void CachingAllocator::release_old() {
  const auto reserved = static_cast<size_t>(stats_.all.reserved_bytes.current);
  const auto threshold = static_cast<size_t>(options_.garbage_collection_threshold *
                                             static_cast<double>(std::min(limit_, source_.info().total)));
  if (reserved <= threshold) return;
  FreeBlocks& large = pools_.at(0).large;
  std::vector<Block*> whole;
  uint64_t ages = 0;
  const auto age = [&](Block* b) { return large.searches - b->free_since; };
  for (Block* b : large.mapped)
    if (!b->is_split() && !b->segment->step) whole.push_back(b), ages += age(b);
  size_t released = 0;
  while (released < reserved - threshold && !whole.empty()) {
    const double mean = static_cast<double>(ages) / static_cast<double>(whole.size());
    std::erase_if(whole, [&](Block* b) {  // all above the mean, so that this does not come again soon
      if (static_cast<double>(age(b)) < mean) return false;
      released += b->bytes, ages -= age(b);
      release(b);
      return true;
    });
  }
}

}  // namespace perflab
