#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "arrays.h"
#include "check.h"
#include "kernels/level.h"
#include "kernels/optimizer.h"
#include "op.h"

namespace perflab {
namespace {

using Shape = std::vector<int64_t>;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

Kernel kernel(const char* op, DType d) {
  for (const NativeKernel& k : native_kernels()) {
    if (!std::strcmp(k.op, op) && k.dtype == d) return k.kernel;
  }
  return nullptr;
}

// Runs a kernel of the dtype of the last input.
void run_into(const char* op, const std::vector<const Array*>& in, Array& out, const std::vector<int64_t>& attrs = {}) {
  Attrs at;
  std::copy(attrs.begin(), attrs.end(), at.v);
  kernel(op, in.back()->dtype)(in.data(), static_cast<int>(in.size()), at, &out, 1);
}

template <class T = float>
std::vector<T> run_op(const char* op, const std::vector<const Array*>& in, const Shape& shape,
                      const std::vector<int64_t>& attrs = {}) {
  Array out = array<T>(shape);
  run_into(op, in, out, attrs);
  return std::vector<T>(out.as<T>(), out.as<T>() + out.numel);
}

Array transposed(const Array& a) {
  Array t = a;
  std::swap(t.shape[0], t.shape[1]), std::swap(t.strides[0], t.strides[1]);
  t.measure();
  return t;
}

Array reversed(const Array& a) {
  Array r = a;
  int64_t last = 0;
  for (int i = 0; i < a.ndim; ++i) last += (a.shape[i] - 1) * a.strides[i], r.strides[i] = -a.strides[i];
  r.data = a.as<char>() + last * static_cast<int64_t>(item_size(a.dtype));
  r.measure();
  return r;
}

float at(const Array& a, int64_t i, int64_t j) {  // broadcast to two axes
  const int64_t row = a.ndim > 1 && a.shape[0] > 1 ? a.strides[0] : 0;
  const int64_t column = a.ndim > 0 && a.shape[a.ndim - 1] > 1 ? a.strides[a.ndim - 1] : 0;
  return a.as<float>()[i * row + j * column];
}

std::vector<int64_t> axes(Shape which, bool keep = false) {
  std::vector<int64_t> w(2 + kMaxDim);
  w[0] = static_cast<int64_t>(which.size());
  std::copy(which.begin(), which.end(), w.begin() + 1);
  w[1 + kMaxDim] = keep;
  return w;
}

const std::vector<int64_t> kAll = {kNone, 0, 0, 0, 0, 0, 0, 0, 0, 0};

bool near(double a, double b, double tolerance = 1e-6) { return std::abs(a - b) <= tolerance * (1 + std::abs(b)); }

TEST(every_kernel_is_there_once) {
  std::map<std::string, std::set<DType>> found;
  for (const NativeKernel& k : native_kernels()) CHECK(found[k.op].insert(k.dtype).second);
  for (const char* op : {"add", "exp", "eq", "where", "sum", "amax", "argmax", "matmul", "softmax", "unbroadcast",
                         "take", "take_grad"}) {
    CHECK(found[op].contains(DType::kFloat32) && found[op].contains(DType::kFloat64));
  }
  for (const char* op : {"copy", "cast", "assign", "concat", "unslice"}) CHECK(found[op].size() == kDTypes);
  const std::string name = cpu_level();
  CHECK(name == "baseline" || name == "x86-64-v3" || name == "x86-64-v4");
}

TEST(pointwise_kernels_take_any_strides) {
  const Array a = floats({9, 70}), row = floats({70}), column = floats({9, 1}), scalar = floats({});
  const Array turned = transposed(floats({70, 9})), back = reversed(a);
  for (const Array* b : {&a, &row, &column, &scalar, &turned, &back}) {
    for (const Array* first : {&a, &turned, &back}) {
      const std::vector<float> got = run_op("sub", {first, b}, {9, 70});
      bool right = true;
      for (int64_t i = 0; i < 9; ++i) {
        for (int64_t j = 0; j < 70; ++j)
          right &= got[static_cast<size_t>(i * 70 + j)] == at(*first, i, j) - at(*b, i, j);
      }
      CHECK(right);
    }
  }
  CHECK(run_op("add", {&column, &row}, {9, 70})[9 * 70 - 1] == 8 + 69);
  const Array one = floats({1, 1}, {3});
  CHECK(run_op("mul", {&one, &one}, {1, 1})[0] == 9);
  const Array none = floats({0, 3}), three = floats({3});
  CHECK(run_op("add", {&none, &three}, {0, 3}).empty());
}

TEST(running_totals_follow_rows_columns_and_their_reverse) {
  constexpr int64_t kForwards = 0, kReverse = 1, kWhole = 0;
  const Array a = floats({7, 300}), turned = transposed(floats({300, 7}));  // more rows and columns than go at once
  for (const Array* x : {&a, &turned}) {
    for (const int64_t axis : {0, 1}) {
      const auto forwards = run_op("running_sum", {x}, {7, 300}, {axis, kForwards, kWhole, kNone});
      const auto back = run_op("running_sum", {x}, {7, 300}, {axis, kReverse, kWhole, kNone});
      bool right = true;
      for (int64_t i = 0; i < 7; ++i) {
        for (int64_t j = 0; j < 300; ++j) {
          double before = 0, after = 0;
          for (int64_t k = 0; k < (axis ? 300 : 7); ++k) {
            const double value = axis ? at(*x, i, k) : at(*x, k, j);
            const int64_t here = axis ? j : i;
            before += k <= here ? value : 0, after += k >= here ? value : 0;
          }
          const auto place = static_cast<size_t>(i * 300 + j);
          right &= near(forwards[place], before) && near(back[place], after);
        }
      }
      CHECK(right);
    }
  }
  const Array few = floats({2, 3}, {1, 2, 3, 4, 5, 6}), nans = floats({4}, {1, kNan, 5, kNan});
  CHECK(run_op("running_product", {&few}, {2, 3}, {1, kForwards, kWhole, kNone}) ==
        (std::vector<float>{1, 2, 6, 4, 20, 120}));
  CHECK(run_op<int64_t>("running_extremum", {&nans}, {4}, {0, 1}) == (std::vector<int64_t>{0, 1, 1, 3}));
  const Array equal = floats({4}, {2, 1, 1, 3});
  CHECK(run_op<int64_t>("running_extremum", {&equal}, {4}, {0, 0}) == (std::vector<int64_t>{0, 1, 2, 2}));
}

// Channels side by side and in planes, more of each than go at once.
TEST(channels_are_normalised) {
  for (const Shape& shape : {Shape{70, 300}, Shape{2, 3, 5000}}) {
    Array a = floats(shape);
    const int64_t channels = shape[1], inner = shape.size() > 2 ? shape[2] : 1;
    for (int64_t i = 0; i < a.numel; ++i) a.as<float>()[i] = 100 + std::sin(static_cast<float>(i));
    const Array weight = floats({channels}), bias = floats({channels});
    const auto found = run_op("batch_norm", {&a, &weight, &bias}, shape, {0});
    std::vector<double> mean(static_cast<size_t>(channels)), square = mean;
    auto channel = [&](int64_t i) { return static_cast<size_t>(i / inner % channels); };
    const double each = static_cast<double>(a.numel / channels);
    for (int64_t i = 0; i < a.numel; ++i) mean[channel(i)] += a.as<float>()[i] / each;
    for (int64_t i = 0; i < a.numel; ++i) square[channel(i)] += std::pow(a.as<float>()[i] - mean[channel(i)], 2) / each;
    bool right = true;
    for (int64_t i = 0; i < a.numel; ++i) {
      const size_t c = channel(i);
      const double normal = (a.as<float>()[i] - mean[c]) / std::sqrt(square[c]), scale = static_cast<double>(c);
      right &= std::abs(found[static_cast<size_t>(i)] - (normal + 1) * scale) <= 1e-4 * (1 + scale);
    }
    CHECK(right);
  }
}

TEST(a_strided_array_is_written_in_place) {
  Array whole = floats({6, 8});
  Array part = whole;  // every second column of the transposed array
  part.shape[0] = 4, part.strides[0] = 2, part.shape[1] = 6, part.strides[1] = 8;
  part.measure();
  const Array two = floats({}, {2});
  Array into = part;
  run_into("mul", {&part, &two}, into);
  bool right = true;
  for (int64_t i = 0; i < 48; ++i) right &= whole.as<float>()[i] == static_cast<float>(i % 2 ? i : 2 * i);
  CHECK(right);
  const Array value = floats({6}, {1, 2, 3, 4, 5, 6});
  run_into("assign", {&part, &value}, into);
  CHECK(whole.as<float>()[8] == 2 && whole.as<float>()[9] == 9 && whole.as<float>()[46] == 6);
}

TEST(not_a_number_is_passed_on) {
  const Array a = floats({4}, {kNan, 1, -1, 2}), b = floats({4}, {1, kNan, 3, -2});
  const std::vector<float> relu = run_op("relu", {&a}, {4}), most = run_op("maximum", {&a, &b}, {4}),
                           least = run_op("minimum", {&a, &b}, {4});
  CHECK(std::isnan(relu[0]) && relu[1] == 1 && relu[2] == 0);
  CHECK(std::isnan(most[0]) && std::isnan(most[1]) && most[2] == 3 && most[3] == 2);
  CHECK(std::isnan(least[0]) && std::isnan(least[1]) && least[2] == -1 && least[3] == -2);
  Array long_row = floats({300});
  CHECK(run_op("amax", {&long_row}, {}, kAll)[0] == 299);
  long_row.as<float>()[170] = kNan;
  CHECK(std::isnan(run_op("amax", {&long_row}, {}, kAll)[0]));
  CHECK(run_op<int64_t>("argmax", {&long_row}, {}, kAll)[0] == 170);
}

TEST(exponentials_reach_their_limits) {
  std::vector<float> x = {0, 1, -kInf, kInf, kNan, 200, -200, -100, 88.5f};
  while (x.size() < 37) x.push_back(static_cast<float>(x.size()) - 20);
  const int64_t n = static_cast<int64_t>(x.size());
  const Array a = floats({n}, x);
  const std::vector<float> e = run_op("exp", {&a}, {n}), t = run_op("tanh", {&a}, {n}),
                           s = run_op("sigmoid", {&a}, {n});
  CHECK(e[0] == 1 && e[2] == 0 && e[3] == kInf && std::isnan(e[4]) && e[5] == kInf && e[6] == 0 && e[7] > 0);
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i])) continue;
    CHECK(e[i] == std::exp(x[i]) || near(e[i], std::exp(x[i]), 3e-7));
    CHECK(near(t[i], std::tanh(x[i]), 3e-7));
    CHECK(near(s[i], 1 / (1 + std::exp(-static_cast<double>(x[i]))), 3e-7));
  }
  CHECK(std::isnan(t[4]) && std::isnan(s[4]) && s[2] == 0 && s[3] == 1);
  const Array edges = floats({6}, {0, -1, kInf, 1, 1e-40f, kNan});
  const std::vector<float> l = run_op("log", {&edges}, {6});
  CHECK(l[0] == -kInf && std::isnan(l[1]) && l[2] == kInf && l[3] == 0 && near(l[4], -92.1034) && std::isnan(l[5]));
}

