#include "cuda_blas.h"

#include <dlfcn.h>

#include <climits>
#include <map>
#include <mutex>
#include <optional>

#include "cuda_gpu.h"
#include "dispatch.h"
#include "error.h"

namespace perflab::cuda {

std::vector<std::string> (*find_blas)() = nullptr;
std::atomic<bool> allow_tf32 = false;

namespace {

using Status = int;  // cublasStatus_t; 0 is success
enum Operation { kAsIs = 0, kTransposed = 1 };
enum Compute { kFloat = 68, kTf32 = 77, kDouble = 70 };  // cublasComputeType_t
constexpr int kDefaultAlgorithm = -1;

struct Blas {
  Status (*create)(Handle*) = nullptr;
  Status (*set_stream)(Handle, Handle stream) = nullptr;
  Status (*gemm)(Handle, int op_a, int op_b, int m, int n, int k, const void* alpha, const void* a, int a_type, int lda,
                 long long a_step, const void* b, int b_type, int ldb, long long b_step, const void* beta, void* c,
                 int c_type, int ldc, long long c_step, int count, int compute, int algorithm) = nullptr;
};

std::optional<Blas> opened() {
  for (const std::string& name : find_blas ? find_blas() : std::vector<std::string>{}) {
    void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) continue;
    Blas found;
    const auto find = [&](auto& to, const char* symbol) {
      to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(dlsym(library, symbol));
      return to != nullptr;
    };
    if (find(found.create, "cublasCreate_v2") && find(found.set_stream, "cublasSetStream_v2") &&
        find(found.gemm, "cublasGemmStridedBatchedEx"))
      return found;
  }
  return std::nullopt;
}

void check_blas(Status status, const char* call) {
  if (status) [[unlikely]]
    throw Error(ErrorKind::kDevice, std::string("CUDA: ") + call + " failed: status " + std::to_string(status));
}

// A handle serves one call at a time.
struct Session {
  std::mutex mutex;
  Handle handle = nullptr;
  Stream stream = ~Stream{0};
  bool tf32 = false;  // the device has it
};

Session& session(const Blas& blas, int device) {
  static std::mutex mutex;
  static auto& sessions = *new std::map<int, Session>;
  std::scoped_lock lock(mutex);
  Session& s = sessions[device];
  if (!s.handle) {
    check_blas(blas.create(&s.handle), "cublasCreate");
    s.tf32 = describe(device).major >= 8;
  }
  return s;
}

// cudaDataType
std::optional<int> type_of(DType d) {
  switch (d) {
    case DType::kFloat32:
      return 0;
    case DType::kFloat64:
      return 1;
    case DType::kFloat16:
      return 2;
    case DType::kBFloat16:
      return 14;
    default:
      return std::nullopt;
  }
}

// The matrices of an operand: rows and columns, and the axes of the batch as the result has them.
struct Matrices {
  char* data;
  int64_t rows, columns, down, along;  // steps in elements
  int64_t batch[kMaxDim];
};

Matrices matrices(const Array& a, bool left, const Array& out, int leading) {
  Matrices m{};
  m.data = a.as<char>();
  const int own = std::max(a.ndim - 2, 0);
  if (a.ndim == 1) {
    m.rows = left ? 1 : a.shape[0], m.columns = left ? a.shape[0] : 1;
    (left ? m.along : m.down) = a.strides[0];
  } else {
    m.rows = a.shape[a.ndim - 2], m.columns = a.shape[a.ndim - 1];
    m.down = a.strides[a.ndim - 2], m.along = a.strides[a.ndim - 1];
  }
  for (int i = 0; i < own; ++i) {
    const int at = leading - own + i;
    m.batch[at] = a.shape[i] == 1 && out.shape[at] != 1 ? 0 : a.strides[i];
  }
  return m;
}

// How far apart `count` runs of `length` elements are, `step` being between runs and `inside` between their elements,
// as cuBLAS takes them; 0: it does not.
int64_t apart(int64_t count, int64_t length, int64_t step, int64_t inside) {
  if (length > 1 && inside != 1) return 0;
  const int64_t least = std::max<int64_t>(length, 1);
  if (count == 1) return least;
  return step >= least ? step : 0;
}

// An operand of cuBLAS: rows, or columns, that lie `lead` elements apart.
struct Operand : Matrices {
  bool by_rows;
  int64_t lead;

