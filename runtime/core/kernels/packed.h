// An input without gaps: itself, or a copy where it has some.
#pragma once
#include "op.h"

namespace perflab {

class Packed {
 public:
  explicit Packed(const Array& a) : Packed(a, a.dtype) {}
  Packed(const Array& a, DType dtype) : a_(&a) {
    if (!a.contig || a.dtype != dtype) copy_ = cast(a, dtype), a_ = &copy_;
  }
  Packed(const Packed&) = delete;

  template <class T>
  const T* as() const {
    return a_->as<T>();
  }

 private:
  const Array* a_;
  Array copy_;
};

}  // namespace perflab
