// The optimizers' multi-tensor updates.
#include "bind.h"
#include "kernels/optimizer.h"
#include "recorder.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace perflab {
namespace {

// The arrays of a list of tensors, which outlive the call through the list.
std::vector<Array*> arrays(nb::list tensors, const std::vector<Array*>* like) {
  std::vector<Array*> a;
  a.reserve(nb::len(tensors));
  for (nb::handle t : tensors) {
    if (!is_tensor(t.ptr())) throw nb::type_error("an optimizer's step takes lists of Tensors");
    a.push_back(impl_of(t.ptr()));
  }
  if (!like) return a;
  if (a.size() != like->size()) throw nb::value_error("an optimizer's lists differ in length");
  for (size_t i = 0; i < a.size(); ++i)
    if (!same_shape(*a[i], *(*like)[i]) || a[i]->dtype != (*like)[i]->dtype)
      throw Error(ErrorKind::kShape, "an optimizer's state or gradient is " + std::string(name(a[i]->dtype)) + " " +
                                         show(*a[i]) + " for a parameter of " + name((*like)[i]->dtype) + " " +
                                         show(*(*like)[i]));
  return a;
}

template <class F>
void update(const char* name, const std::vector<Array*>& params, F step) {
  int64_t t0 = is_recording() ? ticks() : 0;
  {
    LateGil gil;
    int64_t elements = 0;
    for (const Array* p : params) elements += p->numel;
    if (elements > 1 << 18 && release_gil) release_gil();
    step();
  }
  for (Array* p : params)
    if (p->storage) p->storage->version.fetch_add(1, std::memory_order_relaxed);
  if (!t0) return;
  int64_t t2 = ticks();
  uint32_t id = intern(name);
  Event& e = next_event();
  e = Event{};
  e.t0 = t0, e.t2 = t2, e.name = id, e.scope = current_scope, e.kind = EventKind::kComposite;
}

void sgd(nb::list params, nb::list grads, nb::object buffers, double lr, double momentum, double dampening,
         double weight_decay, bool nesterov, bool maximize, bool first) {
  auto p = arrays(params, nullptr), g = arrays(grads, &p);
  std::vector<Array*> b;
  if (!buffers.is_none()) b = arrays(nb::cast<nb::list>(buffers), &p);
  SgdOptions options{lr, momentum, dampening, weight_decay, nesterov, maximize, first};
  update("sgd_step", p, [&] {
    sgd_step(p.data(), g.data(), buffers.is_none() ? nullptr : b.data(), static_cast<int>(p.size()), options);
  });
}

void adamw(nb::list params, nb::list grads, nb::list means, nb::list squares, int64_t step, double lr, double beta1,
           double beta2, double eps, double weight_decay, bool maximize) {
  auto p = arrays(params, nullptr), g = arrays(grads, &p), m = arrays(means, &p), s = arrays(squares, &p);
  AdamWOptions options{lr, beta1, beta2, eps, weight_decay, step, maximize};
  update("adamw_step", p,
         [&] { adamw_step(p.data(), g.data(), m.data(), s.data(), static_cast<int>(p.size()), options); });
}

}  // namespace

void bind_optim(nb::module_& m) {
  m.def("sgd_step", sgd, "params"_a, "grads"_a, "momentum_buffers"_a.none(), "lr"_a, "momentum"_a, "dampening"_a,
        "weight_decay"_a, "nesterov"_a, "maximize"_a, "first"_a);
  m.def("adamw_step", adamw, "params"_a, "grads"_a, "exp_avgs"_a, "exp_avg_sqs"_a, "step"_a, "lr"_a, "beta1"_a,
        "beta2"_a, "eps"_a, "weight_decay"_a, "maximize"_a);
}

}  // namespace perflab
