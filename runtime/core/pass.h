// One backward pass, over Arrays or (create_graph) over tensors.
#pragma once
#include <memory>

#include "front.h"
#include "modes.h"
#include "plan.h"
#include "recorder.h"
#include "turns.h"

namespace perflab {

// What differs between the two kinds: engine.cpp, create_graph.cpp. `outs` has a place for each edge.
void run_node(Node*, std::span<Array> cts, std::span<Array> outs, bool keep);
void run_node(Node*, std::span<Tensor> cts, std::span<Tensor> outs, bool keep);
void accumulate(TensorImpl* leaf, Array ct);
void accumulate(TensorImpl* leaf, Tensor ct);
[[noreturn]] void refuse_gradient(const Layout& leaf, const Layout& ct);
void put_grad(TensorImpl* leaf, Tensor ct);
Tensor as_tensor(const Array&);
inline const Tensor& as_tensor(const Tensor& t) { return t; }
void take_value(Array& to, const Tensor& from);
inline void take_value(Tensor& to, const Tensor& from) { to = from; }
inline void reset(Array& a) { a.drop(); }
inline void reset(Tensor& t) { t = Tensor(); }
inline const Array* array_of(const Array& a) { return defined(a) ? &a : nullptr; }
inline const Array* array_of(const Tensor& t) { return t.get(); }

// What Python may ask about the pass that it was called from.
class PassInfo {
 public:
  explicit PassInfo(const Request& request) : request_(request), outer_(std::exchange(current, this)) {}
  ~PassInfo() { current = outer_; }
  PassInfo(const PassInfo&) = delete;
  uint64_t id();
  const Plan& plan() { return plan_ ? *plan_ : *(plan_ = std::make_unique<Plan>(request_)); }
  static thread_local PassInfo* current;
  uint64_t running = 0;  // the number of the node

 protected:
  const Request& request_;
  std::unique_ptr<Plan> plan_;

 private:
  PassInfo* outer_;
  uint64_t id_ = 0;  // given when asked for
};

// Lets a long pass be stopped by Ctrl-C, and give the GIL away.
class Pace {
 public:
  void step(const Array* ct, const Node*);

 private:
  int64_t work_ = 0, checked_ = 0;
  uint32_t steps_ = 0;
};

template <class Value>
class Pass : PassInfo {
 public:
  struct Scratch {  // kept between passes, for its capacity
    Front<Value> front;
    std::vector<Value> cts, outs;
    void clear() { front.clear(), cts.clear(), outs.clear(); }
    std::span<Value> outs_of(const Node* n) {  // undefined all
      if (outs.size() < n->nedges) outs.resize(n->nedges);
      return {outs.data(), n->nedges};
    }
  };

  Pass(const Request& request, Scratch& scratch) : PassInfo(request), front_(scratch.front), s_(scratch) {
    if (!request.inputs.empty() || leaves_with_hooks.load(std::memory_order_relaxed)) [[unlikely]]
      planned_ = &plan(), restricted_ = !request.inputs.empty(), found_.resize(request.inputs.size());
  }

  std::vector<Value> run(std::span<Value> gradients) {
    for (size_t i = 0; i < gradients.size(); ++i) give(request_.roots[i], std::move(gradients[i]));
    stamp_ = is_recording() ? ticks() : 0;
    for (;;) {
      if (!waiting_.empty()) [[unlikely]]
        settle_complete();
      if (front_.empty()) {
        turns_.finish();
        return std::move(found_);
      }
      Node* n = front_.pop(s_.cts);
      pace_.step(array_of(s_.cts[0]), n);
      take_turn(n);
      for (Value& ct : s_.cts) reset(ct);
    }
  }

