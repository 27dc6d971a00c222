// The shape rules of ops that move a tensor to another device. They move it at once: to both devices an output with
// memory is one without work.
#include "device.h"
#include "rules.h"

namespace perflab {
namespace {

void transfer_to(In in, int, const Attrs& at, Array* out, int) {
  const int64_t to = at.v[0];
  if (to < 0 || to >= device_count()) throw Error(ErrorKind::kDevice, "there is no device " + std::to_string(to));
  out[0] = transfer(*in[0], static_cast<int>(to), at.v[1] != 0);
}

void transfer_like(In in, int, const Attrs&, Array* out, int) {
  if (in[0]->device == in[1]->device)
    out[0].alias(*in[0]);
  else
    out[0] = transfer(*in[0], in[1]->device);
}

constexpr ShapeRule table[] = {{"transfer", "ib", transfer_to}, {"transfer_like", "", transfer_like}};

}  // namespace

std::span<const ShapeRule> device_rules() { return table; }

}  // namespace perflab
