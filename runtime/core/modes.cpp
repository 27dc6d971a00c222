// Calls of ops while a mode is on.
#include "modes.h"

#include <unordered_map>
#include <vector>

#include "node.h"

namespace perflab {

void (*call_dispatch_mode)(const Op&, const Operand*, int, const Attrs&, TensorImpl**, int, bool) = nullptr;

namespace {

using Tensor = Ref<TensorImpl>;

struct Cast {
  Tensor leaf, cast;
  uint32_t version;
};
using Casts = std::unordered_map<TensorImpl*, Cast>;
Casts& cache() {
  struct Owner {
    Casts* casts = new Casts;
    ~Owner() {  // not of a thread that ends within autocast: what the casts hold may need a Python that is gone
      if (casts->empty()) delete casts;
    }
  };
  static thread_local Owner owner;
  return *owner.casts;
}

Tensor cast_to(TensorImpl* t, DType to) {
  static const Op& op = *find_op("cast");
  Attrs attrs{};
  attrs.v[0] = static_cast<int64_t>(to);
  Operand in[] = {{t, t}};
  return Tensor(apply(op, in, 1, attrs));
}

// A weight that is used often is cast once; its gradient then comes through one node.
Tensor cast_leaf(TensorImpl* t, DType to) {
  Cast& known = cache()[t];
  if (!known.cast || known.version != t->version() || known.cast->dtype != to)
    known = {Tensor::share(t), cast_to(t, to), t->version()};
  return known.cast;
}

}  // namespace

// Double numbers are never touched, nor what is no float.
Tensor autocast_input(Autocast family, TensorImpl* t) {
  if (kind(t->dtype) != DKind::kFloat || t->dtype == DType::kFloat64) return {};
  DType to = family == Autocast::kLower ? autocast_dtype : DType::kFloat32;
  if (t->dtype == to) return {};
  bool weight = is_half(to) && grad_enabled && t->requires_grad && !t->grad_fn && !t->base;
  return weight ? cast_leaf(t, to) : cast_to(t, to);
}

void clear_autocast_cache() { cache().clear(); }

void apply_in_modes(const Op& op, const Operand* in, int nin, const Attrs& attrs, TensorImpl** out, int nout) {
  if (!(modes & kAutocast)) return call_dispatch_mode(op, in, nin, attrs, out, nout, false);
  WithoutModes inside(kAutocast);
  if (op.autocast == Autocast::kNone) return apply(op, in, nin, attrs, out, nout);
  std::vector<Operand> given(in, in + nin);
  std::vector<Tensor> casts;
  for (int i = 0; i < nin; ++i) {
    bool takes_part = op.list() ? op.casts & 1 : op.casts >> i & 1;
    if (!takes_part || !given[i].tensor) continue;
    if (Tensor cast = autocast_input(op.autocast, given[i].tensor)) {
      given[i] = {cast.get(), cast.get()};
      casts.push_back(std::move(cast));
    }
  }
  apply(op, given.data(), nin, attrs, out, nout);
}

}  // namespace perflab
