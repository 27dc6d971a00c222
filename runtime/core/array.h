// Array: a strided value over counted storage. No autograd, no Python: kernels, saved values and the engine's
// temporaries are Arrays, so a backward pass makes no tensor objects except the leaves' gradients.
#pragma once
#include <cstring>
#include <string>

#include "dtype.h"
#include "error.h"
#include "storage.h"

namespace perflab {

constexpr int kMaxDim = 8;
constexpr int64_t kNone = INT64_MIN;  // an attribute that is None
constexpr int64_t kMaxElements = int64_t{1} << 44;

std::string show(const int64_t* items, int n);  // "(2, 3)", "(2,)", "()"
struct Layout;
[[noreturn]] void refuse_size(const Layout&);

struct Layout {
  void* data = nullptr;  // the first element; where storage is null: a scalar in `cell`, or a shape without data
  int64_t numel = 0;
  uint8_t ndim = 0;
  DType dtype = DType::kFloat32;
  bool contig = true;  // C order without gaps
  bool weak = false;   // a Python number: takes part in promotion by its kind alone
  uint8_t device = 0;  // where the elements are (device.h); 0: on the CPU
  alignas(8) unsigned char cell[16] = {};
  int64_t shape[kMaxDim], strides[kMaxDim];  // strides in elements, may be 0 or negative

  Layout() {}  // shape and strides stay unwritten beyond ndim
  Layout(const Layout& o) { *this = o; }
  Layout& operator=(const Layout& o) {
    std::memcpy(static_cast<void*>(this), &o, offsetof(Layout, shape));
    copy_dims(o);
    if (o.data == o.cell) data = cell;
    return *this;
  }
  void copy_dims(const Layout& o) {
    for (int i = 0; i < o.ndim; ++i) shape[i] = o.shape[i], strides[i] = o.strides[i];
  }

  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
  static int64_t times(int64_t a,
                       int64_t b) {  // stays at the largest instead of wrapping: no memory will be found for it
    int64_t n;
    return __builtin_mul_overflow(a, b, &n) ? INT64_MAX : n;
  }
  void skip(int64_t elements) {  // moves the first element
    if (data) data = as<char>() + elements * static_cast<int64_t>(item_size(dtype));
  }
  size_t bytes() const { return static_cast<size_t>(numel) * item_size(dtype); }
  template <class T>
  void set_scalar(T value) {
    dtype = DTypeOf<T>::value;
    std::memcpy(cell, &value, sizeof value);
    data = cell, numel = 1, ndim = 0, contig = true;
  }
  void pack() {  // contiguous strides for shape
    int64_t n = 1;
    for (int i = ndim - 1; i >= 0; --i) strides[i] = n, n = times(n, shape[i]);
    numel = n, contig = true;
  }
  void measure() {  // numel and contig from shape and strides
    int64_t n = 1;
    contig = true;
    for (int i = ndim - 1; i >= 0; --i) {
      if (shape[i] != 1 && strides[i] != n) contig = false;
      n = times(n, shape[i]);
    }
    numel = n;
    if (n == 0) contig = true;
  }
  void take_shape(const Layout& o) {
    ndim = o.ndim;
    for (int i = 0; i < ndim; ++i) shape[i] = o.shape[i];
    pack();
  }
};

struct Array : Layout {
  Storage* storage = nullptr;

  Array() {}
  Array(const Array& o) : Layout(o), storage(o.storage) {
    if (storage) retain(storage);
  }
  Array(Array&& o) noexcept : Layout(o), storage(o.storage) { o.storage = nullptr, o.data = nullptr; }
  Array& operator=(Array&& o) noexcept {
    if (this == &o) return *this;
    if (storage) release(storage);
    static_cast<Layout&>(*this) = o, storage = std::exchange(o.storage, nullptr), o.data = nullptr;
    return *this;
  }
  ~Array() {
    if (storage) release(storage);
  }
  void drop() noexcept {
    if (storage) release(storage), storage = nullptr;
    data = nullptr;
  }
  void alias(const Array& a) {  // the same elements
    static_cast<Layout&>(*this) = a;
    weak = false;
    if ((storage = a.storage)) retain(storage);
  }
  bool sole() const { return storage && storage->refs.load(std::memory_order_acquire) == 1; }
  void fill_storage(bool quiet = false) {  // on the CPU
    if (numel > kMaxElements) [[unlikely]]
      refuse_size(*this);
    storage = make_storage(bytes(), quiet), data = storage->data;
  }
};

// Gives it memory on a device, 0: the CPU. In device.cpp.
void fill_storage_on(int device, Array&);

inline bool same_shape(const Layout& a, const Layout& b) {
  if (a.ndim != b.ndim) return false;
  for (int i = 0; i < a.ndim; ++i)
    if (a.shape[i] != b.shape[i]) return false;
  return true;
}

inline std::string show(const Layout& a) { return show(a.shape, a.ndim); }

// The element as another type; of an array with one element.
template <class T>
T scalar_as(const Layout& a) {
  return visit(a.dtype, [&](auto zero) { return convert<T>(*a.as<decltype(zero)>()); });
}
// A scalar's value as that of another dtype; no kind below its own.
void set_scalar_as(Layout& to, DType, const Layout& scalar);

}  // namespace perflab
