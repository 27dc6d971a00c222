#include "kernels/level.h"

#include <cstdlib>

namespace perflab {

namespace {

int best_level() {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  __builtin_cpu_init();
  int best = __builtin_cpu_supports("x86-64-v4") ? 4 : __builtin_cpu_supports("x86-64-v3") ? 3 : 1;
  const char* wanted = std::getenv("PERFLAB_CPU_LEVEL");
  int most = wanted ? std::atoi(wanted) : 0;
  if (most == 0 || most >= best) return best;
  return most >= 3 ? 3 : 1;
#else
  return 1;
#endif
}

}  // namespace

int level() {
  static const int chosen = best_level();
  return chosen;
}

const char* cpu_level() { return level() == 4 ? "x86-64-v4" : level() == 3 ? "x86-64-v3" : "baseline"; }

}  // namespace perflab
