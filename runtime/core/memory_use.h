// What memory is for, told to the recorder while it is on; profiler/memory_uses.py makes categories of it.
#pragma once
#include <atomic>

#include "recorder.h"
#include "storage.h"

namespace perflab {

enum MemoryUse : uint16_t { kParameter = 1, kGradient, kOptimizerState, kInput, kSaved };
void record_use(const Storage*, MemoryUse, uint32_t scope = 0);
void record_saved(Storage*);  // kSaved, once in a recording

// How many recordings have begun, those too that begin while the recorder is on: each is told once what stays as it is.
inline std::atomic<uint32_t> recordings{0};

}  // namespace perflab
