#include "gil_slots.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace perflab {
namespace {

#if defined(__x86_64__)
bool is_slot(uint32_t type) { return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_64; }
#else
bool is_slot(uint32_t) { return false; }  // the types of other machines are not tested
#endif

struct Search {
  const void* code;
  std::span<const char* const> functions;
  Module module;
  bool found = false;
};

struct Table {
  uintptr_t at = 0;
  size_t bytes = 0;
};

void collect(Search& search, const dl_phdr_info& info, const ElfW(Dyn) * entry) {
  Table tables[2];
  uintptr_t symbols = 0, texts = 0;
  for (; entry->d_tag != DT_NULL; ++entry) {
    uintptr_t value = entry->d_un.d_val;
    // glibc has added the module's base to addresses, musl has not
    uintptr_t address = value < info.dlpi_addr ? value + info.dlpi_addr : value;
    switch (entry->d_tag) {
      case DT_JMPREL:
        tables[0].at = address;
        break;
      case DT_PLTRELSZ:
        tables[0].bytes = value;
        break;
      case DT_RELA:
        tables[1].at = address;
        break;
      case DT_RELASZ:
        tables[1].bytes = value;
        break;
      case DT_SYMTAB:
        symbols = address;
        break;
      case DT_STRTAB:
        texts = address;
        break;
      default:
        break;
    }
  }
  if (!symbols || !texts) return;
  for (const Table& table : tables) {
    if (!table.at) continue;
    std::span relocations(reinterpret_cast<const Elf64_Rela*>(table.at), table.bytes / sizeof(Elf64_Rela));
    for (const Elf64_Rela& r : relocations) {
      if (!is_slot(ELF64_R_TYPE(r.r_info))) continue;
      const auto& symbol = reinterpret_cast<const Elf64_Sym*>(symbols)[ELF64_R_SYM(r.r_info)];
      const char* name = reinterpret_cast<const char*>(texts) + symbol.st_name;
      auto same = [&](const char* wanted) { return !std::strcmp(wanted, name); };
      auto wanted = std::find_if(search.functions.begin(), search.functions.end(), same);
      if (wanted == search.functions.end()) continue;
      search.module.slots.push_back({reinterpret_cast<void**>(info.dlpi_addr + r.r_offset),
                                     static_cast<size_t>(wanted - search.functions.begin()), PROT_NONE});
    }
  }
}

int visit(dl_phdr_info* info, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  const ElfW(Dyn)* dynamic = nullptr;
  std::vector<std::pair<uintptr_t, uintptr_t>> loaded;
  for (const ElfW(Phdr) & segment : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
    uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD) loaded.emplace_back(begin, begin + segment.p_memsz);
    if (segment.p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);
  }
  Module module{info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "the main executable", loaded, {}};
  if (!module.holds(search.code)) return 0;
  search.module = std::move(module), search.found = true;
  if (dynamic) collect(search, *info, dynamic);
  return 1;
}

void read_protections(std::vector<Slot>& slots) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin, end;
    char rights[5];
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, rights) != 3) continue;
    for (Slot& slot : slots)
      if (auto at = reinterpret_cast<uintptr_t>(slot.place); at >= begin && at < end)
        slot.protection = (rights[0] == 'r' ? PROT_READ : 0) | (rights[1] == 'w' ? PROT_WRITE : 0) |
                          (rights[2] == 'x' ? PROT_EXEC : 0);
  }
}

}  // namespace

bool Module::holds(const void* address) const {
  auto at = reinterpret_cast<uintptr_t>(address);
  return std::any_of(loaded.begin(), loaded.end(),
                     [at](auto& range) { return at >= range.first && at < range.second; });
}

Module find_module(const void* code, std::span<const char* const> functions) {
  Search search{code, functions, {}};
  dl_iterate_phdr(visit, &search);
  if (!search.found) throw std::runtime_error("no loaded module holds Python's code");
  Module& module = search.module;
  for (size_t i = 0; i < functions.size(); ++i)
    if (std::none_of(module.slots.begin(), module.slots.end(), [i](const Slot& slot) { return slot.function == i; }))
      throw std::runtime_error(module.name + " has no relocation slot for " + functions[i] +
                               " (only Linux on x86-64 with a shared C library is known)");
  read_protections(module.slots);
  for (const Slot& slot : module.slots)
    if (slot.protection == PROT_NONE)
      throw std::runtime_error("/proc/self/maps does not say whether the relocation slots of " + module.name +
                               " may be written");
  return module;
}

void write_slot(const Slot& slot, void* value) {
  auto store = [&] { __atomic_store_n(slot.place, value, __ATOMIC_RELEASE); };
  if (slot.protection & PROT_WRITE) return store();
  auto size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  auto* page = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(slot.place) & ~(size - 1));
  if (mprotect(page, size, PROT_READ | PROT_WRITE))
    throw std::runtime_error(std::string("mprotect of a page of relocation slots: ") + std::strerror(errno));
  store();
  mprotect(page, size, slot.protection);
}

void* read_slot(const Slot& slot) { return __atomic_load_n(slot.place, __ATOMIC_ACQUIRE); }

}  // namespace perflab
