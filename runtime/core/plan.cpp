#include "plan.h"

namespace perflab {

Plan::Plan(const Request& request) {
  bool all = request.inputs.empty();
  std::vector<Node*> behind;
  auto meet = [&](const Edge& e, uint64_t from) {
    if (e.leaf) leaves_[e.leaf].complete = std::min(leaves_[e.leaf].complete, from);
    if (e.node && steps_.try_emplace(e.node).second) behind.push_back(e.node);
  };
  for (const Edge& root : request.roots) meet(root, UINT64_MAX);
  for (size_t at = 0; at < behind.size(); ++at) {
    Node* n = behind[at];
    for (int i = 0; i < n->nedges; ++i) meet(n->edges()[i], n->sequence);
  }
  if (all) {
    for (auto& [node, step] : steps_) step.runs = true;
    return;
  }
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const Edge& e = request.inputs[i];
    if (e.node) {
      if (auto at = steps_.find(e.node); at != steps_.end())
        at->second.captures.emplace_back(e.output, static_cast<int>(i));
    } else if (auto at = leaves_.find(e.leaf); at != leaves_.end()) {
      at->second.input = static_cast<int>(i);
    }
  }
  std::erase_if(leaves_, [](auto& entry) { return entry.second.input < 0; });
  std::sort(behind.begin(), behind.end(), [](Node* a, Node* b) { return a->sequence < b->sequence; });
  for (Node* n : behind) {  // what lies behind a node has been decided before it
    for (int i = 0; i < n->nedges; ++i)
      if (const Edge& e = n->edges()[i]; (e.node || e.leaf) && reaches(e)) steps_[n].runs = true;
    if (!steps_[n].runs && steps_[n].captures.empty()) steps_.erase(n);
  }
}

}  // namespace perflab
