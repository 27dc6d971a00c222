#include "sim_work.h"

#include <mutex>
#include <unordered_map>

namespace perflab {

void (*work_in_python)(const Op&, In, int, const Attrs&, const Array*, int, SimWork&) = nullptr;

namespace {

class Key {
 public:
  template <class T>
  void add(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void add_layout(const Layout& a) {
    add(a.dtype), add(a.ndim);
    for (int i = 0; i < a.ndim; ++i) add(a.shape[i]);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

std::mutex mutex;
std::unordered_map<std::string, SimWork>& known() {
  static auto& all = *new std::unordered_map<std::string, SimWork>;
  return all;
}

}  // namespace

SimWork sim_work(const Op& op, DType computed, In in, int nin, const Attrs& attrs, const Array* out, int nout) {
  Key key;
  key.add(op.id), key.add(computed);
  for (int i = 0; i < nin; ++i) key.add_layout(*in[i]);
  for (int k = 0; k < nout; ++k) key.add_layout(out[k]);
  for (int w = 0; w < op.words; ++w) key.add(attrs.v[w]);
  {
    std::lock_guard lock(mutex);
    auto found = known().find(key.bytes());
    if (found != known().end()) return found->second;
  }
  SimWork work;
  work.dtype = computed;
  if (work_in_python) work_in_python(op, in, nin, attrs, out, nout, work);
  std::lock_guard lock(mutex);
  return known().emplace(key.bytes(), work).first->second;
}

}  // namespace perflab
