// Relocation slots: where a loaded module keeps the addresses of functions of other modules that it calls.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace perflab {

struct Slot {
  void** place;
  size_t function;  // its place among the names that were looked for
  int protection;   // of the page it lies in
};

struct Module {
  std::string name;
  std::vector<std::pair<uintptr_t, uintptr_t>> loaded;  // address ranges
  std::vector<Slot> slots;

  bool holds(const void* address) const;
};

// The module that holds `code`, with its slots of these functions. Both throw std::runtime_error that says why not.
Module find_module(const void* code, std::span<const char* const> functions);
void write_slot(const Slot& slot, void* value);  // the page is left as it was
void* read_slot(const Slot& slot);

}  // namespace perflab
