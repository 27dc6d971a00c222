// The allocators as runtime/memory.py shows them, and one over no memory, on which histories are replayed.
#include <nanobind/stl/string.h>

#include "allocator.h"
#include "bind.h"
#include "caching_allocator.h"
#include "device.h"
#include "error.h"
#include "fake_memory.h"
#include "live_bytes.h"
#include "py.h"
#include "storage.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace perflab {
namespace {

CachingAllocator& allocator(int number) { return number == 0 ? host_allocator() : device(number).allocator(); }

AllocatorOptions options_of(nb::handle o) {  // an AllocatorOptions of alloc_conf.py
  AllocatorOptions options;
  if (nb::object mb = o.attr("max_split_size_mb"); !mb.is_none()) options.max_split_bytes = nb::cast<size_t>(mb) * kMiB;
  size_t i = 0;
  for (nb::handle n : o.attr("roundup_power2_divisions")) options.divisions.at(i++) = nb::cast<uint32_t>(n);
  options.garbage_collection_threshold = nb::cast<double>(o.attr("garbage_collection_threshold"));
  options.expandable_segments = nb::cast<bool>(o.attr("expandable_segments"));
  return options;
}

void put(nb::dict& d, const std::string& name, const Stat& s) {
  d[(name + ".current").c_str()] = s.current, d[(name + ".peak").c_str()] = s.peak;
  d[(name + ".allocated").c_str()] = s.allocated, d[(name + ".freed").c_str()] = s.freed;
}

nb::dict stats_dict(MemoryStats s) {
  nb::dict d;
  for (auto [pool, stats] : {std::pair{"all", &s.all}, {"small_pool", &s.small_pool}, {"large_pool", &s.large_pool}})
    stats->each([&, pool = pool](const char* name, const Stat& stat) { put(d, std::string(name) + "." + pool, stat); });
  put(d, "oversize_allocations", s.oversize_allocations), put(d, "oversize_segments", s.oversize_segments);
  d["num_alloc_retries"] = s.retries, d["num_ooms"] = s.ooms;
  d["num_device_alloc"] = s.device_allocs, d["num_device_free"] = s.device_frees;
  return d;
}

// On the host storages count for themselves: small ones do not come to the allocator one by one.
nb::dict stats(int number) {
  nb::dict d = stats_dict(allocator(number).stats());
  if (number == 0) {
    const Stat storages = host_bytes().stat();
    put(d, "allocated_bytes.all", storages), put(d, "requested_bytes.all", storages);
  }
  return d;
}

// [(address, bytes, mapped, stream, pool, small, expandable, [(address, bytes, asked, state, module, op,
// stack), ...]), ...]
nb::list snapshot_list(CachingAllocator& a) {
  nb::list segments;
  for (const SegmentState& s : a.snapshot()) {
    nb::list blocks;
    for (const BlockState& b : s.blocks)
      blocks.append(nb::make_tuple(b.address, b.bytes, b.asked, static_cast<int>(b.state), module_of(b.owner),
                                   op_of(b.owner), b.owner.stack));
    segments.append(nb::make_tuple(s.address, s.bytes, s.mapped, s.stream, s.pool, s.small, s.expandable, blocks));
  }
  return segments;
}

void empty_cache(int number) {
  nb::gil_scoped_release wait;  // streams may have to end first
  allocator(number).empty_cache();
}

// Decides as an allocator would and allocates nothing. Blocks are known by numbers, from 0 on.
class AllocatorReplay {
 public:
  AllocatorReplay(size_t capacity, nb::handle options)
      : memory_(capacity), allocator_(memory_, 0, options_of(options)) {}

  size_t allocate(size_t bytes, Stream stream, uint32_t pool) {
    blocks_.push_back(allocator_.allocate(bytes, stream, pool));
    return blocks_.size() - 1;
  }
  void free(size_t number) { allocator_.deallocate(std::exchange(used(number), nullptr)); }
  void record_stream(size_t number, Stream s) { allocator_.record_stream(used(number), s); }
  nb::tuple block(size_t number) {  // address and bytes
    const Block* b = used(number);
    return nb::make_tuple(reinterpret_cast<uintptr_t>(b->address), b->bytes);
  }
  CachingAllocator& allocator() { return allocator_; }
  FakeMemory& memory() { return memory_; }