TEST(integers_wrap_around) {
  const Array a = array<int64_t>({2}, {INT64_MAX, 3}), b = array<int64_t>({2}, {1, 4});
  CHECK(run_op<int64_t>("add", {&a, &b}, {2}) == std::vector<int64_t>{INT64_MIN, 7});
  CHECK(run_op<bool>("lt", {&a, &b}, {2}) == std::vector<bool>{false, true});
}

TEST(where_picks_one_of_two) {
  const Array pick = array<bool>({3}, {true, false, true}), a = floats({3}), b = floats({}, {7});
  CHECK(run_op("where", {&pick, &a, &b}, {3}) == std::vector<float>{0, 7, 2});
}

TEST(sums_are_accurate_over_any_axes) {
  Array a = floats({1000003});
  double truth = 0;
  for (int64_t i = 0; i < a.numel; ++i) truth += a.as<float>()[i] = 1 / static_cast<float>(i % 1000 + 1);
  CHECK(near(run_op("sum", {&a}, {}, kAll)[0], truth, 1e-7));
  const Array cube = floats({3, 5, 70});
  const std::vector<float> ends = run_op("sum", {&cube}, {5}, axes({0, 2}));
  CHECK(ends[0] == 3 * (69 * 35 + 350 * 70) && ends[4] - ends[3] == 3 * 70 * 70);
  const Array matrix = floats({130, 3}), turned = transposed(matrix);
  CHECK(run_op("sum", {&matrix}, {3}, axes({0})) == run_op("sum", {&turned}, {3}, axes({1})));
  CHECK(run_op("sum", {&matrix}, {3}, axes({0}))[1] == 3 * (129 * 65) + 130);
  const Array none = floats({0, 2});
  CHECK(run_op("sum", {&none}, {2}, axes({0})) == std::vector<float>(2, 0));
  const Array bools = array<bool>({3}, {true, false, true});
  CHECK(run_op<int64_t>("sum", {&bools}, {}, kAll)[0] == 2);
}

