// Matrix products: OpenBLAS where it is loaded and pays, plain loops elsewhere.
#include <dlfcn.h>

#include <climits>
#include <cstring>

#include "kernels/gemm.h"
#include "kernels/table.h"
#include "threads.h"

namespace perflab {

namespace {

enum : int { kRowMajor = 101, kPlain = 111, kTransposed = 112 };  // of cblas.h

template <class T>
using Gemm = void (*)(int order, int flip_a, int flip_b, int m, int n, int k, T alpha, const T* a, int lda, const T* b,
                      int ldb, T beta, T* c, int ldc);

template <class T>
Gemm<T> blas = nullptr;

// A matrix inside an array; strides in elements.
template <class T>
struct Matrix {
  const T* p;
  int64_t rows, columns, row, column;
};

// How BLAS is told of a matrix: by rows that have no gaps, or by such columns.
struct Form {
  int flip;
  int64_t lead;
};
template <class T>
bool form(const Matrix<T>& m, Form& f) {
  // The stride of an axis of size 1 says nothing.
  auto dense = [](int64_t n, int64_t step, int64_t lines, int64_t lead) {
    return (step == 1 || n == 1) && (lead >= n || lines == 1) && lead <= INT_MAX;
  };
  if (dense(m.columns, m.column, m.rows, m.row)) {
    f = {kPlain, m.rows == 1 ? m.columns : m.row};
    return true;
  }
  if (dense(m.rows, m.row, m.columns, m.column)) {
    f = {kTransposed, m.columns == 1 ? m.rows : m.column};
    return true;
  }
  return false;
}

constexpr int64_t kSmall = 16;  // products up to which a call of BLAS costs more than they do

constexpr int64_t kShareProducts = int64_t{1} << 23;  // from which threads are worth it: a part of the work
constexpr int64_t kPanel = 64;                        // rows or columns of a part: what BLAS takes at once

constexpr int64_t kWide = 16;  // columns from which a loop along them is the faster one

template <class T>
void multiply_plainly(const Matrix<T>& a, const Matrix<T>& b, T* c) {
  const int64_t n = b.columns;
  for (int64_t i = 0; i < a.rows; ++i, c += n) {
    if (b.column == 1 && n >= kWide) {
      std::memset(c, 0, static_cast<size_t>(n) * sizeof(T));
      for (int64_t k = 0; k < a.columns; ++k) {
        const T x = a.p[i * a.row + k * a.column];
        const T* y = b.p + k * b.row;
        for (int64_t j = 0; j < n; ++j) c[j] += x * y[j];
      }
    } else {
      for (int64_t j = 0; j < n; ++j) {
        T sum = 0;
        for (int64_t k = 0; k < a.columns; ++k) sum += a.p[i * a.row + k * a.column] * b.p[k * b.row + j * b.column];
        c[j] = sum;
      }
    }
  }
}

template <class T>
void multiply(const Matrix<T>& a, const Matrix<T>& b, T* c) {
  const int64_t m = a.rows, k = a.columns, n = b.columns;
  Form x, y;
  if (!blas<T> || m * n * k <= kSmall || m > INT_MAX || n > INT_MAX || k > INT_MAX || !form(a, x) || !form(b, y)) {
    return multiply_plainly(a, b, c);
  }
  auto block = [&](int64_t row, int64_t column, int64_t rows, int64_t columns) {
    blas<T>(kRowMajor, x.flip, y.flip, static_cast<int>(rows), static_cast<int>(columns), static_cast<int>(k), T(1),
            a.p + row * a.row, static_cast<int>(x.lead), b.p + column * b.column, static_cast<int>(y.lead), T(0),
            c + row * n + column, static_cast<int>(n));
  };
  // Threads share the longer side. An element's sum is the same in each block, so results do not depend on them.
  const int64_t side = m < n ? n : m, least = kShareProducts / (m * n * k / side);
  const int64_t grain = least < kPanel ? kPanel : (least + kPanel - 1) / kPanel * kPanel;
  if (m < n) return share(n, grain, [&](int64_t begin, int64_t end) { block(0, begin, m, end - begin); });
  share(m, grain, [&](int64_t begin, int64_t end) { block(begin, 0, end - begin, n); });
}

// An operand's last two axes; a vector is a row on the left and a column on the right.
template <class T>
Matrix<T> matrix(const Array& a, bool left) {
  const int n = a.ndim;
  if (n > 1) return {a.as<T>(), a.shape[n - 2], a.shape[n - 1], a.strides[n - 2], a.strides[n - 1]};
  if (left) return {a.as<T>(), 1, a.shape[0], a.shape[0], a.strides[0]};
  return {a.as<T>(), a.shape[0], 1, a.strides[0], 1};
}

// BLAS takes no gaps inside both rows and columns: then the operand is copied first.
template <class T>
const Array* packed(const Array* a, bool left, Array& copy) {
  Form f;
  if (form(matrix<T>(*a, left), f)) return a;
  copy = cast(*a, a->dtype);
  return &copy;
}

// The axes before the last two, outermost first, of both operands; strides 0 where one is broadcast.
struct Batch {
  int ndim = 0;
  int64_t shape[kMaxDim], a[kMaxDim], b[kMaxDim];

