// What memory is for, told to the recorder while it is on; profiler/memory_uses.py makes categories of it.
#pragma once
#include <atomic>

#include "recorder.h"
#include "storage.h"

namespace perflab {

// An event: the moment in t0 and t2, the block in address and bytes, in t1 its bytes on a device, rounded up, in scope
// whose module's it is (0 none), in flags what it is for (bits 0-7) and the number of the device.
constexpr auto kUse = static_cast<EventKind>(13);
enum MemoryUse : uint16_t { kParameter = 1, kGradient, kOptimizerState, kInput, kSaved };
void record_use(const Storage*, MemoryUse, uint32_t scope = 0);

// How many recordings have begun, those too that begin while the recorder is on: each is told once what stays as it is.
inline std::atomic<uint32_t> recordings{0};

}  // namespace perflab
