// The backward pass over Arrays, and what both kinds of pass share.
#include "device.h"
#include "pass.h"
#include "shapes.h"
#include "stamp.h"

namespace perflab {

void (*release_gil)() = nullptr;
void (*check_signals)() = nullptr;
void (*run_python_node)(Node*, const Array*, Array*) = nullptr;
void (*run_node_hooks)(Node*, HookTime, std::span<Tensor>, std::span<const Tensor>) = nullptr;
Tensor (*run_leaf_hooks)(TensorImpl*, Tensor) = nullptr;
void (*run_accumulated_hooks)(TensorImpl*) = nullptr;
thread_local PassInfo* PassInfo::current = nullptr;

namespace {

constexpr int64_t kLongPass = 100'000;  // elements seen, a node counting as 512: some tens of microseconds
constexpr int kFewSlots = 32;

const Op& add_op() {
  static const Op& op = *find_op("add");
  return op;
}

}  // namespace

Array filled(const Layout& like, double value) {
  Array a;
  a.dtype = like.dtype;
  a.take_shape(like);
  fill_storage_on(like.device, a);
  if (a.device) {
    Array number;
    number.set_scalar(value);
    copy_into(number, a);
    return a;
  }
  visit(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    std::fill_n(a.as<T>(), a.numel, convert<T>(value));
  });
  return a;
}

namespace {

bool has_end(const Edge& e) { return e.node || e.leaf; }

// The slots of one run of a program: pointers to what the caller and the node own, and temporaries made when written.
class Slots {
 public:
  explicit Slots(int n) {
    if (n > kFewSlots) [[unlikely]]
      many_.reset(new char[n * (sizeof(Array) + sizeof(Array*))]);
    char* base = many_ ? many_.get() : few_;
    temporaries_ = reinterpret_cast<Array*>(base);
    at_ = reinterpret_cast<Array**>(base + n * sizeof(Array));
  }
  ~Slots() {
    while (made_) temporaries_[--made_].~Array();
  }
  Array*& operator[](int i) { return at_[i]; }
  Array* make(int first, int n) {  // n consecutive slots
    Array* begin = temporaries_ + made_;
    for (int k = 0; k < n; ++k) at_[first + k] = new (temporaries_ + made_) Array, ++made_;
    return begin;
  }

 private:
  alignas(Array) char few_[kFewSlots * (sizeof(Array) + sizeof(Array*))];
  std::unique_ptr<char[]> many_;
  Array* temporaries_;
  Array** at_;
  int made_ = 0;
};

void run_call(const Call& c, const Node* n, Slots& at, bool donate, std::vector<const Array*>& many) {
  constexpr int kFew = 8;
  const Array* few[kFew];
  const Array** in = few;
  int nin = static_cast<int>(c.in.size());
  if (nin > kFew) [[unlikely]]
    many.resize(nin), in = many.data();
  for (int i = 0; i < nin; ++i) in[i] = at[c.in[i]];
  Array* out = at.make(c.out, c.nout);
  if (c.from_forward.empty()) return run(*c.op, in, nin, c.attrs, out, c.nout, donate);
  Attrs attrs = c.attrs;
  for (auto [to, from] : c.from_forward) attrs.v[to] = const_cast<Node*>(n)->attrs()[from];
  run(*c.op, in, nin, attrs, out, c.nout, donate);
}

void run_program(Node* n, std::span<Array> cts, std::span<Array> outs, bool keep) {
  const Program& p = *n->program;
  Slots at(p.nslots);
  for (int k = 0; k < n->nout; ++k) {
    if (!defined(cts[k])) cts[k] = filled(n->saved()[n->nsaved - n->nout + k], 0);
    at[k] = &cts[k];
  }
  int slot = n->nout;
  std::vector<Array> unpacked;
  for (int k = 0; k < n->nsaved; ++k) {
    Saved& s = unchanged(n, k);
    if (s.packed()) [[unlikely]] {
      if (unpacked.empty()) unpacked.reserve(n->nsaved);
      at[slot++] = &unpacked.emplace_back(unpack_saved(n, k));
    } else {
      at[slot++] = &s;
    }
  }
  for (const Array& c : p.constants) at[slot++] = const_cast<Array*>(&c);
  auto owned = [&](int s) { return s < n->nout || s >= p.first_temporary; };
  std::vector<const Array*> many;
  SharedStamps shared;
  for (const Call& c : p.calls) {
    run_call(c, n, at, c.donate && (!keep || owned(c.in[0])), many);
    for (uint16_t s : c.dead)
      if (owned(s) || !keep) at[s]->drop();
  }
  if (!keep)
    for (int k = 0; k < n->nsaved; ++k) n->saved()[k].drop();
  for (int i = 0; i < n->nedges; ++i) {
    int s = p.outs[i];
    if (s < 0 || !has_end(n->edges()[i])) continue;
    bool last = owned(s);
    for (int j = i + 1; j < n->nedges; ++j) last &= p.outs[j] != s;
    outs[i] = last ? std::move(*at[s]) : Array(*at[s]);
  }
}

}  // namespace

