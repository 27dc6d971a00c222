// The optimizers' multi-tensor updates.
#include <span>

#include "bind.h"
#include "device.h"
#include "kernels/optimizer.h"
#include "recorder.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace perflab {
namespace {

// The arrays of a list of tensors, which outlive the call through the list.
std::vector<Array*> arrays(nb::list tensors) {
  std::vector<Array*> a;
  a.reserve(nb::len(tensors));
  for (nb::handle t : tensors) {
    if (!is_tensor(t.ptr())) throw nb::type_error("an optimizer's step takes lists of Tensors");
    a.push_back(impl_of(t.ptr()));
  }
  return a;
}

// `least` to `most` lists: parameters, gradients, state.
ParameterLists lists_of(nb::list given, size_t least, size_t most) {
  ParameterLists lists;
  for (nb::handle list : given) lists.push_back(arrays(nb::cast<nb::list>(list)));
  if (lists.size() < least || lists.size() > most)
    throw Error(ErrorKind::kValue, "an optimizer's step got " + std::to_string(lists.size()) + " lists");
  for (const auto& list : lists)
    if (list.size() != lists[0].size()) throw nb::value_error("an optimizer's lists differ in length");
  return lists;
}

int64_t elements_of(const ParameterLists& lists) {
  int64_t elements = 0;
  for (const Array* p : lists[0]) elements += p->numel;
  return elements;
}

// The same step as work of the device where all of these arrays are.
template <class Options>
void update_on_device(const char* name, const ParameterLists& lists, const Options& options) {
  Device& d = device(lists[0][0]->device);
  std::vector<Array> flat;
  for (const auto& list : lists)
    for (const Array* a : list) {
      if (a->device != d.number())
        throw Error(ErrorKind::kDevice, std::string(name) + ": a parameter is on " + d.name() +
                                            ", its gradient or state on " + device_name(a->device) +
                                            ": move the optimizer's state with to()");
      flat.emplace_back(*a);
    }
  if (d.update(lists, options)) return;
  constexpr int64_t kFlopsEach = 4;  // of an element, for each list
  d.call(name, std::move(flat), kFlopsEach * static_cast<int64_t>(lists.size()) * elements_of(lists),
         [options, n = lists[0].size()](std::span<Array> all) {
           ParameterLists there;
           for (size_t at = 0; at < all.size(); at += n) {
             there.emplace_back();
             for (Array& a : all.subspan(at, n)) there.back().push_back(&a);
           }
           update_step(there, options);
         });
}

// Runs the step with these options, which changes all of these arrays but the gradients: in the trace under this name,
// and without the GIL where it is long.
template <class Options>
void update(Interned& name, const ParameterLists& lists, const Options& options) {
  int64_t t0 = is_recording() ? ticks() : 0;
  if (!lists[0].empty() && lists[0][0]->device) {
    update_on_device(name.text(), lists, options);
  } else {
    LateGil gil;
    if (elements_of(lists) > 1 << 18 && release_gil) release_gil();
    update_step(lists, options);
  }
  for (size_t k = 0; k < lists.size(); ++k)
    for (Array* a : lists[k])
      if (k != 1 && a->storage) a->storage->version.fetch_add(1, std::memory_order_relaxed);
  if (!t0) return;
  int64_t t2 = ticks();
  uint32_t id = name.id();
  Event& e = next_event();
  e = Event{};
  e.t0 = t0, e.t2 = t2, e.name = id, e.scope = current_scope, e.kind = EventKind::kComposite;
}

constinit Interned sgd_step{"sgd_step"}, adam_step{"adam_step"}, adamw_step{"adamw_step"}, rmsprop_step{"rmsprop_step"},
    adagrad_step{"adagrad_step"}, unscale{"unscale"};

void sgd(nb::list tensors, double lr, double momentum, double dampening, double weight_decay, bool nesterov,
         bool maximize, bool first) {
  auto lists = lists_of(tensors, 2, 3);
  update(sgd_step, lists, SgdOptions{lr, momentum, dampening, weight_decay, nesterov, maximize, first});
}

void adam(nb::list tensors, int64_t step, double lr, double beta1, double beta2, double eps, double weight_decay,
          bool maximize, bool decoupled) {
  auto lists = lists_of(tensors, 4, 5);
  update(decoupled ? adamw_step : adam_step, lists,
         AdamOptions{lr, beta1, beta2, eps, weight_decay, step, maximize, decoupled});
}

void rmsprop(nb::list tensors, double lr, double alpha, double eps, double weight_decay, double momentum, bool centered,
             bool maximize) {
  size_t count = 3 + size_t{momentum != 0} + size_t{centered};
  auto lists = lists_of(tensors, count, count);
  update(rmsprop_step, lists, RmspropOptions{lr, alpha, eps, weight_decay, momentum, centered, maximize});
}

void adagrad(nb::list tensors, double lr, double eps, double weight_decay, bool maximize) {
  auto lists = lists_of(tensors, 3, 3);
  update(adagrad_step, lists, AdagradOptions{lr, eps, weight_decay, maximize});
}

bool unscale_gradients(nb::list grads, double factor) {
  ParameterLists lists{arrays(grads)};
  auto found = std::make_shared<bool>(false);
  update(unscale, lists, UnscaleOptions{factor, found});
  if (!lists[0].empty() && lists[0][0]->device) device(lists[0][0]->device).synchronize();
  return *found;
}

}  // namespace

void bind_optim(nb::module_& m) {
  m.def("sgd_step", sgd, "tensors"_a, "lr"_a, "momentum"_a, "dampening"_a, "weight_decay"_a, "nesterov"_a, "maximize"_a,
        "first"_a);
  m.def("adam_step", adam, "tensors"_a, "step"_a, "lr"_a, "beta1"_a, "beta2"_a, "eps"_a, "weight_decay"_a, "maximize"_a,
        "decoupled"_a);
  m.def("rmsprop_step", rmsprop, "tensors"_a, "lr"_a, "alpha"_a, "eps"_a, "weight_decay"_a, "momentum"_a, "centered"_a,
        "maximize"_a);
  m.def("adagrad_step", adagrad, "tensors"_a, "lr"_a, "eps"_a, "weight_decay"_a, "maximize"_a);
  m.def("unscale", unscale_gradients, "grads"_a, "factor"_a);
}

}  // namespace perflab
