// An op is a row of a table: how its outputs look, what computes them, and the backward programs traced from its
// gradient. Rows are written from Python's declarations (bind_op.cpp); kernels and shape rules join them by name.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "array.h"

namespace perflab {

constexpr int kMaxAttr = 4 * (1 + kMaxDim) + 4;
// Attributes as words in the order of the op's signature. By kind:
//   i int or None (kNone), b bool, f float (its bits), d dtype (its code or kNone): one word
//   t tuple of ints: length, then kMaxDim words;   a axes: as t, length kNone for None, a single int is a tuple of one
struct Attrs {
  int64_t v[kMaxAttr];
};
inline constexpr Attrs kNoAttrs{};
struct AttrSig {
  std::string name, alias;  // alias: PyTorch's spelling (dim for axis), or empty
  char kind;
  uint8_t at;  // first word
  bool required;
  std::vector<int64_t> preset;  // its words when not given
};

using In = const Array* const*;
// Sets the outputs' shapes (pack) or, for a view, everything but the dtype (alias, then shape and strides).
// Inputs have been cast already and outputs have their dtype. Throws Error(kShape) without the op's name.
using Infer = void (*)(In in, int nin, const Attrs&, Array* out, int nout);
using CountOutputs = int (*)(In in, int nin, const Attrs&);
// Writes the outputs, which are contiguous. out[0].data == in[0]->data is possible for pointwise ops alone (donation,
// in place).
using Kernel = void (*)(In in, int nin, const Attrs&, Array* out, int nout);

struct ShapeRule {
  const char* name;
  const char* attrs;  // the kinds of the leading attributes that it reads
  Infer infer;
  CountOutputs outputs = nullptr;  // null: one
};
const ShapeRule* shape_rule(const std::string& name);  // null: none of that name

enum class DTypeRule : uint8_t {
  kPromote,  // outputs and computation in the promoted dtype of the inputs that `casts` names
  kFloat,    // as promote, but ints and bools become the default float
  kBool,     // computes in the promoted dtype, gives bool
  kFirst,    // the dtype of input 0
  kSecond,   // the dtype of input 1 (helpers of gradients: "like")
  kReal,     // computes in the promoted dtype, gives that of the real part
  kSum,    // the first attribute of kind d; without one as first, but bools and ints become int64, unsigned ones uint64
  kIndex,  // computes in the dtype of input 0, gives int64
  kAttr,   // computes in the dtype of input 0, gives the first attribute of kind d
  kPython,         // the shape rule is Python and says the dtype as well; computes in the dtype of input 0
  kPythonPromote,  // likewise, but computes in the promoted dtype
};

// What autocast does to a call's float inputs: kLower casts them to its dtype, kFloat32 casts halves up.
enum class Autocast : uint8_t { kNone, kLower, kFloat32 };

struct Program;

struct Op {
  uint16_t id = 0;
  std::string name;
  int nin = 0;            // -1: a list of tensors
  Infer infer = nullptr;  // null: in Python
  int nout = 1;           // 0: `outputs` counts them
  CountOutputs outputs = nullptr;
  void* result_type = nullptr;  // Python's named tuple of several outputs; null: a plain tuple
  DTypeRule dtype_rule = DTypeRule::kPromote;
  uint32_t casts = 0;           // inputs that are cast to the computation's dtype; for a list, bit 0 speaks for all
  uint32_t likes = 0;           // inputs of which only shape and dtype are read
  uint32_t differentiable = 0;  // inputs that have a gradient
  bool pointwise = false;
  Autocast autocast = Autocast::kNone;
  bool updates = false;    // its kernel in Python changes a part of input 0, which is the output too
  bool moves = false;      // its input is on another device than its output (device_rules.cpp)
  bool contracts = false;  // its work is the product of its sizes (matmul), not their sum
  std::vector<AttrSig> attrs;
  bool spreads = false;         // the items of its first attribute may stand for it: reshape(x, 2, 3)
  int words = 0;                // of its attributes
  Kernel native[kDTypes] = {};  // by the computation's dtype
  void* record = nullptr;       // the Python declaration (runtime/registry.py), held for ever
  std::vector<std::unique_ptr<Program>> programs;
  bool list() const { return nin < 0; }
  bool like(int i) const { return list() ? likes & 1 : likes >> i & 1; }
  Kernel kernel(DType computed) const { return native[static_cast<int>(computed)]; }
  bool is_native(DType computed) const { return kernel(computed) || (is_half(computed) && kernel(DType::kFloat32)); }
};

std::vector<std::unique_ptr<Op>>& ops();
const Op* find_op(const std::string& name);

// Native kernels, joined to ops by name when these are defined.
struct NativeKernel {
  const char* op;
  DType dtype;
  Kernel kernel;
};
std::vector<NativeKernel>& native_kernels();

// Kernels that the core itself calls.
void copy_into(const Array& from, Array& to);  // same shape, any strides and dtypes on both sides
Array cast(const Array& a, DType to);          // a fresh contiguous array
void load_blas(const char* library);           // OpenBLAS as scipy-openblas32 ships it; throws Error(kValue)

// Infer, allocate, run, record the event. No autograd, no Python objects, no lock.
// `sequence`: the number of the autograd node that the caller is about to make, 0 none.
void run(const Op&, In in, int nin, const Attrs&, Array* out, int nout, bool donate = false, uint64_t sequence = 0);
int count_outputs(const Op&, In in, int nin, const Attrs&);
// The same, written over `target`, which may be input 0: the result's shape must be its own. `form`: what follows the
// op's name in messages.
void run_into(const Op&, In in, int nin, const Attrs&, Array& target, const char* form, uint64_t sequence);

// Set by the Python side.
extern void (*infer_python)(const Op&, In in, int nin, const Attrs&, Array* out, int nout);
extern void (*run_python_kernel)(const Op&, In in, int nin, const Attrs&, Array* out, int nout);

}  // namespace perflab
