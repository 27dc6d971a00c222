// The backward pass.
#pragma once
#include <algorithm>

#include "node.h"

namespace perflab {

// Runs on the caller's thread; starts with the GIL and gives it away once, when the pass proves long.
// `gradient`: of root's shape and dtype; null: ones, for a root with one element. Throws Error(kAutograd).
void backward(TensorImpl* root, const Array* gradient, bool keep_graph);
// With create_graph: the same programs on tensors, through apply(), so that gradients have gradients. Keeps the GIL.
void backward_recorded(TensorImpl* root, TensorImpl* gradient);

inline thread_local bool without_gil = false;         // this thread runs the engine and has given the GIL away
inline thread_local bool engine_may_release = false;  // a pass entered from Python that still holds it
extern void (*release_gil)();                         // called at most once a pass, when it has proved long

// --- shared by both kinds of pass

int64_t record_backward(const Node*, int64_t t0);  // gives its end

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
void add_tensors(Ref<TensorImpl>& sum, const Ref<TensorImpl>& more);
inline bool defined(const Array& a) { return a.data != nullptr; }
inline bool defined(const Ref<TensorImpl>& t) { return static_cast<bool>(t); }
inline void add_into(Array& sum, Array&& more) { defined(sum) ? add_arrays(sum, more) : void(sum = std::move(more)); }
inline void add_into(Ref<TensorImpl>& sum, Ref<TensorImpl>&& more) {
  defined(sum) ? add_tensors(sum, more) : void(sum = std::move(more));
}

// What waits for its turn, as a heap by level. A node met twice while few wait is summed at once; in a wide front it
// may stand twice and is summed when popped (equal keys are neighbours), so nothing is written into nodes and several
// passes may share a graph.
template <class Value>
class Front {
 public:
  bool empty() const { return heap_.empty(); }

  void push(Node* node, uint32_t output, Value&& ct) {  // takes the reference to node
    if (heap_.size() <= 16)
      for (Item& i : heap_)
        if (i.node == node) {
          release(node);
          return add_into(cts_[i.at + output], std::move(ct));
        }
    uint32_t at;
    if (node->nout == 1 && !spare_.empty()) {
      at = spare_.back(), spare_.pop_back();
    } else {
      at = static_cast<uint32_t>(cts_.size());
      cts_.resize(at + node->nout);
    }
    cts_[at + output] = std::move(ct);
    heap_.push_back({node, node->level, at});
    std::push_heap(heap_.begin(), heap_.end(), below);
  }

  Node* pop(std::vector<Value>& cts) {  // gives the reference back; cts: one per output
    Item top = take();
    cts.resize(top.node->nout);
    for (uint32_t k = 0; k < top.node->nout; ++k) cts[k] = std::move(cts_[top.at + k]);
    give_back(top);
    while (!heap_.empty() && heap_.front().node == top.node) {
      Item again = take();
      for (uint32_t k = 0; k < again.node->nout; ++k)
        if (defined(cts_[again.at + k])) add_into(cts[k], std::move(cts_[again.at + k]));
      give_back(again);
      release(again.node);
    }
    return top.node;
  }

  void clear() {
    for (Item& i : heap_) release(i.node);
    heap_.clear(), cts_.clear(), spare_.clear();
  }

 private:
  struct Item {
    Node* node;
    uint32_t level, at;
  };
  static bool below(const Item& a, const Item& b) { return a.level != b.level ? a.level < b.level : a.node < b.node; }
  Item take() {
    std::pop_heap(heap_.begin(), heap_.end(), below);
    Item i = heap_.back();
    heap_.pop_back();
    return i;
  }
  void give_back(const Item& i) {
    if (i.node->nout == 1) spare_.push_back(i.at);
  }
  std::vector<Item> heap_;
  std::vector<Value> cts_;
  std::vector<uint32_t> spare_;
};

}  // namespace perflab