TEST(unbroadcast_sums_to_a_shape) {
  const Array a = floats({33, 5}), row = floats({5}), column = floats({33, 1});
  CHECK(run_op("unbroadcast", {&a, &row}, {5})[4] == 5 * 33 * 16 + 33 * 4);
  CHECK(run_op("unbroadcast", {&a, &column}, {33, 1})[1] == 5 + 6 + 7 + 8 + 9);
}

TEST(the_first_maximum_is_found) {
  const Array a = floats({2, 3}, {1, 5, 5, 7, 2, 7});
  CHECK(run_op<int64_t>("argmax", {&a}, {2}, axes({1})) == std::vector<int64_t>{1, 0});
  CHECK(run_op<int64_t>("argmax", {&a}, {3}, axes({0})) == std::vector<int64_t>{1, 0, 1});
  CHECK(run_op<int64_t>("argmax", {&a}, {}, kAll)[0] == 3);
  CHECK_THROWS(Error, run_op<int64_t>("argmax", {&a}, {2}, axes({})));
}

TEST(softmax_adds_up_to_one_along_its_axis) {
  for (const Shape& shape : {Shape{20, 37}, Shape{3, 300}}) {
    const Array a = floats(shape), turned = transposed(floats({shape[1], shape[0]}));
    for (const Array* x : {&a, &turned}) {
      for (int axis = 0; axis < 2; ++axis) {
        const std::vector<float> p = run_op("softmax", {x}, shape, {axis}),
                                 l = run_op("log_softmax", {x}, shape, {axis});
        const int64_t step = axis ? 1 : shape[1], n = shape[static_cast<size_t>(axis)];
        double sum = 0;
        for (int64_t k = 0; k < n; ++k) sum += p[static_cast<size_t>(k * step)];
        CHECK(near(sum, 1));
        const size_t last = static_cast<size_t>((n - 1) * step);
        CHECK(near(std::log(p[last]), l[last], 1e-5));
      }
    }
  }
}

