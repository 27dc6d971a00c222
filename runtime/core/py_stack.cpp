// Python's stack at an event. A frame is a code object and an instruction of it; what they say is read afterwards.
#include "py_stack.h"

#include <map>
#include <utility>
#include <vector>

#include "call_stack.h"
#include "py.h"

namespace perflab {
namespace {

constexpr size_t kDeepest = 64;
using Frame = std::pair<PyCodeObject*, int>;
using Stack = std::vector<Frame>;  // the innermost first

struct Stacks {  // under the GIL; the code objects are kept, so that no other takes the place of one
  std::map<Stack, uint32_t> ids;
  std::vector<const Stack*> by_id;
};
Stacks& stacks() {
  static Stacks& shared = *new Stacks;
  return shared;
}

Stack walk() {
  Stack found;
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame) {
    if (found.size() < kDeepest) {
      PyCodeObject* code = PyFrame_GetCode(frame);
      found.emplace_back(code, PyFrame_GetLasti(frame));
      Py_DECREF(code);  // the frame has it
    }
    PyFrameObject* outer = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = outer;
  }
  return found;
}

// Its number, from 1; 0 where this thread does not hold the GIL.
uint32_t stack_here() {
  if (without_gil || !PyGILState_Check()) return 0;
  Stack stack = walk();
  if (stack.empty()) return 0;
  Stacks& s = stacks();
  auto [at, fresh] = s.ids.try_emplace(std::move(stack), static_cast<uint32_t>(s.by_id.size() + 1));
  if (fresh) {
    s.by_id.push_back(&at->first);
    for (const Frame& f : at->first) Py_INCREF(f.first);
  }
  return at->second;
}

}  // namespace

void record_stacks(bool on) { stack_of_thread = on ? stack_here : nullptr; }

PyObject* list_stacks() {
  const std::vector<const Stack*> all = stacks().by_id;
  PyObject* list = PyList_New(0);
  for (size_t i = 0; list && i < all.size(); ++i) {
    PyObject* frames = PyList_New(0);
    for (size_t k = 0; frames && k < all[i]->size(); ++k) {
      auto [code, instruction] = (*all[i])[k];
      PyObject* frame =
          Py_BuildValue("(OiO)", code->co_filename, PyCode_Addr2Line(code, instruction), code->co_qualname);
      if (!frame || PyList_Append(frames, frame) < 0) Py_CLEAR(frames);
      Py_XDECREF(frame);
    }
    if (!frames || PyList_Append(list, frames) < 0) Py_CLEAR(list);
    Py_XDECREF(frames);
  }
  return list;
}

}  // namespace perflab
