#include "cuda_driver.h"

#include <dlfcn.h>

#include <mutex>

#include "error.h"

namespace perflab::cuda {
namespace {

std::mutex mutex;
bool tried = false, open = false;
Driver table;
std::string wrong;

std::string words(Result result) {
  const char *name = nullptr, *text = nullptr;
  if (table.error_name) table.error_name(result, &name);
  if (table.error_text) table.error_text(result, &text);
  return std::string(name ? name : "error " + std::to_string(result)) + (text ? std::string(": ") + text : "");
}

std::string start(const char* library) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return std::string("no NVIDIA driver was found (") + library + ")";
#define PERFLAB_CUDA_FIND(name, symbol, ...)                                      \
  table.name = reinterpret_cast<Result (*)(__VA_ARGS__)>(dlsym(handle, #symbol)); \
  if (!table.name) return std::string("the NVIDIA driver is too old: it has no " #symbol " (") + library + ")";
  PERFLAB_CUDA_FUNCTIONS(PERFLAB_CUDA_FIND)
#undef PERFLAB_CUDA_FIND
  if (Result r = table.init(0)) return "the NVIDIA driver does not start (" + words(r) + ")";
  if (Result r = table.device_count(&table.count)) return "the NVIDIA driver tells no devices (" + words(r) + ")";
  if (!table.count) return "the NVIDIA driver sees no GPU (is CUDA_VISIBLE_DEVICES set?)";
  table.version(&table.cuda);
  return {};
}

}  // namespace

const std::string& open_driver(const char* library) {
  std::scoped_lock lock(mutex);
  if (!tried) wrong = start(library), tried = true, open = wrong.empty();
  return wrong;
}

const Driver& driver() {
  if (!open) throw Error(ErrorKind::kDevice, "CUDA: " + (tried ? wrong : "the driver is not open"));
  return table;
}

void check(Result result, const char* call) {
  if (result) [[unlikely]]
    throw Error(ErrorKind::kDevice, std::string("CUDA: ") + call + " failed: " + words(result));
}

}  // namespace perflab::cuda
