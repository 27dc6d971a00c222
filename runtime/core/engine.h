// The backward pass.
#pragma once
#include <algorithm>
#include <span>

#include "node.h"

namespace perflab {

using Tensor = Ref<TensorImpl>;

// What a pass is asked for.
struct Request {
  std::span<const Edge> roots;   // borrowed, with a gradient each
  std::span<const Edge> inputs;  // borrowed, each once: only what leads to them runs. Empty: to all leaves
  bool into_leaves = true;       // add to the leaves' grad; else give the inputs' gradients
  bool keep_graph = false;
};

// Runs on the caller's thread; starts with the GIL and gives it away once, when the pass proves long. Gives a gradient
// for each input, without data where none came. Throws Error(kAutograd).
std::vector<Array> backward(const Request&, std::span<Array> gradients);
// The same programs on tensors, through apply(), so that gradients have gradients and modes see the calls. Keeps the
// GIL.
std::vector<Tensor> backward_on_tensors(const Request&, std::span<Tensor> gradients, bool create_graph);

inline thread_local bool without_gil = false;         // this thread runs the engine and has given the GIL away
inline thread_local bool engine_may_release = false;  // a pass entered from Python that still holds it
extern void (*release_gil)();                         // called at most once a pass, when it has proved long
extern void (*check_signals)();                       // throws PythonError when Ctrl-C was pressed

// Hooks, which are Python's: set by py_hooks.cpp. Null tensors: no gradient came.
enum class HookTime : uint8_t { kTensor, kBefore, kAfter };  // tensor hooks, node pre-hooks, node hooks
extern void (*run_node_hooks)(Node*, HookTime, std::span<Tensor> gradients, std::span<const Tensor> of_outputs);
extern Tensor (*run_leaf_hooks)(TensorImpl* leaf, Tensor gradient);
extern void (*run_accumulated_hooks)(TensorImpl* leaf);
inline std::atomic<int> leaves_with_hooks{0};

Array filled(const Layout& like, double value);

// The pass that this thread is in: its number, 0 none; the number of the node that it runs, or ran last; whether it
// will run this node, or reach this leaf.
uint64_t current_pass();
uint64_t running_node();
bool pass_reaches(const Edge&);

// --- shared by both kinds of pass

// What a pass does, with the recorder on; from t0 to now, which they give.
int64_t record_backward(Node*, int64_t t0);  // with its edges
int64_t record_accumulation(const TensorImpl* leaf, int64_t t0);

class Claim {  // the right to read a node (keep) or to use it up
 public:
  Claim(Node*, bool keep);
  ~Claim();
  Claim(const Claim&) = delete;

 private:
  Node* node_;
  bool keep_;
};

void add_arrays(Array& sum, const Array& more);
void add_tensors(Tensor& sum, const Tensor& more);
inline bool defined(const Array& a) { return a.data != nullptr; }
inline bool defined(const Tensor& t) { return static_cast<bool>(t); }
inline void add_into(Array& sum, Array&& more) { defined(sum) ? add_arrays(sum, more) : void(sum = std::move(more)); }
inline void add_into(Tensor& sum, Tensor&& more) {
  defined(sum) ? add_tensors(sum, more) : void(sum = std::move(more));
}

}  // namespace perflab
