#include <vector>

#include "arrays.h"
#include "check.h"
#include "rules.h"

namespace perflab {
namespace {

using Shape = std::vector<int64_t>;

std::vector<int64_t> words(std::initializer_list<Shape> tuples) {
  std::vector<int64_t> w;
  for (const Shape& t : tuples) {
    w.push_back(static_cast<int64_t>(t.size()));
    w.insert(w.end(), t.begin(), t.end());
    w.resize(w.size() + kMaxDim - t.size());
  }
  return w;
}

std::vector<Array> infer(const char* rule, const std::vector<Array>& in, const std::vector<int64_t>& attrs = {}) {
  const ShapeRule* found = shape_rule(rule);
  Attrs at;
  std::copy(attrs.begin(), attrs.end(), at.v);
  std::vector<const Array*> inputs;
  for (const Array& a : in) inputs.push_back(&a);
  const int nin = static_cast<int>(in.size());
  std::vector<Array> out(found->outputs ? found->outputs(inputs.data(), nin, at) : 1);
  found->infer(inputs.data(), nin, at, out.data(), static_cast<int>(out.size()));
  return out;
}

Shape shape(const Array& a) { return {a.shape, a.shape + a.ndim}; }
Shape strides(const Array& a) { return {a.strides, a.strides + a.ndim}; }

std::string failure(const char* rule, const std::vector<Array>& in, const std::vector<int64_t>& attrs = {}) {
  try {
    infer(rule, in, attrs);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(shapes_broadcast_from_the_last_axis) {
  CHECK(shape(infer("broadcast", {floats({2, 3}), floats({3})})[0]) == Shape{2, 3});
  CHECK(shape(infer("broadcast", {floats({3}), floats({2, 1})})[0]) == Shape{2, 3});
  CHECK(shape(infer("broadcast", {floats({}), floats({2, 3})})[0]) == Shape{2, 3});
  CHECK(shape(infer("broadcast", {floats({4, 1, 1}), floats({3, 1}), floats({2})})[0]) == Shape{4, 3, 2});
  CHECK(shape(infer("broadcast", {floats({0, 3}), floats({1, 3})})[0]) == Shape{0, 3});
  CHECK(failure("broadcast", {floats({2, 3}), floats({4, 5})}) ==
        "shapes (2, 3) and (4, 5) do not broadcast: sizes must be equal or 1, from the last axis");
}

TEST(a_reduction_drops_or_keeps_its_axes) {
  auto reduce = [](Shape axes, bool keep) {
    std::vector<int64_t> attrs = words({axes});
    attrs.push_back(keep);
    return shape(infer("reduce", {floats({2, 3, 4})}, attrs)[0]);
  };
  CHECK(reduce({1}, false) == Shape{2, 4});
  CHECK(reduce({0, -1}, true) == Shape{1, 3, 1});
  CHECK(reduce({}, false) == Shape{2, 3, 4});
  std::vector<int64_t> all(kTupleWords + 1, 0);
  all[0] = kNone;
  CHECK(shape(infer("reduce", {floats({2, 3, 4})}, all)[0]) == Shape{});
  CHECK(failure("reduce", {floats({2, 3})}, words({{3}, {}})) == "axis 3 is out of range for shape (2, 3)");
  CHECK(failure("reduce", {floats({2, 3})}, words({{1, -1}, {}})) == "axis -1 is named twice");
}

TEST(matrix_products_follow_numpy) {
  auto product = [](Shape a, Shape b) { return shape(infer("matmul", {floats(a), floats(b)})[0]); };
  CHECK(product({2, 3}, {3, 4}) == Shape{2, 4});
  CHECK(product({3}, {3}) == Shape{});
  CHECK(product({3}, {5, 3, 2}) == Shape{5, 2});
  CHECK(product({5, 2, 3}, {3}) == Shape{5, 2});
  CHECK(product({2, 1, 2, 3}, {4, 3, 2}) == Shape{2, 4, 2, 2});
  CHECK(failure("matmul", {floats({2, 3}), floats({4, 5})}) == "inner sizes differ, (2, 3) @ (4, 5)");
}

TEST(reshape_is_a_view_where_the_strides_allow_one) {
  Array a = floats({2, 3, 4});
  Array b = infer("reshape", {a}, words({{6, -1}}))[0];
  CHECK(shape(b) == Shape{6, 4} && b.storage == a.storage && b.contig);
  Array t = infer("transpose", {a}, {0, 1})[0];
  CHECK(shape(t) == Shape{3, 2, 4} && strides(t) == Shape{4, 12, 1} && !t.contig);
  Array split = infer("reshape", {t}, words({{3, 2, 2, 2}}))[0];
  CHECK(split.storage == a.storage && strides(split) == Shape{4, 12, 2, 1});
  Array copied = infer("reshape", {t}, words({{6, 4}}))[0];
  CHECK(!copied.storage && shape(copied) == Shape{6, 4});
  CHECK(shape(infer("reshape", {floats({0, 2})}, words({{4, 0}}))[0]) == Shape{4, 0});
  CHECK(failure("reshape", {a}, words({{5, 5}})) == "shape (2, 3, 4) has 24 elements and cannot become (5, 5)");
  CHECK(!failure("reshape", {a}, words({{-1, -1}})).empty());
}

TEST(views_point_into_the_input) {
  Array a = floats({4, 5});
  Array s = infer("slice", {a}, words({{3, 4}, {2, 3}, {-2, -2}}))[0];
  CHECK(shape(s) == Shape{2, 3} && strides(s) == Shape{-10, -2} && s.as<float>() == a.as<float>() + 19);
  CHECK(!failure("slice", {a}, words({{0, 0}, {5, 5}, {1, 1}})).empty());
  Array row = infer("select", {a}, {0, -1})[0];
  CHECK(shape(row) == Shape{5} && row.as<float>() == a.as<float>() + 15 && row.contig);
  CHECK(failure("select", {a}, {1, 5}) == "index 5 is out of range for axis 1 with size 5");
  Array wide = infer("expand", {floats({1, 3})}, words({{2, 4, -1}}))[0];
  CHECK(shape(wide) == Shape{2, 4, 3} && strides(wide) == Shape{0, 0, 1});
  CHECK(shape(infer("permute", {floats({2, 3, 4})}, words({{2, 0, -2}}))[0]) == Shape{4, 2, 3});
  CHECK(!failure("permute", {a}, words({{0, 0}})).empty());
  CHECK(shape(infer("unsqueeze", {a}, words({{0, -1}}))[0]) == Shape{1, 4, 5, 1});
  CHECK(shape(infer("squeeze", {floats({1, 4, 1})}, words({{0, 2}}))[0]) == Shape{4});
  CHECK(!failure("squeeze", {a}, words({{0}})).empty());
}

TEST(a_reduction_is_undone_with_or_without_its_axes) {
  std::vector<int64_t> axis = words({{1}});
  axis.push_back(0);
  for (const Shape& reduced : {Shape{2, 4}, Shape{2, 1, 4}}) {
    Array b = infer("expand_reduced", {floats(reduced), floats({2, 3, 4})}, axis)[0];
    CHECK(shape(b) == Shape{2, 3, 4} && strides(b) == Shape{4, 0, 1});
  }
  CHECK(!failure("expand_reduced", {floats({3, 4}), floats({2, 3, 4})}, axis).empty());
}

TEST(unbroadcast_of_equal_shapes_is_a_view) {
  Array a = floats({2, 3});
  CHECK(infer("unbroadcast", {a, floats({2, 3})})[0].storage == a.storage);
  Array b = infer("unbroadcast", {a, floats({3})})[0];
  CHECK(!b.storage && shape(b) == Shape{3});
  CHECK(!failure("unbroadcast", {a, floats({2})}).empty());
}

TEST(joining_and_dividing) {
  CHECK(shape(infer("concat", {floats({2, 3}), floats({2, 0}), floats({2, 1})}, {-1})[0]) == Shape{2, 4});
  CHECK(!failure("concat", {floats({2, 3}), floats({3, 2})}, {0}).empty());
  CHECK(!failure("concat", {}, {0}).empty());
  Array a = floats({5, 2});
  std::vector<Array> parts = infer("split", {a}, {2, 0});
  CHECK(parts.size() == 3 && shape(parts[2]) == Shape{1, 2} && parts[2].as<float>() == a.as<float>() + 8);
  CHECK(infer("split", {floats({0, 2})}, {2, 0}).size() == 1);
  CHECK(!failure("split", {a}, {0, 0}).empty());
  parts = infer("unconcat", {a, floats({1, 2}), floats({4, 2})}, {0});
  CHECK(parts.size() == 2 && shape(parts[1]) == Shape{4, 2} && parts[1].as<float>() == a.as<float>() + 2);
  CHECK(!failure("unconcat", {a, floats({4, 2}), floats({4, 2})}, {0}).empty());
}

TEST(taking_replaces_an_axis_by_the_indices) {
  CHECK(shape(infer("take", {floats({4, 3}), floats({2, 5})}, {0})[0]) == Shape{2, 5, 3});
  CHECK(shape(infer("take", {floats({4, 3}), floats({})}, {-1})[0]) == Shape{4});
  CHECK(shape(infer("take_along", {floats({4, 3}), floats({4, 7})}, {1})[0]) == Shape{4, 7});
  CHECK(shape(infer("take_along", {floats({4, 3}), floats({2, 2})}, {0})[0]) == Shape{2, 2});
  CHECK(!failure("take_along", {floats({4, 3}), floats({2, 4})}, {0}).empty());
  CHECK(!failure("take", {floats({}), floats({2})}, {0}).empty());
}

TEST(rules_are_found_by_name) {
  CHECK(shape_rule("same_axis") && !shape_rule("nothing"));
  CHECK(failure("same_axis", {floats({2, 3})}, {2}) == "axis 2 is out of range for shape (2, 3)");
}

}  // namespace
}  // namespace perflab
