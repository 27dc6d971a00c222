// The op table, and the search for the backward program that fits a call.
#include "op.h"

#include <algorithm>

#include "node.h"

namespace perflab {

std::unique_ptr<Program> (*trace_program)(const Op&, const Operand*, int, int, uint32_t, const Attrs&) = nullptr;

std::vector<std::unique_ptr<Op>>& ops() {
  static auto& table = *new std::vector<std::unique_ptr<Op>>;  // never destroyed: threads may run ops at exit
  return table;
}

const Op* find_op(const std::string& name) {
  for (auto& op : ops())
    if (op->name == name) return op.get();
  return nullptr;
}

std::vector<NativeKernel>& native_kernels() {
  static auto& table = *new std::vector<NativeKernel>;
  return table;
}

namespace {

bool serves(const Program& p, const Operand* in, int nin, int nout, uint32_t mask, const Attrs& attrs) {
  if (p.mask != mask || p.nin != nin || p.nout != nout) return false;
  if (!p.specialised) return true;
  if (!std::equal(p.attrs.begin(), p.attrs.end(), attrs.v)) return false;
  for (int i = 0; i < nin; ++i)
    if (p.ndims[i] != in[i].array->ndim) return false;
  return true;
}

}  // namespace

const Program& program_for(const Op& op, const Operand* in, int nin, int nout, uint32_t mask, const Attrs& attrs) {
  for (auto& p : op.programs)
    if (serves(*p, in, nin, nout, mask, attrs)) return *p;
  auto p = trace_program(op, in, nin, nout, mask, attrs);
  p->nin = nin, p->nout = nout, p->mask = mask;
  if (p->specialised) {
    p->attrs.assign(attrs.v, attrs.v + op.words);
    for (int i = 0; i < nin; ++i) p->ndims.push_back(in[i].array->ndim);
  }
  auto& programs = const_cast<Op&>(op).programs;
  programs.push_back(std::move(p));
  return *programs.back();
}

}  // namespace perflab
