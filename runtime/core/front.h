// The ready queue of a backward pass.
#pragma once
#include <algorithm>
#include <vector>

#include "engine.h"

namespace perflab {

// What waits for its turn, as a heap by number. A node met twice while few wait is summed at once; in a wide front it
// may stand twice and is summed when popped (equal keys are neighbours), so nothing is written into nodes and several
// passes may share a graph.
template <class Value>
class Front {
 public:
  bool empty() const { return heap_.empty(); }
  uint64_t highest() const { return heap_.front().sequence; }

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
    heap_.push_back({node, node->sequence, at});
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
    uint64_t sequence;
    uint32_t at;
  };
  static bool below(const Item& a, const Item& b) { return a.sequence < b.sequence; }
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