  Batch(const Array& x, const Array& y, const Array& out) {
    const int lead_x = x.ndim - 2, lead_y = y.ndim - 2;
    ndim = lead_x > lead_y ? lead_x : lead_y;
    if (ndim < 0) ndim = 0;
    for (int i = 0; i < ndim; ++i) {
      const int u = i - (ndim - lead_x), v = i - (ndim - lead_y);
      shape[i] = out.shape[i];
      a[i] = u < 0 || x.shape[u] == 1 ? 0 : x.strides[u];
      b[i] = v < 0 || y.shape[v] == 1 ? 0 : y.strides[v];
    }
  }
  int64_t count() const {
    int64_t n = 1;
    for (int i = 0; i < ndim; ++i) n *= shape[i];
    return n;
  }
};

// The products `begin` to `end` of a batch; c is that of its first.
template <class T>
void multiply_each(const Batch& batch, int64_t begin, int64_t end, Matrix<T> a, Matrix<T> b, T* c) {
  int64_t at[kMaxDim];
  int64_t rest = begin;
  for (int d = batch.ndim - 1; d >= 0; --d) {
    at[d] = rest % batch.shape[d], rest /= batch.shape[d];
    a.p += at[d] * batch.a[d], b.p += at[d] * batch.b[d];
  }
  c += begin * a.rows * b.columns;
  for (int64_t i = begin; i < end; ++i) {
    multiply(a, b, c);
    c += a.rows * b.columns;
    for (int d = batch.ndim - 1; d >= 0; --d) {
      a.p += batch.a[d], b.p += batch.b[d];
      if (++at[d] < batch.shape[d]) break;
      a.p -= batch.a[d] * batch.shape[d], b.p -= batch.b[d] * batch.shape[d];
      at[d] = 0;
    }
  }
}

template <class T>
void matmul(In in, int, const Attrs&, Array* out, int) {
  T* c = out[0].as<T>();
  if (out[0].numel == 0) return;
  if (in[0]->ndim <= 2 && in[1]->ndim <= 2 && in[0]->numel * in[1]->numel <= kSmall) {
    return multiply_plainly(matrix<T>(*in[0], true), matrix<T>(*in[1], false), c);
  }
  Array left, right;
  const Array *x = packed<T>(in[0], true, left), *y = packed<T>(in[1], false, right);
  Matrix<T> a = matrix<T>(*x, true), b = matrix<T>(*y, false);
  if (a.columns == 0) {
    std::memset(c, 0, out[0].bytes());
    return;
  }
  Batch batch(*x, *y, out[0]);
  // Matrices that lie below each other and meet the same one on the right are one tall matrix.
  for (; batch.ndim > 0; --batch.ndim) {
    const int d = batch.ndim - 1;
    if (batch.shape[d] == 1) continue;
    Matrix<T> tall = a;
    if (a.rows == 1) tall.row = batch.a[d];
    tall.rows *= batch.shape[d];
    Form f;
    if (batch.b[d] != 0 || batch.a[d] != a.rows * tall.row || !form(tall, f)) break;
    a = tall;
  }
  const int64_t products = a.rows * a.columns * b.columns;
  share(batch.count(), kShareProducts / products + 1,
        [&](int64_t begin, int64_t end) { multiply_each(batch, begin, end, a, b, c); });
}

template <class F>
F symbol(void* library, const char* name, const char* path) {
  void* found = dlsym(library, name);
  if (!found) {
    throw Error(ErrorKind::kValue, std::string(path) + " has no " + name + ": give the library of scipy-openblas32");
  }
  return reinterpret_cast<F>(found);
}

}  // namespace

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, Side<T> a, Side<T> b, bool add, T* c, int64_t c_row) {
  if (blas<T>) {
    auto order = [](const Side<T>& s) { return s.flip ? kTransposed : kPlain; };
    return blas<T>(kRowMajor, order(a), order(b), static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), T(1),
                   a.p, static_cast<int>(a.row), b.p, static_cast<int>(b.row), T(add), c, static_cast<int>(c_row));
  }
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      T sum = add ? c[i * c_row + j] : T(0);
      for (int64_t l = 0; l < k; ++l)
        sum += a.p[a.flip ? l * a.row + i : i * a.row + l] * b.p[b.flip ? j * b.row + l : l * b.row + j];
      c[i * c_row + j] = sum;
    }
  }
}
template void gemm(int64_t, int64_t, int64_t, Side<float>, Side<float>, bool, float*, int64_t);
template void gemm(int64_t, int64_t, int64_t, Side<double>, Side<double>, bool, double*, int64_t);

void load_blas(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) throw Error(ErrorKind::kValue, std::string("OpenBLAS cannot be loaded: ") + dlerror());
  const auto single = symbol<Gemm<float>>(library, "scipy_cblas_sgemm", path);
  const auto twice = symbol<Gemm<double>>(library, "scipy_cblas_dgemm", path);
  // Its own threads would spin beside numpy's, and ours.
  symbol<void (*)(int)>(library, "scipy_openblas_set_num_threads", path)(1);
  blas<float> = single, blas<double> = twice;
}

void add_matmul_kernels(KernelTable& table) {
  table.add("matmul", DType::kFloat32, matmul<float>);
  table.add("matmul", DType::kFloat64, matmul<double>);
}

}  // namespace perflab
