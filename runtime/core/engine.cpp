// The backward pass over Arrays, and what both kinds of pass share.
#include "engine.h"

#include "recorder.h"

namespace perflab {

void (*release_gil)() = nullptr;
void (*run_python_node)(Node*, const Array*, Array*) = nullptr;

namespace {

constexpr int64_t kLongPass = 100'000;  // elements seen, a node counting as 512: some tens of microseconds
constexpr int kFewSlots = 32;

const Op& add_op() {
  static const Op& op = *find_op("add");
  return op;
}

Array filled(const Layout& like, double value) {
  Array a;
  a.dtype = like.dtype;
  a.take_shape(like);
  a.fill_storage();
  visit(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    std::fill_n(a.as<T>(), a.numel, static_cast<T>(value));
  });
  return a;
}

// Adds into a leaf's gradient. Readers hold the tensor object, so a later sum goes into its storage.
void accumulate(TensorImpl* leaf, Array&& ct) {
  if (!same_shape(*leaf, ct))
    throw Error(ErrorKind::kAutograd,
                "a gradient of shape " + show(ct) + " arrived at a tensor of shape " + show(*leaf));
  if (ct.dtype != leaf->dtype) ct = cast(ct, leaf->dtype);
  Array mine;
  if (ct.contig && ct.sole() && !ct.storage->owner) {
    mine = std::move(ct);
  } else {
    mine = filled(ct, 0);
    copy_into(ct, mine);
  }
  std::lock_guard guard(grad_lock(leaf));
  if (!leaf->grad) {
    leaf->grad = make_tensor(std::move(mine));
    return;
  }
  Array sum;
  sum.alias(*leaf->grad);
  const Array* in[] = {&sum, &mine};
  add_op().native[static_cast<int>(sum.dtype)](in, 2, kNoAttrs, &sum, 1);
  sum.storage->version.fetch_add(1, std::memory_order_relaxed);
}

void give(Front<Array>& front, const Edge& e, Array&& ct) {
  if (e.node) {
    retain(e.node);
    front.push(e.node, e.output, std::move(ct));
  } else if (e.leaf) {
    accumulate(e.leaf, std::move(ct));
  }
}

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

void run_program(Node* n, std::vector<Array>& cts, Front<Array>& front, bool keep) {
  const Program& p = *n->program;
  Slots at(p.nslots);
  for (int k = 0; k < n->nout; ++k) {
    if (!defined(cts[k])) cts[k] = filled(n->saved()[n->nsaved - n->nout + k], 0);
    at[k] = &cts[k];
  }
  int slot = n->nout;
  for (int k = 0; k < n->nsaved; ++k) at[slot++] = &unchanged(n, k);
  for (const Array& c : p.constants) at[slot++] = const_cast<Array*>(&c);
  auto owned = [&](int s) { return s < n->nout || s >= p.first_temporary; };
  std::vector<const Array*> many;
  for (const Call& c : p.calls) {
    run_call(c, n, at, c.donate && (!keep || owned(c.in[0])), many);
    for (uint16_t s : c.dead)
      if (owned(s) || !keep) at[s]->drop();
  }
  if (!keep)
    for (int k = 0; k < n->nsaved; ++k) n->saved()[k].drop();
  for (int i = 0; i < n->nedges; ++i) {
    int s = p.outs[i];
    if (s < 0) continue;
    bool last = owned(s);
    for (int j = i + 1; j < n->nedges; ++j) last &= p.outs[j] != s;
    give(front, n->edges()[i], last ? std::move(*at[s]) : Array(*at[s]));
  }
}

void run_node(Node* n, std::vector<Array>& cts, Front<Array>& front, bool keep) {
  if (n->program) return run_program(n, cts, front, keep);
  std::vector<Array> outs(n->nedges);
  run_python_node(n, cts.data(), outs.data());
  if (!keep)
    for (int k = 0; k < n->nsaved; ++k) n->saved()[k].drop();
  for (int i = 0; i < n->nedges; ++i)
    if (defined(outs[i])) give(front, n->edges()[i], std::move(outs[i]));
}

}  // namespace

int64_t record_backward(const Node* n, int64_t t0) {
  int64_t t2 = ticks();
  Event& e = next_event();
  e = Event{};
  e.t0 = t0, e.t2 = t2, e.kind = EventKind::kNode;
  e.sequence = n->sequence;
  if (n->context)
    e.flags = kNameInterned, e.name = intern(backward_name(n));
  else
    e.name = n->op->id;
  return t2;
}

void add_arrays(Array& sum, const Array& more) {
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

void backward(TensorImpl* root, const Array* gradient, bool keep) {
  Array ct;
  if (gradient) {
    ct = Array(*gradient);
  } else {
    ct = filled(*root, 1);
  }
  if (!root->grad_fn) return accumulate(root, std::move(ct));
  static thread_local Front<Array> mine;  // keeps its capacity; a nested pass (from a Python function) takes another
  static thread_local bool busy = false;
  Front<Array> own;
  bool nested = busy;
  Front<Array>& front = nested ? own : mine;
  struct Reset {
    Front<Array>& front;
    bool nested;
    ~Reset() {
      front.clear();
      if (!nested) busy = false;
    }
  } reset{front, nested};
  busy = true;
  retain(root->grad_fn);
  front.push(root->grad_fn, root->output, std::move(ct));
  int64_t work = 0;
  int64_t stamp = is_recording() ? ticks() : 0;  // a node begins where the one before it ended: one stamp for both
  std::vector<Array> cts;
  while (!front.empty()) {
    Node* n = front.pop(cts);
    if (engine_may_release && !without_gil) {
      work += 512 + cts[0].numel + (n->nsaved ? n->saved()->numel : 0);
      if (work > kLongPass) release_gil();
    }
    Claim claim(n, keep);
    run_node(n, cts, front, keep);
    if (stamp) [[unlikely]]
      stamp = record_backward(n, stamp);
    cts.clear();
  }
}

}  // namespace perflab