void refuse_gradient(const Layout& leaf, const Layout& ct) {
  throw Error(ErrorKind::kAutograd, "a gradient of shape " + show(ct) + " arrived at a tensor of shape " + show(leaf));
}

// The old one is added outside of the lock, since that may need the GIL, and so may the death of its wrapper.
void put_grad(TensorImpl* leaf, Tensor ct) {
  for (;;) {
    Tensor old;
    {
      std::lock_guard guard(grad_lock(leaf));
      if (!leaf->grad) {
        leaf->grad = ct.take();
        return;
      }
      old = Tensor(std::exchange(leaf->grad, nullptr));
    }
    add_tensors(ct, old);
  }
}

namespace {

// The sum is launched outside of the lock, in the order of the stream.
void accumulate_on_device(TensorImpl* leaf, Array mine) {
  Array sum;
  {
    std::lock_guard guard(grad_lock(leaf));
    if (!leaf->grad) {
      leaf->grad = make_tensor(std::move(mine));
      return;
    }
    sum.alias(*leaf->grad);
  }
  await(sum), await(mine);
  const Array* in[] = {&sum, &mine};
  run_into(add_op(), in, 2, kNoAttrs, sum, "", 0);
  sum.storage->version.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

// Adds into a leaf's gradient. Readers hold the tensor object, so a later sum goes into its storage.
void accumulate(TensorImpl* leaf, Array ct) {
  if (!same_shape(*leaf, ct)) refuse_gradient(*leaf, ct);
  if (ct.dtype != leaf->dtype) ct = cast(ct, leaf->dtype);
  if (ct.device != leaf->device) [[unlikely]]  // from what was computed there with a number from here
    ct = transfer(ct, leaf->device);
  Array mine = ct.contig && ct.sole() && !ct.storage->owner ? std::move(ct) : cast(ct, ct.dtype);
  if (mine.device) [[unlikely]]
    return accumulate_on_device(leaf, std::move(mine));
  Kernel add = add_op().native[static_cast<int>(mine.dtype)];
  if (!add) [[unlikely]]
    return put_grad(leaf, Tensor(make_tensor(std::move(mine))));
  std::lock_guard guard(grad_lock(leaf));
  if (!leaf->grad) {
    leaf->grad = make_tensor(std::move(mine));
    return;
  }
  Array sum;
  sum.alias(*leaf->grad);
  const Array* in[] = {&sum, &mine};
  if (sum.dtype != mine.dtype || !same_shape(sum, mine)) refuse_gradient(sum, mine);
  add(in, 2, kNoAttrs, &sum, 1);
  sum.storage->version.fetch_add(1, std::memory_order_relaxed);
}

void run_node(Node* n, std::span<Array> cts, std::span<Array> outs, bool keep) {
  if (n->program) return run_program(n, cts, outs, keep);
  run_python_node(n, cts.data(), outs.data());
  if (!keep)
    for (int k = 0; k < n->nsaved; ++k) n->saved()[k].drop();
}

Tensor as_tensor(const Array& a) { return Tensor(make_tensor(Array(a))); }

void take_value(Array& to, const Tensor& from) { from ? void(to = Array(*from)) : to.drop(); }

uint64_t PassInfo::id() {
  static std::atomic<uint64_t> passes{0};
  return id_ ? id_ : id_ = 1 + passes.fetch_add(1, std::memory_order_relaxed);
}

uint64_t current_pass() { return PassInfo::current ? PassInfo::current->id() : 0; }
uint64_t running_node() { return PassInfo::current ? PassInfo::current->running : 0; }
bool pass_reaches(const Edge& e) { return PassInfo::current && PassInfo::current->plan().reaches(e); }

void Pace::step(const Array* ct, const Node* n) {
  constexpr uint32_t kLook = 64;  // nodes between two looks at the signals
  if (engine_may_release && !without_gil) {
    work_ += 512 + (ct ? ct->numel : 0) + (n->nsaved ? const_cast<Node*>(n)->saved()->numel : 0);
    if (work_ > kLongPass) release_gil();
  }
  if (++steps_ % kLook) return;
  if (without_gil) {                          // taking it costs: some times a second
    constexpr int64_t kSeldom = 100'000'000;  // ticks
    int64_t now = ticks();
    if (now - checked_ < kSeldom) return;
    checked_ = now;
  }
  check_signals();
}

namespace {
void record_edge(const Node* n, const Edge& to, int64_t t0, int64_t t2) {
  Event& e = next_event();
  e = Event{};
  e.t0 = t0, e.t2 = t2, e.kind = EventKind::kEdge, e.sequence = n->sequence;
  if (to.leaf)
    e.flags = kToLeaf, e.address = reinterpret_cast<uint64_t>(to.leaf);
  else
    e.address = to.node->sequence;
}
}  // namespace

int64_t record_backward(Node* n, int64_t t0) {
  int64_t t2 = ticks();
  Event& e = next_event();
  e = Event{};
  e.t0 = t0, e.t2 = t2, e.kind = EventKind::kNode;
  e.sequence = n->sequence;
  if (n->context)
    e.flags = kNameInterned, e.name = intern(backward_name(n));
  else
    e.name = n->op->id;
  for (int i = 0; i < n->nedges; ++i)
    if (has_end(n->edges()[i])) record_edge(n, n->edges()[i], t0, t2);
  return t2;
}

int64_t record_accumulation(const TensorImpl* leaf, int64_t t0) {
  int64_t t2 = ticks();
  const Array* shown[] = {leaf};
  uint32_t shapes = intern_shapes(shown, 1);
  const void* gradient = nullptr;
  {
    std::lock_guard guard(grad_lock(leaf));
    if (leaf->grad && leaf->grad->storage) gradient = leaf->grad->storage->data;
  }
  Event& e = next_event();
  e = Event{};
  e.t0 = t0, e.t2 = t2, e.kind = EventKind::kLeaf;
  e.address = reinterpret_cast<uint64_t>(leaf), e.bytes = reinterpret_cast<uint64_t>(gradient), e.shapes = shapes;
  return t2;
}

void add_arrays(Array& sum, const Array& more) {
  await(sum), await(more);
  const Array* in[] = {&sum, &more};
  Array out;
  run(add_op(), in, 2, kNoAttrs, &out, 1, sum.contig && sum.sole());  // in place when nobody else sees it
  sum = std::move(out);
}

Claim::Claim(Node* n, bool keep) : node_(n), keep_(keep) {
  int32_t users = n->users.load(std::memory_order_relaxed);
  do {
    const char* why =
        users == Node::kSpent ? "trying to backward through the graph a second time: its saved values were freed. "
                                "Pass retain_graph=True to the first backward()"
        : users && !keep      ? "backward without retain_graph while another thread goes through the same graph"
                              : nullptr;
    if (why) {
      release(n);
      throw Error(ErrorKind::kAutograd, why);
    }
  } while (!n->users.compare_exchange_weak(users, keep ? users + 1 : Node::kSpent, std::memory_order_acq_rel,
                                           std::memory_order_relaxed));
}

Claim::~Claim() {
  if (keep_) node_->users.fetch_sub(1, std::memory_order_release);
  release(node_);
}

std::vector<Array> backward(const Request& request, std::span<Array> gradients) {
  using Scratch = Pass<Array>::Scratch;
  static thread_local Scratch mine;  // a nested pass (from a Python function or a hook) takes another
  static thread_local bool busy = false;
  GradMode off(false);
  if (busy) {
    Scratch own;
    return Pass<Array>(request, own).run(gradients);
  }
  struct Busy {
    Busy() { busy = true; }
    ~Busy() { mine.clear(), busy = false; }
  } at_it;
  return Pass<Array>(request, mine).run(gradients);
}

}  // namespace perflab
