// The lives of tensors and nodes.
#include "node.h"

#include <algorithm>
#include <new>

#include "allocator.h"
#include "fork.h"
#include "history.h"
#include "live_count.h"
#include "memory_use.h"
#include "modes.h"

namespace perflab {

void (*release_wrapper)(void*) = nullptr;
void (*release_context)(void*) = nullptr;
void (*release_hooks)(TensorImpl*) = nullptr;
Array (*unpack_saved)(Node*, int) = nullptr;
std::string (*context_name)(void*) = nullptr;
Edge (*place_of_alone)(Node*, int) = nullptr;

namespace {
using LiveTensors = LiveCount<TensorImpl>;
using LiveNodes = LiveCount<Node>;
constexpr uint64_t kSequenceBlock = 1 << 16;
std::atomic<uint64_t> sequence_blocks{0};

size_t node_bytes(const Node* n) {
  return sizeof(Node) + n->nedges * sizeof(Edge) + n->nsaved * sizeof(Saved) + n->words * sizeof(int64_t);
}
}  // namespace

TensorImpl* make_tensor() {
  LiveTensors::add(1);
  auto* t = new (allocate(sizeof(TensorImpl))) TensorImpl;
  t->inference = modes & kInference;
  return t;
}

TensorImpl* make_tensor(Array&& a) {
  TensorImpl* t = make_tensor();
  static_cast<Array&>(*t) = std::move(a);
  return t;
}

void destroy(TensorImpl* t) noexcept {
  if (t->owns_wrapper) {  // the wrapper gets the last count back and dies with it, or lives on if a weak reference was
                          // upgraded
    t->refs.store(1, std::memory_order_relaxed), t->owns_wrapper = false;
    return release_wrapper(t->wrapper);
  }
  if (t->grad_fn) release(t->grad_fn);
  if (t->grad) release(t->grad);
  if (t->base) release(t->base);
  if (t->hooks) [[unlikely]]
    release_hooks(t);
  t->~TensorImpl();
  deallocate(t, sizeof(TensorImpl));
  LiveTensors::add(-1);
}

std::mutex& grad_lock(const TensorImpl* t) {
  static std::mutex* const locks = [] {
    static std::mutex all[64];
    for (std::mutex& m : all) hold_across_fork(m);
    return all;
  }();
  return locks[reinterpret_cast<uintptr_t>(t) >> 6 & 63];
}

int64_t live_tensors() { return LiveTensors::sum(); }
int64_t live_nodes() { return LiveNodes::sum(); }

void begin_sequence_block() {  // higher than every number given so far
  uint64_t first = 1 + kSequenceBlock * sequence_blocks.fetch_add(1, std::memory_order_relaxed);
  sequence_block = {first, first + kSequenceBlock};
}

uint64_t sequence_behind(Node* n) {
  uint64_t behind = 0;
  for (int i = 0; i < n->nedges; ++i)
    if (Node* e = n->edges()[i].node) behind = std::max(behind, e->sequence);
  return behind;
}

Node* make_node(int nedges, int nsaved, int nout, int words) {
  Node shape;
  shape.nedges = static_cast<uint16_t>(nedges), shape.nsaved = static_cast<uint16_t>(nsaved);
  shape.nout = static_cast<uint16_t>(nout), shape.words = static_cast<uint16_t>(words);
  Node* n = new (allocate(node_bytes(&shape))) Node;
  n->nedges = shape.nedges, n->nsaved = shape.nsaved, n->nout = shape.nout, n->words = shape.words;
  for (int i = 0; i < nedges; ++i) new (n->edges() + i) Edge;
  for (int i = 0; i < nsaved; ++i) new (n->saved() + i) Saved;
  LiveNodes::add(1);
  return n;
}

void set_edge(Node* n, int i, TensorImpl* t) {
  Edge& e = n->edges()[i];
  if (!history(t)) {
    e.leaf = t;
    return retain(t);
  }
  e.node = t->grad_fn, e.output = t->output;
  retain(e.node);
  n->reaches_python |= e.node->reaches_python;
}

void save(Saved* s, const Array& a, int which, bool spec) {
  static_cast<Layout&>(*s) = a;
  s->weak = false;  // a number has the dtype of its tensor by now, and formulas compute with it in that
  s->which = which;
  if (spec) {
    s->data = nullptr;
  } else if (a.storage) {
    retain(s->storage = a.storage);
    if (is_recording()) [[unlikely]]
      record_saved(a.storage);
    s->version = a.storage->version.load(std::memory_order_relaxed);
  }
}

void destroy(Node* n) noexcept {
  static thread_local std::vector<Node*>* work = nullptr;  // set while an outer call on this thread is at it
  if (work) return work->push_back(n);
  std::vector<Node*> mine;
  work = &mine;
  for (;;) {
    for (int i = 0; i < n->nsaved; ++i) n->saved()[i].~Saved();
    for (int i = 0; i < n->nedges; ++i) {
      Edge& e = n->edges()[i];
      if (e.node) release(e.node);
      if (e.leaf) release(e.leaf);
    }
    if (n->context) release_context(n->context);
    if (n->hooks) {
      release_context(n->hooks);
      nodes_with_hooks.fetch_sub(1, std::memory_order_relaxed);
    }
    deallocate(n, node_bytes(n));
    LiveNodes::add(-1);
    if (mine.empty()) break;
    n = mine.back(), mine.pop_back();
  }
  work = nullptr;
}

std::string backward_name(
    const Node* n) {  // as PyTorch names them: AddBackward0, TakeAlongBackward0, MyFunctionBackward
  if (n->context) return context_name(n->context) + "Backward";
  std::string name;
  bool upper = true;
  for (char c : n->op->name) {
    if (c != '_') name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = c == '_';
  }
  return name + "Backward0";
}

namespace {
std::string role(const Saved& s) {
  if (s.which == kAlone) return "an intermediate value";
  return s.which < 0 ? "output " + std::to_string(-1 - s.which) : "input " + std::to_string(s.which);
}
}  // namespace

Saved& unchanged(Node* n, int k) {
  Saved& s = n->saved()[k];
  if (s.storage && s.storage->version.load(std::memory_order_relaxed) != s.version) [[unlikely]]
    throw Error(ErrorKind::kAutograd,
                "one of the variables needed for gradient computation has been modified by an inplace operation: " +
                    std::string(name(s.dtype)) + " " + show(s) + ", " + role(s) + " of " + backward_name(n) +
                    ", is at version " + std::to_string(s.storage->version.load(std::memory_order_relaxed)) +
                    "; expected version " + std::to_string(s.version) +
                    ". Change a copy of it, or change it after backward()");
  return s;
}

namespace {

// The place of saved value k in the graph: the edge of an input, the node itself for an output.
Edge place_of(Node* n, int k) {
  const Saved& s = n->saved()[k];
  if (s.which == kAlone) return place_of_alone(n, k);
  if (s.which < 0) return {n, nullptr, static_cast<uint32_t>(-1 - s.which)};
  int edge = s.which;
  if (n->program && !n->op->list()) {
    if (!(n->program->mask >> s.which & 1)) return {};
    edge = __builtin_popcount(n->program->mask & ((1u << s.which) - 1));
  }
  return n->edges()[edge];
}

}  // namespace

Ref<TensorImpl> rejoin(Node* n, int k) {
  Saved& s = unchanged(n, k);
  Edge place = s.storage ? place_of(n, k) : Edge{};
  if (!s.packed()) {
    if (place.leaf) return Ref<TensorImpl>::share(place.leaf);
    auto t = Ref(make_tensor(Array(s)));
    if (place.node) retain(t->grad_fn = place.node), t->output = place.output, t->requires_grad = true;
    return t;
  }
  Array value = unpack_saved(n, k);
  if (!place.leaf) {
    auto t = Ref(make_tensor(std::move(value)));
    if (place.node) retain(t->grad_fn = place.node), t->output = place.output, t->requires_grad = true;
    return t;
  }
  // A leaf's values from elsewhere: a copy of the leaf has its place in the graph.
  GradMode on(true);
  Operand in[] = {{place.leaf, place.leaf}};
  auto t = Ref(apply(*find_op("copy"), in, 1, kNoAttrs));
  static_cast<Array&>(*t) = std::move(value);
  return t;
}

}  // namespace perflab
