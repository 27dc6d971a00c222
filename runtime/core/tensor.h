// TensorImpl: an Array with autograd state and a slot for its Python wrapper.
// Who owns whom: tensor -> grad_fn -> edges -> earlier nodes and leaf tensors. Nodes keep Arrays (storage), never
// tensors.
#pragma once
#include <mutex>

#include "op.h"

namespace perflab {

struct Node;

// How a view came to be: it decides whether the view may be changed in place while gradients are recorded.
enum class ViewKind : uint8_t { kRecorded, kNoGrad, kSeveral };  // kSeveral: of an op with several outputs

struct TensorImpl : Array {
  std::atomic<uint32_t> refs{1};
  bool requires_grad = false;
  bool inference = false;     // made in inference mode: outside of it neither saved nor changed
  bool owns_wrapper = false;  // written under the GIL before the writer's own reference goes
  ViewKind view_kind = ViewKind::kRecorded;
  uint32_t seen_version = 0;   // of a view: the version of its memory that grad_fn speaks of (history.h)
  uint32_t output = 0;         // which output of grad_fn this is
  void* wrapper = nullptr;     // the Python object; borrowed unless owns_wrapper
  Node* grad_fn = nullptr;     // of a view: ask history()
  TensorImpl* grad = nullptr;  // guarded by grad_lock(this)
  TensorImpl* base = nullptr;  // whose memory this view shows; itself no view. Counted
  void* hooks = nullptr;       // of a leaf: the Python object that keeps its hooks (runtime/autograd/hooks.py)

  uint32_t version() const { return storage ? storage->version.load(std::memory_order_relaxed) : 0; }
};

TensorImpl* make_tensor();
TensorImpl* make_tensor(Array&&);
void destroy(TensorImpl*) noexcept;
std::mutex& grad_lock(const TensorImpl*);
int64_t live_tensors();

extern void (*release_hooks)(TensorImpl*);
extern void (*release_wrapper)(void*);  // set by py_tensor_life.cpp; copes with not holding the GIL

inline thread_local bool grad_enabled = true;
struct GradMode {  // within a scope
  explicit GradMode(bool on) : was(std::exchange(grad_enabled, on)) {}
  ~GradMode() { grad_enabled = was; }
  bool was;
};

struct Operand {
  const Array* array;
  TensorImpl* tensor;  // null: a number
};
// One op from operands to recorded results. `out` receives `nout` new tensors, owned by the caller; nout as
// count_outputs says.
void apply(const Op&, const Operand* in, int nin, const Attrs&, TensorImpl** out, int nout);
inline TensorImpl* apply(const Op& op, const Operand* in, int nin, const Attrs& attrs) {
  TensorImpl* out;
  apply(op, in, nin, attrs, &out, 1);
  return out;
}
// Writes the result into `out`, without history; refuses what requires grad.
void apply_into(const Op&, const Operand* in, int nin, const Attrs&, TensorImpl* out);
// Writes the result into in[0].tensor, bumps its version and makes the op its history.
void apply_in_place(const Op&, const Operand* in, int nin, const Attrs&);

}  // namespace perflab