TEST(products_take_any_strides) {
  const Array a = floats({5, 20}), b = floats({20, 19}), turned = transposed(floats({19, 20})), back = reversed(b);
  for (const Array* right : {&b, &turned, &back}) {
    const std::vector<float> got = run_op("matmul", {&a, right}, {5, 19});
    bool same = true;
    for (int64_t i = 0; i < 5; ++i) {
      for (int64_t j = 0; j < 19; ++j) {
        float sum = 0;
        for (int64_t k = 0; k < 20; ++k) sum += at(a, i, k) * at(*right, k, j);
        same &= near(got[static_cast<size_t>(i * 19 + j)], sum);
      }
    }
    CHECK(same);
  }
  const Array v = floats({20}), batch = floats({2, 5, 20});
  CHECK(run_op("matmul", {&v, &v}, {})[0] == 2470);
  CHECK(run_op("matmul", {&a, &v}, {5})[0] == 2470);
  const std::vector<float> many = run_op("matmul", {&batch, &b}, {2, 5, 19}),
                           first = run_op("matmul", {&a, &b}, {5, 19});
  CHECK(std::equal(first.begin(), first.end(), many.begin()));
  const Array flat = floats({2, 0}), tall = floats({0, 3});
  CHECK(run_op("matmul", {&flat, &tall}, {2, 3}) == std::vector<float>(6, 0));
}

TEST(blas_must_exist) { CHECK_THROWS(Error, load_blas("/nowhere/libblas.so")); }

TEST(copies_keep_the_order_of_the_elements) {
  const Array a = floats({40, 50}), turned = transposed(a);
  const std::vector<float> copy = run_op("reshape", {&turned}, {2000});
  bool right = true;
  for (int64_t i = 0; i < 50; ++i) {
    for (int64_t j = 0; j < 40; ++j) right &= copy[static_cast<size_t>(i * 40 + j)] == static_cast<float>(j * 50 + i);
  }
  CHECK(right);
  const Array ints = cast(floats({3}, {-1.5f, 0, 2.5f}), DType::kInt32), bools = cast(ints, DType::kBool);
  CHECK(ints.as<int32_t>()[0] == -1 && ints.as<int32_t>()[2] == 2);
  CHECK(bools.as<bool>()[0] && !bools.as<bool>()[1]);
  const Array left = floats({2, 2}), right_part = floats({2, 1}, {8, 9});
  CHECK(run_op("concat", {&left, &right_part}, {2, 3}, {1}) == std::vector<float>{0, 1, 8, 2, 3, 9});
  std::vector<int64_t> every_second(3 * (1 + kMaxDim));
  every_second[0] = every_second[9] = every_second[18] = 1;
  every_second[1] = 4, every_second[10] = 2, every_second[19] = -2;
  const Array ct = floats({2}, {5, 6});
  CHECK(run_op("unslice", {&ct, &ct}, {5}, every_second) == std::vector<float>{0, 0, 6, 0, 5});
}

