#include "out_of_memory.h"

#include <cstdio>

#include "call_stack.h"
#include "device.h"
#include "op.h"
#include "recorder.h"

namespace perflab {

Owner current_owner() { return {current_scope, current_op, stack_of_thread ? stack_of_thread() : 0}; }

std::string module_of(Owner o) { return o.scope ? interned().at(o.scope) : ""; }

std::string op_of(Owner o) {
  if (o.op == kSlabs.op) return "small blocks";
  return o.op ? ops().at(o.op - 1)->name : "";
}

std::string show_bytes(size_t bytes) {
  const char* const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto n = static_cast<double>(bytes);
  int u = 0;
  for (; n >= 1024 && u < 4; ++u) n /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, u ? "%.2f %s" : "%.0f %s", n, units[u]);
  return text;
}

double OutOfMemory::fragmentation() const {
  return free ? 1 - static_cast<double>(largest_free) / static_cast<double>(free) : 0;
}

std::string describe(const OutOfMemory& e) {
  std::string text = device_name(e.device) + ": no memory for " + show_bytes(e.asked) + ". This process has " +
                     show_bytes(e.allocated) + " allocated and " + show_bytes(e.reserved) + " reserved";
  if (e.limit != SIZE_MAX) text += ", of " + show_bytes(e.limit) + " that it may reserve";
  text += "; " + show_bytes(e.on_device.free) + " of " + show_bytes(e.on_device.total) + " are free on the device. ";
  char share[16];
  std::snprintf(share, sizeof share, "%.0f %%", 100 * e.fragmentation());
  text += "The largest free block is " + show_bytes(e.largest_free) + " (fragmentation " + share + ").";
  bool first = true;
  for (const OwnedBytes& o : e.owners) {
    if (!o.blocks) continue;
    const std::string module = module_of(o.owner), op = op_of(o.owner);
    text += first ? " Most is held by " : ", ";
    text += (module.empty() ? "" : module + " ") + (op.empty() ? "no op" : op) + ": " + show_bytes(o.bytes) + " in " +
            std::to_string(o.blocks) + (o.blocks == 1 ? " block" : " blocks");
    first = false;
  }
  return text + (first ? " " : ". ") + "Use smaller tensors, or let go of some first";
}

}  // namespace perflab
