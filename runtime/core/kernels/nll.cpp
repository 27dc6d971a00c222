// The negative logarithm of a softmax at chosen classes, and its gradient.
#ifndef LEVEL

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>

#include "kernels/packed.h"
#include "kernels/walk.h"
#include "rules.h"

namespace perflab {

namespace {

// Logits cut at their axis of classes: `outer` times `classes` rows of `inner` logits, with a target for each of
// outer * inner. Axes and ignore_index are the first two attributes.
class Classes {
 public:
  int64_t outer = 1, classes = 1, inner = 1, ignored;

  Classes(const Array& logits, const Array& target, const Attrs& at)
      : ignored(at.v[1]), logits_(logits), targets_(target, DType::kInt64) {
    const int axis = axis_of(logits, at.v[0]);
    for (int i = 0; i < axis; ++i) outer *= logits.shape[i];
    classes = logits.shape[axis];
    for (int i = axis + 1; i < logits.ndim; ++i) inner *= logits.shape[i];
    const int64_t* t = targets_.as<int64_t>();
    for (int64_t i = 0; i < outer * inner; ++i) {
      if ((t[i] < 0 || t[i] >= classes) && t[i] != ignored) fail(t[i]);
    }
  }
  template <class T>
  const T* logits(int64_t row, int64_t column) const {
    return logits_.as<T>() + row * classes * inner + column;
  }
  const int64_t* targets(int64_t row, int64_t column) const { return targets_.as<int64_t>() + row * inner + column; }

 private:
  [[noreturn]] void fail(int64_t target) const {
    throw Error(ErrorKind::kIndex, "target " + std::to_string(target) + " is not one of the " +
                                       std::to_string(classes) + " classes, 0 to " + std::to_string(classes - 1) +
                                       ", nor ignore_index, " + std::to_string(ignored));
  }
  Packed logits_, targets_;
};

}  // namespace

}  // namespace perflab

#define LEVEL_BODY "kernels/nll.cpp"
#include "kernels/foreach_level.h"

namespace perflab {

void add_nll_kernels(KernelTable& table) { LEVELS(add_kernels)(table); }

}  // namespace perflab

#else

#include "kernels/math.h"
#include "kernels/rows.h"

namespace perflab::LEVEL {

namespace {

constexpr int64_t kColumns = 128;  // taken at a time

// The largest logit of each column, and the sum of exp(logit - largest).
template <class T>
void columns_scale(const T* p, int64_t classes, int64_t inner, int64_t m, T* most, T* total) {
  for (int64_t j = 0; j < m; ++j) most[j] = p[j], total[j] = 0;
  for (int64_t c = 1; c < classes; ++c) {
    for (int64_t j = 0; j < m; ++j) most[j] = p[c * inner + j] > most[j] ? p[c * inner + j] : most[j];
  }
  for (int64_t c = 0; c < classes; ++c) {
    for (int64_t j = 0; j < m; ++j) total[j] += exp_of(p[c * inner + j] - most[j]);
  }
}

template <class T>
void row_scale(const T* p, int64_t classes, T& most, T& total) {
  most = join_row<Max>(p, classes, 1);
  total = sum_of<T>(classes, [p, x = most](int64_t c) { return exp_of(p[c] - x); });
}

// Of rows of neighbouring logits, as long as fit into the first cache, some are taken together, step by step, so that a
// row need not wait for the one before it.
constexpr int64_t kRows = 8, kRowLength = 256;
bool in_rows(const Classes& cut) { return cut.inner == 1 && cut.classes <= kRowLength; }

// The largest logit of each of m rows; e = exp(logit - largest), and its sums.
template <class T>
void rows_scale(const T* __restrict p, int64_t m, int64_t n, T* __restrict e, T* most, T* total) {
  for (int64_t i = 0; i < m; ++i) most[i] = join_row<Max>(p + i * n, n, 1);
  for (int64_t i = 0; i < m; ++i) {
    const T x = most[i];
    for (int64_t j = i * n; j < (i + 1) * n; ++j) e[j] = exp_of(p[j] - x);
  }
  for (int64_t i = 0; i < m; ++i) total[i] = static_cast<T>(join_row<Sum>(e + i * n, n, 1));
}

// Calls work(first row, rows) for all rows, kRows at most.
template <class F>
void each_rows(const Classes& cut, const F& work) {
  share(cut.outer, kShare / (cut.classes + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += kRows) work(i, end - i < kRows ? end - i : kRows);
  });
}

// Calls work(row, column, columns) for all columns of all rows, kColumns at most.
template <class F>
void each_block(const Classes& cut, const F& work) {
  share(cut.outer, kShare / (cut.classes * cut.inner + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = 0; j < cut.inner; j += kColumns) {
        work(i, j, cut.inner - j < kColumns ? cut.inner - j : kColumns);
      }
    }
  });
}