  Operand(const Array& a, bool left, const Array& out, int leading) : Matrices(matrices(a, left, out, leading)) {
    lead = apart(rows, columns, down, along);
    by_rows = lead != 0;
    if (!by_rows) lead = apart(columns, rows, along, down);
  }
};

bool fits(int64_t n) { return n <= INT_MAX; }

}  // namespace

bool multiply(Gpu& gpu, const Array& a, const Array& b, Array& out) {
  const auto type = type_of(out.dtype);
  if (!type || !a.device || !b.device || a.dtype != out.dtype || b.dtype != out.dtype || !out.contig) return false;
  static const std::optional<Blas> blas = opened();
  if (!blas) return false;
  if (!out.numel) return true;
  const int leading = out.ndim - (a.ndim > 1) - (b.ndim > 1);
  Operand left(a, true, out, leading), right(b, false, out, leading);
  if (!left.columns) {
    gpu.clear(out);
    return true;
  }
  Array copies[2];
  if (!left.lead) copies[0] = cast_on_device(a, a.dtype), left = Operand(copies[0], true, out, leading);
  if (!right.lead) copies[1] = cast_on_device(b, b.dtype), right = Operand(copies[1], false, out, leading);

  // Axes of the batch that step evenly are one; those of `a` over one b are more rows of it.
  int64_t m = left.rows, shape[kMaxDim];
  const int64_t n = right.columns, k = left.columns;
  int axes = 0;
  for (int i = 0; i < leading; ++i) {
    if (out.shape[i] == 1) continue;
    const auto even = [&](const Operand& x) { return x.batch[axes - 1] == x.batch[i] * out.shape[i]; };
    const bool joins = axes && even(left) && even(right);
    axes += !joins;
    shape[axes - 1] = joins ? shape[axes - 1] * out.shape[i] : out.shape[i];
    left.batch[axes - 1] = left.batch[i], right.batch[axes - 1] = right.batch[i];
  }
  if (axes && left.by_rows && !right.batch[axes - 1]) {
    const int64_t step = m == 1 ? left.batch[axes - 1] : left.lead, rows = m * shape[axes - 1];
    if (step >= k && left.batch[axes - 1] == step * m && fits(rows)) left.lead = step, m = rows, --axes;
  }
  const int64_t count = axes ? shape[axes - 1] : 1;
  for (int64_t size : {m, n, k, left.lead, right.lead, count})
    if (!fits(size)) return false;

  Session& s = session(*blas, gpu.index());
  const Stream stream = gpu.current_stream();
  const bool wide = out.dtype == DType::kFloat64;
  const double wide_factors[] = {1, 0};
  const float factors[] = {1, 0};
  const auto factor = [&](int i) { return wide ? static_cast<const void*>(&wide_factors[i]) : &factors[i]; };
  const Compute compute = wide ? kDouble : out.dtype == DType::kFloat32 && s.tf32 && allow_tf32 ? kTf32 : kFloat;
  const auto size = static_cast<int64_t>(item_size(out.dtype));
  std::scoped_lock lock(s.mutex);
  if (s.stream != stream) {
    check_blas(blas->set_stream(s.handle, reinterpret_cast<Handle>(stream)), "cublasSetStream");
    s.stream = stream;
  }
  // cuBLAS counts by columns, so it computes the transpose: b's times a's. The outer axes of the batch are walked.
  int64_t at[kMaxDim] = {};
  const int inner = axes - 1;
  for (char* target = out.as<char>();; target += count * m * n * size) {
    int64_t from = 0, with = 0;
    for (int i = 0; i < inner; ++i) from += at[i] * left.batch[i], with += at[i] * right.batch[i];
    check_blas(
        blas->gemm(s.handle, right.by_rows ? kAsIs : kTransposed, left.by_rows ? kAsIs : kTransposed,
                   static_cast<int>(n), static_cast<int>(m), static_cast<int>(k), factor(0), right.data + with * size,
                   *type, static_cast<int>(right.lead), axes ? right.batch[inner] : 0, left.data + from * size, *type,
                   static_cast<int>(left.lead), axes ? left.batch[inner] : 0, factor(1), target, *type,
                   static_cast<int>(n), m * n, static_cast<int>(count), compute, kDefaultAlgorithm),
        "cublasGemmStridedBatchedEx");
    int i = inner - 1;
    while (i >= 0 && ++at[i] == shape[i]) at[i--] = 0;
    if (i < 0) return true;
  }
}

}  // namespace perflab::cuda
