// Python's stacks: as they are at events, while record_stacks(true) holds, and tables of them.
#pragma once
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "py.h"

namespace perflab {

// A code object and an instruction of it: what they say is read afterwards. The innermost frame is the first.
using Stack = std::vector<std::pair<PyCodeObject*, int>>;
// A thread's, but for what is further out than `deepest` frames. The frames keep the code objects.
Stack walk_stack(PyThreadState*, size_t deepest);

class StackTable {  // under the GIL; it keeps the code objects, so that no other takes the place of one
 public:
  StackTable() = default;
  ~StackTable() { clear(); }
  StackTable(const StackTable&) = delete;
  uint32_t number_of(Stack&&);  // from 1
  // By number, from 1: [(file, line, function, its first line), ...]. A new reference, or null and Python's error.
  PyObject* list() const;
  void clear();

 private:
  std::map<Stack, uint32_t> ids_;
  std::vector<const Stack*> by_id_;
};

void record_stacks(bool on);
PyObject* list_stacks();  // that were recorded, as StackTable::list()

}  // namespace perflab