template <class T>
void softmax_nll(In in, int, const Attrs& at, Array* out, int) {
  const Classes cut(*in[0], *in[1], at);
  T* q = out[0].as<T>();
  if (in_rows(cut)) {
    return each_rows(cut, [&, q](int64_t row, int64_t m) {
      const T* p = cut.logits<T>(row, 0);
      const int64_t* target = cut.targets(row, 0);
      T e[kRows * kRowLength], most[kRows], total[kRows];
      rows_scale(p, m, cut.classes, e, most, total);
      for (int64_t i = 0; i < m; ++i) {
        q[row + i] = target[i] == cut.ignored ? T(0) : log_of(total[i]) - (p[i * cut.classes + target[i]] - most[i]);
      }
    });
  }
  each_block(cut, [&, q](int64_t row, int64_t column, int64_t m) {
    const T* p = cut.logits<T>(row, column);
    const int64_t* target = cut.targets(row, column);
    T* to = q + row * cut.inner + column;
    T most[kColumns], total[kColumns];
    if (cut.inner == 1) {
      row_scale(p, cut.classes, most[0], total[0]);
    } else {
      columns_scale(p, cut.classes, cut.inner, m, most, total);
    }
    for (int64_t j = 0; j < m; ++j) {
      to[j] = target[j] == cut.ignored ? T(0) : log_of(total[j]) - (p[target[j] * cut.inner + j] - most[j]);
    }
  });
}

// Inputs: logits, the gradient of the result or one number for all of it, targets.
template <class T>
void softmax_nll_grad(In in, int, const Attrs& at, Array* out, int) {
  const Classes cut(*in[0], *in[2], at);
  const Packed gradient(*in[1]);
  const T* from = gradient.as<T>();
  const bool one = in[1]->ndim == 0;
  T* q = out[0].as<T>();
  if (in_rows(cut)) {
    return each_rows(cut, [&, from, one, q](int64_t row, int64_t m) {
      const int64_t n = cut.classes, *target = cut.targets(row, 0);
      T *to = q + row * n, most[kRows], total[kRows];
      rows_scale(cut.logits<T>(row, 0), m, n, to, most, total);
      for (int64_t i = 0; i < m; ++i, to += n) {
        const T grad = target[i] == cut.ignored ? T(0) : from[one ? 0 : row + i], factor = grad / total[i];
        for (int64_t c = 0; c < n; ++c) to[c] *= factor;
        if (target[i] != cut.ignored) to[target[i]] -= grad;
      }
    });
  }
  each_block(cut, [&, from, one, q](int64_t row, int64_t column, int64_t m) {
    const T* p = cut.logits<T>(row, column);
    const int64_t* target = cut.targets(row, column);
    T* to = q + (p - cut.logits<T>(0, 0));
    T most[kColumns], total[kColumns], factor[kColumns], grad[kColumns];
    for (int64_t j = 0; j < m; ++j) {
      grad[j] = target[j] == cut.ignored ? T(0) : from[one ? 0 : row * cut.inner + column + j];
    }
    if (cut.inner == 1) {
      row_scale(p, cut.classes, most[0], total[0]);
      const T x = most[0], y = grad[0] / total[0];
      for (int64_t c = 0; c < cut.classes; ++c) to[c] = exp_of(p[c] - x) * y;
    } else {
      columns_scale(p, cut.classes, cut.inner, m, most, total);
      for (int64_t j = 0; j < m; ++j) factor[j] = grad[j] / total[j];
      for (int64_t c = 0; c < cut.classes; ++c) {
        for (int64_t j = 0; j < m; ++j) {
          to[c * cut.inner + j] = exp_of(p[c * cut.inner + j] - most[j]) * factor[j];
        }
      }
    }
    for (int64_t j = 0; j < m; ++j) {
      if (target[j] != cut.ignored) to[target[j] * cut.inner + j] -= grad[j];
    }
  });
}

template <class... Ts>
void add_for(KernelTable& table, Types<Ts...>) {
  (table.add("softmax_nll", DTypeOf<Ts>::value, softmax_nll<Ts>), ...);
  (table.add("softmax_nll_grad", DTypeOf<Ts>::value, softmax_nll_grad<Ts>), ...);
}

void add_kernels(KernelTable& table) { add_for(table, Floats{}); }

}  // namespace

}  // namespace perflab::LEVEL

#endif
