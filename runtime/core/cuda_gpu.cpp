#include "cuda_gpu.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>

#include "caching_allocator.h"
#include "cuda_arrange.h"
#include "cuda_blas.h"
#include "cuda_memory.h"
#include "recorder.h"
#include "rules.h"
#include "shapes.h"

namespace perflab::cuda {

uintptr_t (*build_kernel)(int, const std::string&) = nullptr;

namespace {

constexpr unsigned kThreads = 256;   // of a block at most
constexpr int64_t kBlocksEach = 16;  // of a multiprocessor: more work is done in turns

Address address(const void* p) { return reinterpret_cast<Address>(p); }

unsigned at_most(int64_t blocks, unsigned multiprocessors) {
  return static_cast<unsigned>(std::clamp<int64_t>(blocks, 1, multiprocessors * kBlocksEach));
}

}  // namespace

struct Gpu::Kernels {
  std::shared_mutex mutex;
  std::unordered_map<std::string, uintptr_t> by_name;
  std::array<std::atomic<uintptr_t>, size_t{1} << 16> by_op{};  // by number and dtype: + 1, 0 unknown
};

Gpu::Gpu(int index)
    : Device("cuda:" + std::to_string(index), std::make_unique<GpuMemory>(index)),
      index_(index),
      multiprocessors_(static_cast<unsigned>(describe(index).multiprocessors)),
      timeline_(index),
      kernels_(std::make_unique<Kernels>()) {
  enter(index);
  void* flags = nullptr;
  check(driver().allocate_pinned(&flags, 2 * sizeof(int)), "cuMemAllocHost");
  wrong_ = static_cast<int*>(flags), found_ = wrong_ + 1;
  *wrong_ = *found_ = 0;
}

// --- kernels

void Gpu::send(uintptr_t function, int64_t work, const void* parameters) {
  void* arguments[] = {const_cast<void*>(parameters)};
  cuda::launch(index_, function, at_most((work + kThreads - 1) / kThreads, multiprocessors_), kThreads,
               current_stream(), arguments);
}

void Gpu::send_blocks(uintptr_t function, int64_t blocks, int64_t each, const void* parameters) {
  void* arguments[] = {const_cast<void*>(parameters)};
  const unsigned threads =
      std::clamp(std::bit_ceil(static_cast<unsigned>(std::min<int64_t>(each, kThreads))), 32u, kThreads);
  cuda::launch(index_, function, at_most(blocks, multiprocessors_), threads, current_stream(), arguments);
}

uintptr_t Gpu::kernel(const std::string& name, DType computed) {
  const std::string full = name + "_" + perflab::name(computed);
  {
    std::shared_lock lock(kernels_->mutex);
    if (auto found = kernels_->by_name.find(full); found != kernels_->by_name.end()) return found->second;
  }
  const uintptr_t built = build_kernel ? build_kernel(index_, full) : 0;
  std::unique_lock lock(kernels_->mutex);
  return kernels_->by_name[full] = built;
}

bool Gpu::launch_own(const Op& op, DType computed, In in, int nin, const Attrs& attrs, Array* out) {
  const Arrange arrange = arrangement(op);
  if (!arrange) return false;
  const size_t at = size_t{op.id} * kDTypes + static_cast<size_t>(computed);
  std::atomic<uintptr_t>* known = at < kernels_->by_op.size() ? &kernels_->by_op[at] : nullptr;
  uintptr_t function = known ? known->load(std::memory_order_acquire) : 0;
  if (!function) {
    function = kernel(op.name, computed) + 1;
    if (known) known->store(function, std::memory_order_release);
  }
  return function != 1 && arrange({*this, function - 1, op, in, nin, attrs, out});
}

// Of one dtype the bytes are what is copied.
bool Gpu::copy_strided(const Array& from, const Array& to) {
  Array a, b;
  a.alias(from), b.alias(to);
  if (from.dtype == to.dtype) {
    constexpr DType by_size[] = {DType::kUInt8, DType::kUInt16, DType::kUInt32, DType::kUInt64};
    const size_t bytes = item_size(from.dtype);
    if (bytes > 8) return false;
    a.dtype = b.dtype = by_size[std::countr_zero(bytes)];
  }
  if (kind(a.dtype) == DKind::kComplex || kind(b.dtype) == DKind::kComplex) return false;
  const uintptr_t function = kernel(std::string("copy_") + perflab::name(a.dtype), b.dtype);
  if (!function) return false;
  arrange_copy(*this, function, a, b);
  return true;
}

// Each input is copied to its part of the result.
bool Gpu::concat(In in, int nin, const Attrs& attrs, const Array& out) {
  if (attrs.v[0] == kNone || kind(out.dtype) == DKind::kComplex) return false;
  const int axis = axis_of(out, attrs.v[0]);
  for (int i = 0; i < nin; ++i)
    if (!in[i]->device || in[i]->ndim != out.ndim) return false;
  int64_t begin = 0;
  for (int i = 0; i < nin; begin += in[i]->shape[axis], ++i) {
    Array part;
    part.alias(out);
    part.skip(begin * out.strides[axis]);
    part.shape[axis] = in[i]->shape[axis];
    part.measure();
    if (part.numel && !copy_strided(*in[i], part)) return false;
  }
  return true;
}

Event Gpu::labelled(uint32_t name, int flags, uint64_t bytes, uint32_t shapes) {
  Event e{};
  e.name = name, e.flags = static_cast<uint16_t>(flags), e.bytes = bytes, e.shapes = shapes;
  e.address = static_cast<uint64_t>(number()) << 32 | static_cast<uint32_t>(stream_number(current_stream()));
  return e;
}

void Gpu::launch(const Op& op, DType computed, In in, int nin, const Attrs& attrs, Array* out, int nout) {
  enter(index_);
  std::optional<Timeline::Span> timed;
  if (is_recording()) [[unlikely]]
    timed.emplace(timeline_, current_stream(),
                  labelled(op.id, kNative | static_cast<int>(out->dtype) << 3, 0, intern_shapes(in, nin)));
  static const Op *const cast = find_op("cast"), *const copied = find_op("copy"), *const assign = find_op("assign"),
                         *const concat_ = find_op("concat"), *const matmul = find_op("matmul");
  if (&op == cast || &op == copied || &op == assign) {
    if (copy_strided(*in[&op == assign], *out)) return;
  } else if (&op == concat_) {
    if (concat(in, nin, attrs, *out)) return;
  } else if (&op == matmul) {
    if (multiply(*this, *in[0], *in[1], *out)) return;
  } else if (launch_own(op, computed, in, nin, attrs, out)) {
    return;
  }
  if (timed) timed->set_backend(kPythonKernel);
  run_python_kernel(op, in, nin, attrs, out, nout);
}

bool Gpu::update(const ParameterLists& lists, const UpdateOptions& options) {
  const auto send = [&](const char* name, kernels::Foreach p) {
    p.operands = static_cast<int>(lists.size());
    for (size_t begin = 0; begin < lists[0].size(); begin += kernels::kTensors) {
      const size_t count = std::min<size_t>(kernels::kTensors, lists[0].size() - begin);
      int64_t end = 0;
      p.tensors = static_cast<int>(count);
      for (size_t i = 0; i < count; ++i) {
        p.ends[i] = end += lists[0][begin + i]->numel;
        for (size_t k = 0; k < lists.size(); ++k) p.p[k][i] = lists[k][begin + i]->data;
      }
      if (!end) continue;
      std::optional<Timeline::Span> timed;
      if (is_recording()) timed.emplace(timeline_, current_stream(), labelled(intern(name), kNamed));
      this->send(kernel(name, lists[0][0]->dtype), end, &p);
    }
  };
  const Array& first = *lists[0][0];
  if (lists.size() > kernels::kMaxOperands || kind(first.dtype) != DKind::kFloat) return false;
  for (const auto& list : lists)
    for (const Array* a : list)
      if (!a->contig || a->dtype != first.dtype) return false;
  kernels::Foreach p{};
  if (auto* o = std::get_if<SgdOptions>(&options)) {
    p.lr = o->lr, p.decay = o->weight_decay, p.first = o->momentum, p.fresh = 1 - o->dampening;
    p.maximize = o->maximize, p.flag = o->first, p.other_flag = o->nesterov;
    send("sgd", p);
  } else if (auto* o = std::get_if<AdamOptions>(&options)) {
    const double step = static_cast<double>(o->step);
    p.lr = o->lr / (1 - std::pow(o->beta1, step)), p.root = std::sqrt(1 - std::pow(o->beta2, step));
    p.decay = o->decoupled ? 0 : o->weight_decay, p.keep = o->decoupled ? 1 - o->lr * o->weight_decay : 1;
    p.first = 1 - o->beta1, p.second = o->beta2, p.fresh = 1 - o->beta2, p.eps = o->eps, p.maximize = o->maximize;
    send("adam", p);
  } else if (auto* o = std::get_if<RmspropOptions>(&options)) {
    p.lr = o->lr, p.decay = o->weight_decay, p.first = o->momentum, p.second = o->alpha, p.fresh = 1 - o->alpha;
    p.eps = o->eps, p.maximize = o->maximize, p.flag = o->centered;
    send("rmsprop", p);
  } else if (auto* o = std::get_if<AdagradOptions>(&options)) {
    p.lr = o->lr, p.decay = o->weight_decay, p.eps = o->eps, p.maximize = o->maximize;
    send("adagrad", p);
  } else if (auto* o = std::get_if<UnscaleOptions>(&options)) {
    p.first = o->factor, p.found = found_, *found_ = 0;
    send("unscale", p);
    synchronize(current_stream());
    *o->found = *found_;
  }
  return true;
}

bool Gpu::fill(const Array& out, const RandomFill& f) {
  enter(index_);
  const uintptr_t function = kernel(f.name, out.dtype);
  if (!function) return false;
  if (!out.numel) return true;
  const kernels::Random p{out.data, out.numel, f.state.seed, f.state.block, f.from, f.width, std::ldexp(1.0, -f.bits),
                          f.mean,   f.std,     f.low,        f.span,        f.bits, 0};
  std::optional<Timeline::Span> timed;
  if (is_recording()) timed.emplace(timeline_, current_stream(), labelled(intern(f.name), kNamed));
  send(function, (out.numel + 1) / 2, &p);
  return true;
}

// --- memory

void Gpu::clear(const Array& a) {
  enter(index_);
  if (a.numel)
    check(driver().fill(address(a.data), 0, a.bytes(), reinterpret_cast<Handle>(current_stream())), "cuMemsetD8Async");
}

void Gpu::copy(const Array& from, Array& to, bool non_blocking) {
  enter(index_);
  const Stream stream = current_stream();
  std::optional<Timeline::Span> timed;
  if (is_recording()) {
    const char* name = !from.device ? "Memcpy HtoD" : !to.device ? "Memcpy DtoH" : "Memcpy DtoD";
    timed.emplace(timeline_, stream, labelled(intern(name), kNamed | kCopy, from.bytes()));
  }
  if (from.numel)
    check(driver().copy(address(to.data), address(from.data), from.bytes(), reinterpret_cast<Handle>(stream)),
          "cuMemcpyAsync");
  timed.reset();
  if (!non_blocking && (!from.device || !to.device)) synchronize(stream);
}

void* Gpu::map_pinned(size_t bytes) noexcept {
  try {
    enter(index_);
    void* p = nullptr;
    return driver().allocate_pinned(&p, bytes) ? nullptr : p;
  } catch (const Error&) {
    return nullptr;
  }
}

void Gpu::unmap_pinned(void* memory, size_t) noexcept { driver().free_pinned(memory); }

// There is no kernel: the CPU computes on copies, and the device waits.
void Gpu::call(const char*, std::vector<Array> arrays, int64_t, Function f) {
  std::vector<Array> there;
  for (const Array& a : arrays) there.push_back(transfer(a, 0));
  f(there);
  for (size_t i = 0; i < arrays.size(); ++i) copy_into(there[i], arrays[i]);
}

// --- order

void Gpu::wait(Stream waiting, Stream other) {
  if (waiting == other) return;
  const uintptr_t event = new_event(index_, false);
  record_event(index_, event, other);
  stream_waits(index_, waiting, event);
  drop_event(index_, event);
}

void Gpu::synchronize() {
  wait_freely([&] { cuda::synchronize(index_); });
  check_indices();
}

void Gpu::synchronize(Stream stream) {
  wait_freely([&] { synchronize_stream(index_, stream); });
  check_indices();
}

void Gpu::settle() {
  try {
    wait_freely([&] { cuda::synchronize(index_); });
    timeline_.record_done();
  } catch (const Error&) {  // who waits for it is told
  }
}

void Gpu::check_indices() {
  if (!*wrong_) return;
  *wrong_ = 0;
  throw Error(ErrorKind::kIndex, name() + ": since it was waited for last, an op was given an index out of range");
}

namespace {
std::unordered_map<int, Gpu*>& gpus() {
  static auto& all = *new std::unordered_map<int, Gpu*>;
  return all;
}
}  // namespace

Gpu& gpu(int index) {
  if (auto found = gpus().find(index); found != gpus().end()) return *found->second;
  auto made = std::make_unique<Gpu>(index);
  Gpu* g = made.get();
  add_device(std::move(made));
  return *(gpus()[index] = g);
}

void settle_all() {
  for (auto& [index, g] : gpus()) g->settle();
}

// --- CuPy

void* allocate_for_cupy(void*, size_t bytes, int index) {
  Gpu& g = gpu(index);
  try {
    return g.allocator().allocate(bytes, g.current_stream())->address;
  } catch (const std::exception&) {
    return nullptr;
  }
}

void deallocate_for_cupy(void*, void* memory, int index) {
  CachingAllocator& allocator = gpu(index).allocator();
  if (Block* block = allocator.find(memory)) allocator.deallocate(block);
}

}  // namespace perflab::cuda
