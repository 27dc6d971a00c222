#include "array.h"

namespace perflab {

std::string show(const int64_t* items, int n) {
  std::string s = "(";
  for (int i = 0; i < n; ++i) s += (i ? ", " : "") + std::to_string(items[i]);
  return s + (n == 1 ? ",)" : ")");
}

}  // namespace perflab
