// Comparisons, element by element: bools.
#ifndef LEVEL

#include "kernels/walk.h"

#define LEVEL_BODY "kernels/compare.cpp"
#include "kernels/foreach_level.h"

namespace perflab {

void add_compare_kernels(KernelTable& table) { LEVELS(add_kernels)(table); }

}  // namespace perflab

#else

#include "kernels/elementwise.h"

#define NATIVE_COMPARISON(name, expr) add_comparison(table, #name, AnyType{}, []<class T>(T a, T b) { return expr; })

namespace perflab::LEVEL {

namespace {

void add_kernels(KernelTable& table) {
  NATIVE_COMPARISON(eq, a == b);
  NATIVE_COMPARISON(ne, a != b);
  NATIVE_COMPARISON(lt, a < b);
  NATIVE_COMPARISON(le, a <= b);
  NATIVE_COMPARISON(gt, a > b);
  NATIVE_COMPARISON(ge, a >= b);
}

}  // namespace

}  // namespace perflab::LEVEL

#undef NATIVE_COMPARISON
#endif
