#include "py_stack.h"

#include "call_stack.h"

namespace perflab {
namespace {

constexpr size_t kDeepest = 64;  // of a stack that is recorded at each op

StackTable& recorded() {
  static StackTable& shared = *new StackTable;
  return shared;
}

// Its number, from 1; 0 where this thread does not hold the GIL.
uint32_t stack_here() {
  if (without_gil || !PyGILState_Check()) return 0;
  Stack stack = walk_stack(PyThreadState_Get(), kDeepest);
  return stack.empty() ? 0 : recorded().number_of(std::move(stack));
}

PyObject* list_frames(const Stack& stack) {
  PyObject* frames = PyList_New(0);
  for (size_t k = 0; frames && k < stack.size(); ++k) {
    auto [code, instruction] = stack[k];
    PyObject* frame = Py_BuildValue("(OiOi)", code->co_filename, PyCode_Addr2Line(code, instruction), code->co_qualname,
                                    code->co_firstlineno);
    if (!frame || PyList_Append(frames, frame) < 0) Py_CLEAR(frames);
    Py_XDECREF(frame);
  }
  return frames;
}

}  // namespace

Stack walk_stack(PyThreadState* thread, size_t deepest) {
  Stack found;
  PyFrameObject* frame = PyThreadState_GetFrame(thread);
  while (frame && found.size() < deepest) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    found.emplace_back(code, PyFrame_GetLasti(frame));
    Py_DECREF(code);
    PyFrameObject* outer = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = outer;
  }
  Py_XDECREF(frame);
  return found;
}

uint32_t StackTable::number_of(Stack&& stack) {
  auto [at, fresh] = ids_.try_emplace(std::move(stack), static_cast<uint32_t>(by_id_.size() + 1));
  if (fresh) {
    by_id_.push_back(&at->first);
    for (auto [code, instruction] : at->first) Py_INCREF(code);
  }
  return at->second;
}

PyObject* StackTable::list() const {
  const std::vector<const Stack*> all = by_id_;
  PyObject* list = PyList_New(0);
  for (size_t i = 0; list && i < all.size(); ++i) {
    PyObject* frames = list_frames(*all[i]);
    if (!frames || PyList_Append(list, frames) < 0) Py_CLEAR(list);
    Py_XDECREF(frames);
  }
  return list;
}

void StackTable::clear() {
  by_id_.clear();
  for (const std::map<Stack, uint32_t> gone = std::exchange(ids_, {}); const auto& [stack, number] : gone)
    for (auto [code, instruction] : stack) Py_DECREF(code);
}

void record_stacks(bool on) { stack_of_thread = on ? stack_here : nullptr; }

PyObject* list_stacks() { return recorded().list(); }

}  // namespace perflab
