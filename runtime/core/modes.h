// Modes: what this thread asks of every call of an op. apply() looks at one word, and goes on by itself when it is 0.
#pragma once
#include "tensor.h"

namespace perflab {

enum Mode : uint32_t {
  kAutocast = 1,   // inputs are cast as the op's family says
  kDispatch = 2,   // a Python object is called instead of the op (py_modes.cpp)
  kInference = 4,  // tensors made are inference tensors: they never take part in a graph
};
constexpr uint32_t kChangeCalls = kAutocast | kDispatch;
inline constinit thread_local uint32_t modes = 0;

class WithoutModes {
 public:
  explicit WithoutModes(uint32_t off) : was_(modes) { modes &= ~off; }
  ~WithoutModes() { modes = was_; }
  WithoutModes(const WithoutModes&) = delete;

 private:
  uint32_t was_;
};

void apply_in_modes(const Op&, const Operand* in, int nin, const Attrs&, TensorImpl** out, int nout);
// Calls the innermost dispatch mode; the ops that it calls see the outer ones. In place: gives nothing out.
extern void (*call_dispatch_mode)(const Op&, const Operand* in, int nin, const Attrs&, TensorImpl** out, int nout,
                                  bool in_place);

// --- autocast
// The dtype of this thread's autocast, and a cache of cast leaves (weights), which lives until it is cleared.
inline constinit thread_local DType autocast_dtype = DType::kFloat32;
void clear_autocast_cache();
// What autocast makes of an input of the family `lower` or kFloat32; null: it stays.
Ref<TensorImpl> autocast_input(Autocast family, TensorImpl*);

}  // namespace perflab
