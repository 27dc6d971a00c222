// Intrusive reference counts of TensorImpl, Storage and Node. They live in C++, so that copying one never takes the
// GIL.
#pragma once
#include <atomic>
#include <utility>

namespace perflab {

template <class T>
void retain(T* p) {
  p->refs.fetch_add(1, std::memory_order_relaxed);
}

// The sole owner needs no locked instruction to know that it is the last.
template <class T>
void release(T* p) noexcept {
  if (p->refs.load(std::memory_order_acquire) == 1 || p->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(p);
}

template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* owned) : p_(owned) {}
  static Ref share(T* p) {
    if (p) retain(p);
    return Ref(p);
  }
  Ref(const Ref& o) : p_(o.p_) {
    if (p_) retain(p_);
  }
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Ref() {
    if (p_) release(p_);
  }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  T* take() { return std::exchange(p_, nullptr); }

 private:
  T* p_ = nullptr;
};

}  // namespace perflab
