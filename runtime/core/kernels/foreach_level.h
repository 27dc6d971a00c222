// Includes LEVEL_BODY once for each CPU level, inside a namespace of its own (LEVEL), and defines LEVELS(f): the f of
// the level that this machine runs. No include guard: each file of kernels includes it. Every standard header that a
// body needs must come before, or its inline functions would be compiled for the wrong CPU.
#include "kernels/level.h"
#include "kernels/table.h"

#define LEVEL baseline
#include LEVEL_BODY
#undef LEVEL

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)

#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
#define LEVEL avx2
#include LEVEL_BODY
#undef LEVEL
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4")
#define LEVEL avx512
#include LEVEL_BODY
#undef LEVEL
#pragma GCC pop_options

#define LEVELS(f) (level() == 4 ? avx512::f : level() == 3 ? avx2::f : baseline::f)

#else
#define LEVELS(f) baseline::f
#endif
