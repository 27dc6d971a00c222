#include "caching_allocator.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace perflab {
CachingAllocator::CachingAllocator(MemorySource& source, int device, const AllocatorOptions& options)
    : source_(source), device_(device), options_(options) {
  pools_.try_emplace(0, 0);
  if (options.threads_keep_blocks) kept_ = std::make_unique<KeptBlocks>(device);
}

CachingAllocator::~CachingAllocator() {
  if (kept_) kept_->collect();
  for (auto& [stream, queue] : pending_)
    for (const Pending& p : queue) source_.wait_event(p.event), source_.drop_event(p.event);
  while (!segments_.empty()) {
    Segment& s = segments_.begin()->second;
    for (Block* b = s.first; b;) {
      if (s.step && b->mapped) source_.unmap_at(b->address, b->bytes);
      delete std::exchange(b, b->next);
    }
    s.step ? source_.release_range(s.address, s.bytes) : source_.unmap(s.address, s.bytes);
    segments_.erase(segments_.begin());
  }
}

// --- allocate and deallocate

Block* CachingAllocator::allocate(size_t asked, Stream stream, uint32_t pool, Owner owner) {
  Block* freed = nullptr;  // that this thread kept, and that serves no more
  if (kept_ && !pool) {
    const size_t bytes = rounded(asked);
    const size_t spare = options_.expandable_segments ? 0 : kLargestOfSmallPool;  // that cut() leaves
    Block* b = asked <= kLargestOfSmallPool ? kept_->take(bytes, stream, asked)
                                            : kept_->take_large(bytes, bytes + spare, stream, asked, freed);
    if (b) {
      b->owner = owner;
      return b;
    }
  }
  std::unique_lock lock(mutex_);
  if (freed) put_back(freed);
  if (asked > SIZE_MAX / 4) refuse(asked, asked);
  make_ready();
  if (!pending_.empty()) process_events();
  const size_t bytes = rounded(asked);
  Pool& from = pool_of(pool);
  const Request r{bytes, stream, bytes <= kLargestOfSmallPool ? from.small : from.large};
  Block* b = search(r);
  if (!b && kept_) {
    collect_kept(lock);
    make_ready();
    b = search(r);
  }
  if (!b) {
    if (options_.garbage_collection_threshold > 0) release_old();
    b = map(r);
    if (!b && release_fitting(r)) b = map(r);
    if (!b) {
      wait_for_events(lock);
      make_ready();
      release_cached();
      ++stats_.retries;
      b = search(r);
      if (!b) b = map(r);
      if (!b) refuse(asked, bytes);
    }
  }
  cut(b, bytes);
  b->used = true, b->asked = asked, b->owner = owner;
  used_.insert(b);
  count(r.home, [&](PoolStats& s) {
    s.allocation.add(1), s.allocated_bytes.add(b->bytes), s.requested_bytes.add(asked);
    s.active.add(1), s.active_bytes.add(b->bytes);
  });
  if (b->bytes >= options_.max_split_bytes) stats_.oversize_allocations.add(1);
  lock.unlock();
  if (kept_) kept_->count(b, 1);
  return b;
}

// Whenever the lock was taken: from here on allocate() fails before it changes anything, or not at all.
void CachingAllocator::make_ready() {
  if (!spare_) spare_ = std::make_unique<Block>();
  used_.reserve_one();
}

void CachingAllocator::deallocate(Block* b) noexcept {
  if (kept_) {
    if (!b->segment->home->small && b->bytes < options_.max_split_bytes) {
      b = kept_->keep_large(b);
      if (!b) return;
    } else {
      if (kept_->keep(b)) return;
      kept_->count(b, -1);
    }
  }
  std::lock_guard lock(mutex_);
  put_back(b);
}

void CachingAllocator::deallocate(const void* address) noexcept { deallocate(find(address)); }

void CachingAllocator::put_back(Block* b) noexcept {
  used_.erase(b);
  b->used = false;
  count(*b->segment->home, [&](PoolStats& s) {
    s.allocation.add(-1), s.allocated_bytes.add(-static_cast<int64_t>(b->bytes));
    s.requested_bytes.add(-static_cast<int64_t>(b->asked));
  });
  if (b->bytes >= options_.max_split_bytes) stats_.oversize_allocations.add(-1);
  for (Stream s : b->streams) {
    const StreamEvent event = source_.record_event(s);
    try {
      pending_[s].push_back({event, b});
      ++b->pending;
    } catch (const std::bad_alloc&) {  // no room to remember it
      source_.wait_event(event), source_.drop_event(event);
    }
  }
  b->streams.clear();
  if (b->pending) return;
  const uint32_t pool = b->segment->home->pool;
  make_free(b);
  if (pool) retire(pool);
}

// What threads keep goes back, and what they did with it counts.
void CachingAllocator::collect_kept(std::unique_lock<std::mutex>& lock) {
  if (!kept_) return;
  lock.unlock();
  const KeptBlocks::Collected c = kept_->collect();
  lock.lock();
  const Pool& first = pools_.begin()->second;
  count_taken(first.small, c.small), count_taken(first.large, c.large);
  for (Block* b : c.blocks) put_back(b);
}

void CachingAllocator::count_taken(const FreeBlocks& home, const KeptBlocks::Taken& t) {
  count(home, [&](PoolStats& s) {
    s.allocation.pass(t.takes, t.takes), s.allocated_bytes.pass(t.bytes, t.bytes);
    s.active.pass(t.takes, t.takes), s.active_bytes.pass(t.bytes, t.bytes);
    s.requested_bytes.pass(t.asked, t.asked_before);
  });
}

Block* CachingAllocator::find(const void* address) {
  std::lock_guard lock(mutex_);
  return used_.find(address);
}

