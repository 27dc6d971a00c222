// A Tensor wrapper's life. The wrapper holds one count of its impl, and the impl points back without a count. When
// Python lets go of a wrapper that carries state (a subclass, attributes, weak references) while C++ still uses the
// impl, the wrapper is revived and the impl owns it; when C++ lets go of such an impl, the wrapper gets the count back
// and Python's count is dropped. A wrapper without state is simply dropped and made anew: nobody can tell.
#include <mutex>
#include <vector>

#include "py.h"

namespace perflab {
namespace {

constexpr int kFree = 128;
PyTensor* free_list[kFree];
int free_count = 0;

PyTensor* new_wrapper() {
  if (free_count) {
    PyTensor* p = free_list[--free_count];
    Py_SET_REFCNT(p, 1);
    return p;
  }
  PyTensor* p = PyObject_GC_New(PyTensor, tensor_type);  // not tracked: see wrap()
  if (p) p->dict = p->weak = nullptr;
  return p;
}

bool has_state(PyTensor* p) { return p->dict || p->weak || Py_TYPE(p) != tensor_type; }

void finalize(PyObject* o) {  // PEP 442: called before a subclass's dict and weak references are torn down
  auto* p = reinterpret_cast<PyTensor*>(o);
  TensorImpl* t = p->impl;
  if (!t || t->owns_wrapper || !has_state(p) || t->refs.load(std::memory_order_acquire) == 1) return;
  Py_INCREF(o);  // revived: this count belongs to the impl now
  t->owns_wrapper = true;
  release(t);  // the wrapper's own; if C++ let go meanwhile it is the last, and destroy() undoes the revival
}

void dealloc(PyObject* o) {
  auto* p = reinterpret_cast<PyTensor*>(o);
  bool base = Py_TYPE(o) == tensor_type;
  if (p->impl && base && (p->dict || p->weak)) [[unlikely]] {
    if (PyObject_CallFinalizerFromDealloc(o) < 0) return;  // revived
  }
  if (PyObject_GC_IsTracked(o)) PyObject_GC_UnTrack(o);
  if (p->weak) PyObject_ClearWeakRefs(o);
  Py_CLEAR(p->dict);
  if (TensorImpl* t = std::exchange(p->impl, nullptr)) {
    t->wrapper = nullptr;
    release(t);
  }
  if (base && free_count < kFree) {
    free_list[free_count++] = p;
    return;
  }
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}

bool owns_alone(PyTensor* p) {
  return p->impl && !p->impl->owns_wrapper && p->impl->refs.load(std::memory_order_acquire) == 1;
}

int traverse(PyObject* o, visitproc visit, void* arg) {
  auto* p = reinterpret_cast<PyTensor*>(o);
  Py_VISIT(p->dict);
  Py_VISIT(Py_TYPE(o));
  return owns_alone(p) ? visit_behind(p->impl, visit, arg) : 0;
}

int clear(PyObject* o) {
  auto* p = reinterpret_cast<PyTensor*>(o);
  Py_CLEAR(p->dict);
  if (!owns_alone(p)) return 0;
  TensorImpl* t = p->impl;
  if (t->hooks) release_hooks(t), t->hooks = nullptr;
  if (t->base) release(std::exchange(t->base, nullptr));
  if (t->grad_fn) release(std::exchange(t->grad_fn, nullptr));
  return 0;
}

// Python references dropped by a thread without the GIL wait here for the next holder.
std::mutex queue_lock;
std::vector<PyObject*>& queue = *new std::vector<PyObject*>;

int drain(void*) {
  std::vector<PyObject*> mine;
  {
    std::lock_guard guard(queue_lock);
    mine.swap(queue);
  }
  for (PyObject* o : mine) Py_DECREF(o);
  return 0;
}

}  // namespace

void let_go(PyObject* o) noexcept {
  if (!without_gil) return Py_DECREF(o);
  bool first;
  {
    std::lock_guard guard(queue_lock);
    first = queue.empty();
    queue.push_back(o);
  }
  if (first) Py_AddPendingCall(drain, nullptr);
}

PyObject* wrap(TensorImpl* t) {
  if (auto* w = static_cast<PyObject*>(t->wrapper)) {
    if (t->owns_wrapper) [[unlikely]] {  // its Python count becomes the caller's, our C++ count becomes the wrapper's
      t->owns_wrapper = false;
      // CPython sets this bit of the collector's header after tp_finalize: cleared, it runs, and may revive, again.
      reinterpret_cast<uintptr_t*>(w)[-1] &= ~uintptr_t{1};
    } else {
      Py_INCREF(w), release(t);
    }
    return w;
  }
  PyTensor* p = new_wrapper();
  if (!p) return release(t), nullptr;
  p->impl = t, t->wrapper = p;
  auto* o = reinterpret_cast<PyObject*>(p);
  // A cycle must pass through a Python object: without history or hooks there is none, and the collector need not see
  // it.
  if (t->grad_fn || t->hooks) PyObject_GC_Track(o);
  return o;
}

PyObject* wrap_as(PyTypeObject* subtype, TensorImpl* t) {
  if (subtype == tensor_type) return wrap(t);
  auto* p = reinterpret_cast<PyTensor*>(subtype->tp_alloc(subtype, 0));
  if (!p) return release(t), nullptr;
  p->impl = t, t->wrapper = p;
  return reinterpret_cast<PyObject*>(p);
}

void track(PyObject* wrapper) {
  if (!PyObject_GC_IsTracked(wrapper)) PyObject_GC_Track(wrapper);
}

PyType_Slot life_slots[4] = {{Py_tp_dealloc, slot(dealloc)},
                             {Py_tp_finalize, slot(finalize)},
                             {Py_tp_traverse, slot(traverse)},
                             {Py_tp_clear, slot(clear)}};

}  // namespace perflab
