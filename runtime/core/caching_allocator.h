// The caching allocator of a device, in PyTorch's way: a small and a large pool, best fit, blocks split and coalesced
// inside segments, each bound to a stream. It decides by sizes, streams and events alone and never touches the memory.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <new>

#include "block.h"
#include "kept_blocks.h"
#include "memory_stats.h"
#include "out_of_memory.h"

namespace perflab {

struct AllocatorOptions {
  size_t max_split_bytes = SIZE_MAX;        // larger blocks are not split
  std::array<uint32_t, 16> divisions{};     // sizes from 2^(20 + i) are rounded to 1/n of a power of two; 0: to 512
  double garbage_collection_threshold = 0;  // share of the limit from which old cached blocks go; 0: they stay
  bool expandable_segments = false;         // where the source has virtual memory
  bool threads_keep_blocks = false;         // small ones, see kept_blocks.h
};

inline AllocatorOptions allocator_options;  // of allocators that are made from now on

struct BlockState {  // of the snapshot
  uintptr_t address;
  size_t bytes, asked;
  enum { kFree, kUsed, kPending, kUnmapped } state;
  Owner owner;
};
struct SegmentState {
  uintptr_t address;
  size_t bytes, mapped;
  Stream stream;
  uint32_t pool;
  bool small, expandable;
  std::vector<BlockState> blocks;
};

struct FreeBytes {
  size_t bytes, largest;  // of cached blocks
};

class CachingAllocator {
 public:
  CachingAllocator(MemorySource& source, int device, const AllocatorOptions& options = {});
  ~CachingAllocator();  // gives every segment back, blocks in use as well
  CachingAllocator(const CachingAllocator&) = delete;

  // Throws OutOfMemory when there is no more after all that is cached was given back.
  Block* allocate(size_t bytes, Stream stream = 0, uint32_t pool = 0, Owner owner = {});
  void deallocate(Block*) noexcept;
  void deallocate(const void* address) noexcept;  // of a block in use
  Block* find(const void* address);               // that begins there and is in use; null: none
  // Once freed, the block is handed out again only when what is on that stream at that moment has been done.
  void record_stream(Block*, Stream);

  void empty_cache();            // waits for pending events, gives free segments back to the source
  void set_limit(size_t bytes);  // of what may be reserved; SIZE_MAX: none
  size_t reserved_bytes();
  size_t allocated_bytes();  // without what threads keep, and without taking that from them
  FreeBytes free_bytes();
  MemoryInfo info() { return source_.info(); }
  MemoryStats stats();
  void reset_peaks();
  void reset_accumulated();
  std::vector<SegmentState> snapshot();

  // Pools of the user's own, beside the default one, which is 0. An ended pool's memory goes when nothing in it is
  // used.
  uint32_t make_pool();
  void end_pool(uint32_t pool) noexcept;

  int device() const { return device_; }
  std::mutex& mutex() { return mutex_; }

 private:
  struct Pool {
    explicit Pool(uint32_t number) : small{number, true, {}, {}}, large{number, false, {}, {}} {}
    FreeBlocks small, large;
    bool ended = false;
    size_t segments = 0;
  };
  struct Request {
    size_t bytes;  // rounded
    Stream stream;
    FreeBlocks& home;
  };
  struct Pending {
    StreamEvent event;
    Block* block;
  };

  size_t rounded(size_t bytes) const;
  Pool& pool_of(uint32_t pool);
  template <class F>
  void count(const FreeBlocks& home, F change) {
    change(stats_.all);
    change(home.small ? stats_.small_pool : stats_.large_pool);
  }
  void count_taken(const FreeBlocks& home, const KeptBlocks::Taken&);
  void count_segment(const Segment&, int sign);
  void count_reserved(Segment&, int64_t bytes);

  // Free blocks that serve a request, taken out of its home; null: there is none.
  Block* search(const Request&);
  Block* map(const Request&);
  Block* grow(const Request&);

  Segment& add_segment(void* memory, size_t bytes, size_t step, const Request&, std::unique_ptr<Block> whole);
  void remove_segment(Segment&) noexcept;
  Block* place_to_grow(const Request&);
  Block* commit(Block* unmapped, size_t bytes);
  void withdraw(Block*);
  void release_range(Block*) noexcept;
  bool may_reserve(size_t bytes) const;

  void release_old();
  bool release_fitting(const Request&);
  void release_cached();
  void release_cached(FreeBlocks&);
  void release(Block*) noexcept;
  void retire(uint32_t pool);

  void cut(Block*, size_t bytes);
  void enter(Block*) noexcept;
  void leave(Block*) noexcept;
  Block* merged(Block*) noexcept;
  void discard(Block*) noexcept;
  void make_free(Block*) noexcept;
  void make_ready();
  void put_back(Block*) noexcept;
  void collect_kept(std::unique_lock<std::mutex>&);

  void process_events() noexcept;
  void wait_for_events(std::unique_lock<std::mutex>&);
  void settle(const Pending&) noexcept;
  [[noreturn]] void refuse(size_t asked, size_t bytes);

  MemorySource& source_;
  const int device_;
  const AllocatorOptions options_;
  std::mutex mutex_;
  size_t limit_ = SIZE_MAX;
  MemoryStats stats_;
  std::unique_ptr<KeptBlocks> kept_;  // null: threads keep none
  std::map<char*, Segment> segments_;
  std::map<uint32_t, Pool> pools_;
  uint32_t last_pool_ = 0;
  BlocksInUse used_;
  std::unique_ptr<Block> spare_;  // for the next cut
  std::map<Stream, std::deque<Pending>> pending_;
};

}  // namespace perflab
