// What shape rules and kernels both ask of attributes: axes counted from either end, and the views they describe.
#pragma once
#include <span>

#include "op.h"

namespace perflab {

constexpr int kTupleWords = 1 + kMaxDim;  // of an attribute of kind t or a

[[noreturn]] void fail_shape(const std::string& what);

// A 0-d array counts as having one axis of size 1. Throws Error(kShape) when out of range.
int axis_of(const Layout& a, int64_t axis);

// Bit i: axis i is named in the words of an attribute of kind a (None names all). Throws Error(kShape).
unsigned axes_of(const Layout& a, const int64_t* words);

// Turn an array into a part of itself; attribute words as of the ops slice and select. Throw Error(kIndex).
void slice_view(Array& a, const Attrs& attrs);
void select_view(Array& a, const Attrs& attrs);
void strided_view(Array& a, const Attrs& attrs);  // as_strided; of a contiguous one

std::span<const ShapeRule> view_rules();
std::span<const ShapeRule> part_rules();  // views of a part
std::span<const ShapeRule> layer_rules();
std::span<const ShapeRule> device_rules();

}  // namespace perflab
