// What the cycle collector sees behind a wrapper: it goes through C++ objects as long as all references to them come
// from objects that it went through before, down to the Python objects that these hold. Acquire: a backward pass that
// let go of a node has finished with its edges.
#include <unordered_map>

#include "py.h"

namespace perflab {
namespace {

class Reach {
 public:
  Reach(visitproc visit, void* arg) : visit_(visit), arg_(arg) {}

  int from(TensorImpl* t) {
    enter(t);
    return go();
  }
  int from(Node* n) {
    meet(n);
    return go();
  }

 private:
  template <class T>
  bool met_all(const T* p) {  // this was the last reference to it
    uint32_t refs = p->refs.load(std::memory_order_acquire);
    return refs == 1 || ++met_[p] == refs;
  }

  static bool may_reach_python(const Node* n) {
    return n && (n->reaches_python || nodes_with_hooks.load(std::memory_order_relaxed) > 0);
  }

  void meet(Node* n) {
    if (may_reach_python(n) && met_all(n)) nodes_.push_back(n);
  }
  void meet(TensorImpl* t) {
    if (!t || (!t->hooks && !t->owns_wrapper && !may_reach_python(t->grad_fn)) || !met_all(t)) return;
    if (t->owns_wrapper) found(t->wrapper);
    enter(t);
  }
  void enter(TensorImpl* t) {
    found(t->hooks);
    meet(t->base);
    meet(t->grad_fn);
  }

  void found(void* object) {
    if (object && !stop_) stop_ = visit_(static_cast<PyObject*>(object), arg_);
  }

  int go() {
    while (!stop_ && !nodes_.empty()) {
      Node* n = nodes_.back();
      nodes_.pop_back();
      found(n->context), found(n->hooks);
      for (int k = 0; k < n->nsaved; ++k)
        if (const Saved& s = n->saved()[k]; s.packed() && s.storage->refs.load(std::memory_order_acquire) == 1)
          found(s.storage->owner);
      for (int i = 0; i < n->nedges; ++i) meet(n->edges()[i].node), meet(n->edges()[i].leaf);
    }
    return stop_;
  }

  visitproc visit_;
  void* arg_;
  int stop_ = 0;
  std::vector<Node*> nodes_;
  std::unordered_map<const void*, uint32_t> met_;
};

}  // namespace

int visit_behind(TensorImpl* t, visitproc visit, void* arg) { return Reach(visit, arg).from(t); }
int visit_behind(Node* n, visitproc visit, void* arg) { return Reach(visit, arg).from(n); }

}  // namespace perflab