 private:
  void take_turn(Node* n) {
    const Plan::Step* step = restricted_ ? planned_->step(n) : nullptr;
    if (step && !step->runs) [[unlikely]] {  // it is an end of the pass, and may have been used up by another
      Ref<Node> here(n);
      return arrive(n, step);
    }
    Claim claim(n, request_.keep_graph || !n->keeps_values);
    running = n->sequence;
    if (n->device) [[unlikely]] {
      turns_.enter(n);
      for (const Value& ct : s_.cts)
        if (const Array* a = array_of(ct)) await(*a);
    }
    arrive(n, step);
    std::vector<Value> of_outputs;
    if (n->hooks) [[unlikely]] {
      run_hooks(n, HookTime::kBefore, s_.cts, {});
      for (const Value& v : s_.cts) of_outputs.push_back(v);
    }
    std::span<Value> outs = s_.outs_of(n);
    try {
      run_node(n, s_.cts, outs, request_.keep_graph || !n->keeps_values);
    } catch (...) {
      if (node_failed) node_failed(n);
      throw;
    }
    if (stamp_) [[unlikely]]
      stamp_ = record_backward(n, stamp_);  // a node begins where the one before it ended: one stamp for both
    if (node_ran) [[unlikely]]
      tell_watcher(n, outs);
    if (n->hooks) [[unlikely]]
      run_hooks(n, HookTime::kAfter, outs, of_outputs);
    for (int i = 0; i < n->nedges; ++i)
      if (defined(outs[i])) give(n->edges()[i], std::move(outs[i])), reset(outs[i]);
  }

  // The gradients of n's outputs are complete.
  void arrive(Node* n, const Plan::Step* step) {
    if (n->hooks) [[unlikely]]
      run_hooks(n, HookTime::kTensor, s_.cts, {});
    if (step && !request_.into_leaves) [[unlikely]]
      for (auto [output, input] : step->captures) found_[input] = Value(s_.cts[output]);
  }

  void give(const Edge& e, Value&& ct) {
    if (e.node) {
      if (restricted_ && !planned_->step(e.node)) return;
      retain(e.node);
      front_.push(e.node, e.output, std::move(ct));
    } else if (e.leaf) {
      if (planned_) [[unlikely]]
        return give_planned(e.leaf, std::move(ct));
      add_to_leaf(e.leaf, std::move(ct));
    }
  }

  void add_to_leaf(TensorImpl* leaf, Value&& ct) {
    accumulate(leaf, std::move(ct));
    if (stamp_) [[unlikely]]
      stamp_ = record_accumulation(leaf, stamp_);
  }

  // A leaf with hooks waits until its gradient is complete: they see the sum.
  void give_planned(TensorImpl* leaf, Value&& ct) {
    const Plan::Leaf* l = planned_->leaf(leaf);
    if (!l) return;
    if (!leaf->hooks) return settle(leaf, l->input, std::move(ct));
    for (Waiting& w : waiting_)
      if (w.leaf == leaf) return add_into(w.sum, std::move(ct));
    waiting_.push_back({leaf, *l, std::move(ct)});
  }

  void settle_complete() {
    for (size_t i = 0; i < waiting_.size();) {
      if (!front_.empty() && front_.highest() >= waiting_[i].plan.complete) {
        ++i;
        continue;
      }
      Waiting w = std::move(waiting_[i]);
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
      Value sum;
      take_value(sum, run_leaf_hooks(w.leaf, as_tensor(w.sum)));
      settle(w.leaf, w.plan.input, std::move(sum));
      if (request_.into_leaves) run_accumulated_hooks(w.leaf);
    }
  }

  void settle(TensorImpl* leaf, int input, Value&& ct) {
    if (request_.into_leaves) return add_to_leaf(leaf, std::move(ct));
    add_into(found_[input], std::move(ct));
  }

  static std::vector<Tensor> as_tensors(std::span<const Value> values) {
    std::vector<Tensor> tensors;
    for (const Value& v : values) tensors.push_back(defined(v) ? as_tensor(v) : Tensor());
    return tensors;
  }

  static void run_hooks(Node* n, HookTime when, std::span<Value> values, std::span<const Value> of_outputs) {
    std::vector<Tensor> tensors = as_tensors(values);
    run_node_hooks(n, when, tensors, as_tensors(of_outputs));
    for (size_t i = 0; i < values.size(); ++i) take_value(values[i], tensors[i]);
  }

  static void tell_watcher(Node* n, std::span<const Value> outs) {
    std::vector<const Array*> arrays;
    for (const Value& v : outs) arrays.push_back(array_of(v));
    node_ran(n, arrays.data(), n->nedges);
  }

  struct Waiting {
    TensorImpl* leaf;
    Plan::Leaf plan;
    Value sum;
  };
  Front<Value>& front_;
  Scratch& s_;
  const Plan* planned_ = nullptr;
  bool restricted_ = false;
  std::vector<Value> found_;
  std::vector<Waiting> waiting_;
  Pace pace_;
  StreamTurns turns_;
  int64_t stamp_ = 0;
};

}  // namespace perflab
