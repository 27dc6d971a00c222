// Node: one recorded op, a row of the graph that a backward pass walks. Program: what its backward computes.
#pragma once
#include <utility>
#include <vector>

#include "tensor.h"

namespace perflab {

// One call of an op inside a backward program. Slots: the cotangents (one per output of the forward op), then what the
// node saved, then constants, then temporaries.
struct Call {
  const Op* op;
  std::vector<uint16_t> in, dead;  // dead: slots whose last use this is
  uint16_t out, nout;              // first slot written, and how many
  bool donate;                     // input 0 dies here: its buffer may become the output
  Attrs attrs;
  std::vector<std::pair<uint8_t, uint8_t>> from_forward;  // attrs.v[first] = the forward call's attrs.v[second]
};
struct Keep {
  int which;  // input number, or -1-k for output k
  bool spec;  // shape and dtype alone
};
struct Program {
  int nin, nout;
  uint32_t mask;  // inputs that get a gradient; a list op's program serves all its inputs
  std::vector<Keep> saves;
  std::vector<Array> constants;
  std::vector<Call> calls;
  std::vector<int> outs;  // a slot per input that needs a gradient, -1: none
  uint16_t first_temporary, nslots;
  bool specialised;  // the formula looked at attributes or ranks: serves only these
  std::vector<int64_t> attrs;
  std::vector<uint8_t> ndims;
};
// The program for this call of op, traced when it is the first of its kind. Needs the GIL.
const Program& program_for(const Op&, const Operand* in, int nin, int nout, uint32_t mask, const Attrs&);
extern std::unique_ptr<Program> (*trace_program)(const Op&, const Operand* in, int nin, int nout, uint32_t mask,
                                                 const Attrs&);

struct Edge {  // to a node or to a leaf, both counted; neither: an input without gradient
  Node* node = nullptr;
  TensorImpl* leaf = nullptr;
  uint32_t output = 0;  // which output of node
};
struct Saved : Array {
  uint32_t version = 0;
  int which = 0;  // as in Keep; kAlone: neither an input nor an output; kElsewhere: Python keeps it
  // A storage without data: its owner is what a pack hook made of the value.
  bool packed() const { return !data && storage; }
};
constexpr int kElsewhere = INT32_MIN, kAlone = INT32_MIN + 1;

struct Node {  // edges, saved values and attribute words follow in the same block
  static constexpr int32_t kSpent = -1;
  std::atomic<uint32_t> refs{1};
  std::atomic<int32_t> users{
      0};  // passes that read this node now, with retain_graph; kSpent once a pass took what it saved
  bool reaches_python =
      false;                  // this node or one behind it holds Python objects: the collector must see wrappers above
  bool keeps_values = false;  // it saved more than shapes: a pass uses it up
  uint16_t nedges, nsaved, nout, words;
  uint8_t device = 0;     // of its outputs, and
  Stream stream = 0;      // the current stream there: its backward runs on it
  uint64_t sequence = 0;  // higher than all numbers behind it: descending, a topological order without counting
  const Op* op = nullptr;
  const Program* program = nullptr;  // null: a Python function
  void* context = nullptr;           // its ctx
  void* hooks = nullptr;             // the Python object that keeps its hooks and metadata (runtime/autograd/hooks.py)
  void* wrapper = nullptr;           // the Python object that shows this node, borrowed

  Edge* edges() { return reinterpret_cast<Edge*>(this + 1); }
  Saved* saved() { return reinterpret_cast<Saved*>(edges() + nedges); }
  int64_t* attrs() { return reinterpret_cast<int64_t*>(saved() + nsaved); }
};
Node* make_node(int nedges, int nsaved, int nout, int words);
void destroy(Node*) noexcept;  // a worklist, not recursion
void set_edge(Node*, int i, TensorImpl* input);
void save(Saved*, const Array&, int which, bool spec);
int64_t live_nodes();
// While there are some, nodes in front of them may have been made before the hooks, and do not say reaches_python.
inline std::atomic<int> nodes_with_hooks{0};

// Nodes are numbered in the order of their making: within a thread, and along every edge. Threads take numbers by
// blocks, and a new block where a node behind has a higher one.
struct SequenceBlock {
  uint64_t next = 1, end = 1;
};
inline constinit thread_local SequenceBlock sequence_block;
void begin_sequence_block();
inline uint64_t sequence_after(uint64_t behind) {
  SequenceBlock& b = sequence_block;
  if (b.next == b.end || b.next <= behind) [[unlikely]]
    begin_sequence_block();
  return b.next++;
}
// This thread's next node has no lower number than this, and those that it made before have lower ones.
inline uint64_t next_sequence_at_least() { return sequence_block.next; }
uint64_t sequence_behind(Node*);  // the highest number among its edges

extern void (*release_context)(void*);  // gives a Python reference back
extern std::string (*context_name)(void*);
// Where value k, neither an input nor an output, stands in the graph; borrowed.
extern Edge (*place_of_alone)(Node*, int k);
// Runs a Python function's backward: cts per output (data null: none came), outs one per edge, data null for None.
extern void (*run_python_node)(Node*, const Array* cts, Array* outs);
extern void (*run_python_node_recorded)(Node*, Ref<TensorImpl>* cts, Ref<TensorImpl>* outs);

// A saved value, checked to be unchanged.
Saved& unchanged(Node*, int k);
extern Array (*unpack_saved)(Node*, int k);  // the value of a packed one, from Python
// A saved value as a tensor that finds its place in the graph again: an input through its edge, an output through the
// node.
Ref<TensorImpl> rejoin(Node*, int k);
std::string backward_name(const Node*);

// Modes of this thread that watch the graph being made and used; null: off.
using NodeMade = void (*)(Node*);
using NodeRan = void (*)(Node*, const Array* const* gradients, int n);
using NodeFailed = void (*)(Node*);  // an exception is on its way
inline constinit thread_local NodeMade node_made = nullptr;
inline constinit thread_local NodeRan node_ran = nullptr;
inline constinit thread_local NodeFailed node_failed = nullptr;
inline void announce(Node* n) {  // it is complete, and what it saved has its final values
  if (node_made) [[unlikely]]
    node_made(n);
}

}  // namespace perflab