 private:
  Block*& used(size_t number) {
    if (number >= blocks_.size() || !blocks_[number])
      throw Error(ErrorKind::kValue, "block " + std::to_string(number) + " is not in use");
    return blocks_[number];
  }
  FakeMemory memory_;
  CachingAllocator allocator_;
  std::vector<Block*> blocks_;
};

}  // namespace

void bind_memory(nb::module_& m) {
  m.def("set_out_of_memory_error", [](nb::object type) { out_of_memory_type = type.release().ptr(); }, "type"_a);
  m.def("set_allocator_options", [](nb::handle options) { allocator_options = options_of(options); }, "options"_a);
  m.def("allocator_stats", stats, "device"_a);
  m.def(
      "allocator_bytes",  // allocated and reserved now; cheaper than all that is counted
      [](int number) {
        return nb::make_tuple(allocator(number).allocated_bytes(), allocator(number).reserved_bytes());
      },
      "device"_a);
  m.def("allocator_snapshot", [](int number) { return snapshot_list(allocator(number)); }, "device"_a);
  m.def(
      "allocator_info",
      [](int number) {
        const MemoryInfo info = allocator(number).info();
        return nb::make_tuple(info.free, info.total);
      },
      "device"_a);
  m.def("allocator_limit", [](int number, size_t bytes) { allocator(number).set_limit(bytes); }, "device"_a, "bytes"_a);
  m.def(
      "allocator_reset_peaks",
      [](int number) {
        allocator(number).reset_peaks();
        if (number == 0) host_bytes().reset_peak();
      },
      "device"_a);
  m.def(
      "allocator_reset_accumulated",
      [](int number) {
        allocator(number).reset_accumulated();
        if (number == 0) host_bytes().reset_accumulated();
      },
      "device"_a);
  m.def("empty_cache", empty_cache, "device"_a = 0);
  m.def(
      "cycle_storage",  // for benchmarks: so many bytes, gotten and given back so many times
      [](int number, size_t bytes, int times) {
        nb::gil_scoped_release others;
        for (; times > 0; --times) release(number ? make_storage_on(number, bytes) : make_storage(bytes));
      },
      "device"_a, "bytes"_a, "times"_a);
  m.def("make_pool", [](int number) { return allocator(number).make_pool(); }, "device"_a);
  m.def("end_pool", [](int number, uint32_t pool) { allocator(number).end_pool(pool); }, "device"_a, "pool"_a);
  m.def(
      "use_pool",  // of this thread; gives back the one before
      [](int number, uint32_t pool) { return std::exchange(current_pool[number], pool); }, "device"_a, "pool"_a);

  nb::class_<AllocatorReplay>(m, "AllocatorReplay")
      .def(nb::init<size_t, nb::handle>(), "capacity"_a, "options"_a)
      .def("allocate", &AllocatorReplay::allocate, "bytes"_a, "stream"_a = 0, "pool"_a = 0)
      .def("free", &AllocatorReplay::free, "block"_a)
      .def("block", &AllocatorReplay::block, "block"_a)
      .def("record_stream", &AllocatorReplay::record_stream, "block"_a, "stream"_a)
      .def(
          "finish", [](AllocatorReplay& r, Stream s) { r.memory().finish(s); }, "stream"_a)
      .def("empty_cache", [](AllocatorReplay& r) { r.allocator().empty_cache(); })
      .def("make_pool", [](AllocatorReplay& r) { return r.allocator().make_pool(); })
      .def(
          "end_pool", [](AllocatorReplay& r, uint32_t pool) { r.allocator().end_pool(pool); }, "pool"_a)
      .def(
          "set_limit", [](AllocatorReplay& r, size_t bytes) { r.allocator().set_limit(bytes); }, "bytes"_a)
      .def("stats", [](AllocatorReplay& r) { return stats_dict(r.allocator().stats()); })
      .def("snapshot", [](AllocatorReplay& r) { return snapshot_list(r.allocator()); })
      .def_prop_ro("reserved", [](AllocatorReplay& r) { return r.allocator().reserved_bytes(); })
      .def_prop_ro("free_bytes",  // cached, and the largest block of them
                   [](AllocatorReplay& r) {
                     const FreeBytes f = r.allocator().free_bytes();
                     return nb::make_tuple(f.bytes, f.largest);
                   })
      .def_prop_ro("mapped", [](AllocatorReplay& r) { return r.memory().used(); })
      .def_prop_ro("pending_events", [](AllocatorReplay& r) { return r.memory().events(); });
}

}  // namespace perflab