size_t CachingAllocator::rounded(size_t bytes) const {
  if (bytes < kMinBlock) return kMinBlock;
  const int log = std::bit_width(bytes) - 1;
  const size_t divisions = options_.divisions[static_cast<size_t>(std::clamp(log - 20, 0, 15))];
  if (divisions <= 1 || bytes <= kMinBlock * divisions) return round_up(bytes, kMinBlock);
  return round_up(bytes, (size_t{1} << log) / std::bit_floor(divisions));
}

// --- blocks within a segment

// What a block is too large by goes back, where it may be split.
void CachingAllocator::cut(Block* b, size_t bytes) {
  const size_t rest = b->bytes - bytes;
  const bool split = b->segment->home->small || options_.expandable_segments
                         ? rest >= kMinBlock
                         : bytes < options_.max_split_bytes && rest > kLargestOfSmallPool;
  if (!split) return;
  Block* tail = spare_.release();
  tail->address = b->address + bytes, tail->bytes = rest, tail->segment = b->segment;
  tail->put_after(b);
  b->bytes = bytes;
  enter(tail);
}

void CachingAllocator::enter(Block* b) noexcept {
  b->segment->home->insert(b);
  if (!b->mapped || !b->is_split() || b->segment->step) return;
  count(*b->segment->home, [&](PoolStats& s) { s.inactive_split.add(1), s.inactive_split_bytes.add(b->bytes); });
}

void CachingAllocator::leave(Block* b) noexcept {
  b->segment->home->erase(b);
  if (!b->mapped || !b->is_split() || b->segment->step) return;
  count(*b->segment->home,
        [&](PoolStats& s) { s.inactive_split.add(-1), s.inactive_split_bytes.add(-static_cast<int64_t>(b->bytes)); });
}

// The block, in no set, with its free neighbours in it.
Block* CachingAllocator::merged(Block* b) noexcept {
  const auto joins = [&](Block* other) { return other && other->is_free() && other->mapped == b->mapped; };
  if (joins(b->next)) {
    Block* after = b->next;
    leave(after);
    b->absorb_next();
    discard(after);
  }
  if (joins(b->prev)) {
    Block* before = b->prev;
    leave(before);
    before->absorb_next();
    discard(std::exchange(b, before));
  }
  return b;
}

// Kept for the next cut: most frees undo one.
void CachingAllocator::discard(Block* b) noexcept {
  if (spare_) return delete b;
  b->renew();
  spare_.reset(b);
}

void CachingAllocator::make_free(Block* b) noexcept {
  count(*b->segment->home,
        [&](PoolStats& s) { s.active.add(-1), s.active_bytes.add(-static_cast<int64_t>(b->bytes)); });
  b->owner = {}, b->asked = 0;
  enter(merged(b));
}

// The best fit, taken out of its home; null: there is none.
Block* CachingAllocator::search(const Request& r) {
  BlocksBySize& free = r.home.mapped;
  ++r.home.searches;
  auto at = free.lower_bound(BySize::Key{r.stream, r.bytes});
  if (at == free.end() || (*at)->stream() != r.stream) return nullptr;
  if ((*at)->segment->step) {  // best fit by the size that a block could grow to
    const auto could_be = [](Block* b) { return b->bytes + (b->next && !b->next->mapped ? b->next->bytes : 0); };
    for (auto next = std::next(at);
         next != free.end() && (*next)->stream() == r.stream && (*at)->segment->step && could_be(*next) < could_be(*at);
         ++next)
      at = next;
  }
  Block* b = *at;
  const size_t most = options_.max_split_bytes;
  if (r.bytes < most ? b->bytes >= most : b->bytes >= r.bytes + kLargeSegment) return nullptr;
  leave(b);
  return b;
}

// --- other streams

void CachingAllocator::record_stream(Block* b, Stream stream) {
  std::lock_guard lock(mutex_);
  if (stream == b->stream() || std::find(b->streams.begin(), b->streams.end(), stream) != b->streams.end()) return;
  b->streams.push_back(stream);
}

void CachingAllocator::settle(const Pending& p) noexcept {
  source_.drop_event(p.event);
  if (--p.block->pending == 0) make_free(p.block);
}

void CachingAllocator::process_events() noexcept {
  for (auto at = pending_.begin(); at != pending_.end();) {
    auto& queue = at->second;
    while (!queue.empty() && source_.event_passed(queue.front().event)) {
      settle(queue.front());
      queue.pop_front();
    }
    at = queue.empty() ? pending_.erase(at) : std::next(at);
  }
}

// Without the lock: what the streams still have to do may free blocks.
void CachingAllocator::wait_for_events(std::unique_lock<std::mutex>& lock) {
  auto taken = std::exchange(pending_, {});
  lock.unlock();
  for (auto& [stream, queue] : taken)
    for (const Pending& p : queue) source_.wait_event(p.event);
  lock.lock();
  for (auto& [stream, queue] : taken)
    for (const Pending& p : queue) settle(p);
}

// --- pools

CachingAllocator::Pool& CachingAllocator::pool_of(uint32_t pool) {
  auto p = pool ? pools_.find(pool) : pools_.begin();
  return p == pools_.end() ? pools_.begin()->second : p->second;
}

uint32_t CachingAllocator::make_pool() {
  std::lock_guard lock(mutex_);
  const uint32_t number = last_pool_ + 1;
  pools_.try_emplace(number, number);
  return last_pool_ = number;
}

void CachingAllocator::end_pool(uint32_t pool) noexcept {
  std::lock_guard lock(mutex_);
  if (auto p = pools_.find(pool); p != pools_.end()) p->second.ended = true;
  retire(pool);
}

}  // namespace perflab
