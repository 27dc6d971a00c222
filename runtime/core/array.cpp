#include "array.h"

namespace perflab {

std::string show(const int64_t* items, int n) {
  std::string s = "(";
  for (int i = 0; i < n; ++i) s += (i ? ", " : "") + std::to_string(items[i]);
  return s + (n == 1 ? ",)" : ")");
}

void refuse_size(const Layout& a) {
  throw Error(ErrorKind::kShape, "shape " + show(a) + " has more elements than memory can hold");
}

}  // namespace perflab
