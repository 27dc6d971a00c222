// CPU levels: kernels that gain from wider vectors are compiled for each and chosen once, when the library is loaded.
#pragma once

namespace perflab {

// 1 baseline, 3 x86-64-v3 (AVX2, FMA), 4 x86-64-v4 (AVX-512). The variable PERFLAB_CPU_LEVEL lowers it.
int level();
const char* cpu_level();  // "baseline", "x86-64-v3" or "x86-64-v4"

}  // namespace perflab