TEST(elements_are_taken_and_added_back) {
  const Array table = floats({4, 3}), ids = array<int64_t>({3}, {2, -1, 2}), ct = floats({3, 3});
  Array rows = floats({3, 3});
  const Array* in[] = {&table, &ids};
  Attrs axis;
  axis.v[0] = 0, axis.v[1] = true;  // negative ones count from the end
  kernel("take", DType::kFloat32)(in, 2, axis, &rows, 1);
  CHECK(rows.as<float>()[0] == 6 && rows.as<float>()[5] == 11 && rows.as<float>()[6] == 6);
  Array grad = floats({4, 3});
  const Array* back[] = {&ct, &table, &ids};
  kernel("take_grad", DType::kFloat32)(back, 3, axis, &grad, 1);
  CHECK(grad.as<float>()[0] == 0 && grad.as<float>()[6] == 0 + 6 && grad.as<float>()[11] == 5);
  const Array beyond = array<int32_t>({1}, {4});
  const Array* wrong[] = {&table, &beyond};
  std::string said;
  try {
    kernel("take", DType::kFloat32)(wrong, 2, axis, &rows, 1);
  } catch (const Error& e) {
    said = e.what();
    CHECK(e.kind == ErrorKind::kIndex);
  }
  CHECK(said == "index 4 is out of range for axis 0 with size 4");
}

TEST(sgd_follows_its_formula) {
  Array p = floats({2}, {1, 2}), g = floats({2}, {0.5f, -1}), b = floats({2}, {0.1f, 0.2f});
  SgdOptions o;
  o.lr = 0.1, o.momentum = 0.9, o.dampening = 0.5, o.weight_decay = 0.01, o.nesterov = true;
  sgd_step({{&p}, {&g}, {&b}}, o);
  const double grad = 0.5 + 0.01, buffer = 0.9 * 0.1 + 0.5 * grad;
  CHECK(near(b.as<float>()[0], buffer) && near(p.as<float>()[0], 1 - 0.1 * (grad + 0.9 * buffer)));
  o.first = true, o.nesterov = false, o.maximize = true, o.weight_decay = 0;
  const float before = p.as<float>()[1];
  sgd_step({{&p}, {&g}, {&b}}, o);
  CHECK(b.as<float>()[1] == 1 && near(p.as<float>()[1], before - 0.1));
  Array odd = floats({3});
  CHECK_THROWS(Error, sgd_step({{&p}, {&odd}}, o));
}

TEST(adamw_follows_its_formula) {
  Array p = array<double>({3}, {1, 2, 3}), m = array<double>({3}, {0, 0.1, 0}), v = array<double>({3}, {0, 0.2, 0});
  Array g = array<double>({3}, {0.5, -1, 2});
  AdamOptions o;
  o.step = 3, o.weight_decay = 1e-2, o.decoupled = true;
  adam_step({{&p}, {&g}, {&m}, {&v}}, o);
  const double mean = 0.9 * 0.1 + 0.1 * -1, square = 0.999 * 0.2 + 0.001;
  const double root = std::sqrt(square) / std::sqrt(1 - std::pow(0.999, 3)) + 1e-8;
  CHECK(near(p.as<double>()[1], 2 * (1 - 1e-5) - 1e-3 / (1 - std::pow(0.9, 3)) * mean / root, 1e-12));
  CHECK(near(m.as<double>()[1], mean, 1e-12) && near(v.as<double>()[1], square, 1e-12));
}

TEST(unscaling_finds_what_is_not_finite) {
  Array good = floats({2}, {2, -4}), bad = floats({3}, {1, kInf, 2}), worse = floats({1}, {kNan});
  CHECK(!unscale({&good}, 0.5));
  CHECK(good.as<float>()[0] == 1 && good.as<float>()[1] == -2);
  CHECK(unscale({&good, &bad}, 0.5) && unscale({&worse}, 0.5));
  CHECK(bad.as<float>()[0] == 0.5f);
}

}  // namespace
}  // namespace perflab
