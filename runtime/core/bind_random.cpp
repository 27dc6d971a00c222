// Random numbers, written into contiguous tensors.
#include <span>

#include "bind.h"
#include "device.h"
#include "kernels/random.h"
#include "recorder.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace perflab {
namespace {

// Runs make(array) on the tensor's memory, in the trace under this name. Without the GIL where it is long.
template <class F>
void generate(const RandomFill& fill, nb::handle tensor, F make) {
  const char* name = fill.name;
  if (!is_tensor(tensor.ptr())) throw nb::type_error("random numbers go into a Tensor");
  const Array& out = *impl_of(tensor.ptr());
  if (!out.contig) throw Error(ErrorKind::kValue, std::string(name) + ": the tensor is not contiguous");
  const int64_t t0 = is_recording() ? ticks() : 0;
  if (out.device && device(out.device).fill(out, fill)) {
  } else if (out.device) {
    constexpr int64_t kFlopsEach = 30;  // ten rounds of Philox for two numbers
    std::vector<Array> there;
    there.emplace_back(out);
    device(out.device).call(name, std::move(there), kFlopsEach * out.numel, [make](std::span<Array> a) { make(a[0]); });
  } else {
    LateGil gil;
    if (out.numel > 1 << 16 && release_gil) release_gil();
    make(out);
  }
  if (out.storage) out.storage->version.fetch_add(1, std::memory_order_relaxed);
  if (!t0) return;
  const int64_t t2 = ticks();
  const uint32_t id = intern(name);
  Event& e = next_event();
  e = Event{};
  e.t0 = t0, e.t2 = t2, e.name = id, e.scope = current_scope, e.kind = EventKind::kComposite;
}

}  // namespace

void bind_random(nb::module_& m) {
  m.def(
      "random_uniform",
      [](nb::handle out, uint64_t seed, uint64_t block, double low, double high, int bits) {
        if (bits < 1 || bits > 53) throw Error(ErrorKind::kValue, "random_uniform: from 1 to 53 bits");
        generate({"random_uniform", {seed, block}, low, high - low, 0, 0, bits}, out,
                 [=](const Array& a) { random_uniform(a, {seed, block}, low, high, bits); });
      },
      "out"_a, "seed"_a, "block"_a, "low"_a, "high"_a, "bits"_a);
  m.def(
      "random_normal",
      [](nb::handle out, uint64_t seed, uint64_t block, double mean, double std, double p0, double p1) {
        generate({"random_normal", {seed, block}, p0, p1 - p0, mean, std}, out,
                 [=](const Array& a) { random_normal(a, {seed, block}, mean, std, p0, p1); });
      },
      "out"_a, "seed"_a, "block"_a, "mean"_a, "std"_a, "p0"_a, "p1"_a);
  m.def(
      "random_exponential",
      [](nb::handle out, uint64_t seed, uint64_t block, double rate) {
        generate({"random_exponential", {seed, block}, rate}, out,
                 [=](const Array& a) { random_exponential(a, {seed, block}, rate); });
      },
      "out"_a, "seed"_a, "block"_a, "rate"_a);
  m.def(
      "random_bernoulli",
      [](nb::handle out, uint64_t seed, uint64_t block, double p) {
        generate({"random_bernoulli", {seed, block}, p}, out,
                 [=](const Array& a) { random_bernoulli(a, {seed, block}, p); });
      },
      "out"_a, "seed"_a, "block"_a, "p"_a);
  m.def(
      "random_integers",
      [](nb::handle out, uint64_t seed, uint64_t block, int64_t low, uint64_t span) {
        generate({"random_integers", {seed, block}, 0, 0, 0, 0, 0, low, span}, out,
                 [=](const Array& a) { random_integers(a, {seed, block}, low, span); });
      },
      "out"_a, "seed"_a, "block"_a, "low"_a, "span"_a);
  m.def(
      "random_permutation",
      [](nb::handle out, uint64_t seed, uint64_t block) {
        generate({"random_permutation", {seed, block}}, out,
                 [=](const Array& a) { random_permutation(a, {seed, block}); });
      },
      "out"_a, "seed"_a, "block"_a);
}

}  // namespace perflab
