// Tells the address sanitizer, where there is one, which of our memory nobody may touch now.
#pragma once
#include <cstddef>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace perflab {

#if defined(__SANITIZE_ADDRESS__)
inline void poison(void* memory, size_t bytes) { __asan_poison_memory_region(memory, bytes); }
inline void unpoison(void* memory, size_t bytes) { __asan_unpoison_memory_region(memory, bytes); }
#else
inline void poison(void*, size_t) {}
inline void unpoison(void*, size_t) {}
#endif

}  // namespace perflab
