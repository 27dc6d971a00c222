#include "array.h"

namespace perflab {

std::string show(const int64_t* items, int n) {
  std::string s = "(";
  for (int i = 0; i < n; ++i) s += (i ? ", " : "") + std::to_string(items[i]);
  return s + (n == 1 ? ",)" : ")");
}

void set_scalar_as(Layout& to, DType d, const Layout& scalar) {
  auto set = [&](auto value) { visit(d, [&](auto zero) { to.set_scalar(convert<decltype(zero)>(value)); }); };
  if (scalar.dtype == DType::kUInt64) return set(scalar_as<uint64_t>(scalar));
  switch (kind(scalar.dtype)) {
    case DKind::kFloat:
      return set(scalar_as<double>(scalar));
    case DKind::kComplex:
      return set(scalar_as<std::complex<double>>(scalar));
    default:
      return set(scalar_as<int64_t>(scalar));
  }
}

void refuse_size(const Layout& a) {
  throw Error(ErrorKind::kShape, "shape " + show(a) + " has more elements than memory can hold");
}

}  // namespace perflab
