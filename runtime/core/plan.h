// Which nodes a backward pass runs and where it ends, found by a walk before it. Most passes need none: they run
// everything behind their roots, and leaves take gradients as they come.
#pragma once
#include <unordered_map>
#include <vector>

#include "engine.h"

namespace perflab {

class Plan {
 public:
  explicit Plan(const Request&);

  struct Leaf {
    uint64_t complete = UINT64_MAX;  // when all nodes numbered so or higher have run, nothing more arrives
    int input = -1;                  // among the request's inputs
  };
  struct Step {
    bool runs = false;                               // it leads to an input
    std::vector<std::pair<uint32_t, int>> captures;  // outputs whose gradient is asked for, and for which input
  };
  const Leaf* leaf(TensorImpl* t) const { return find(leaves_, t); }  // null: the pass does not end there
  const Step* step(Node* n) const { return find(steps_, n); }         // null: the pass does not come there
  bool reaches(const Edge& e) const { return e.node ? step(e.node) != nullptr : leaf(e.leaf) != nullptr; }

 private:
  template <class Map, class Key>
  static const typename Map::mapped_type* find(const Map& map, Key key) {
    auto at = map.find(key);
    return at == map.end() ? nullptr : &at->second;
  }
  std::unordered_map<TensorImpl*, Leaf> leaves_;
  std::unordered_map<Node*, Step> steps_;
};

}  // namespace perflab
