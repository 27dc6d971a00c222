// What the Python-facing files share.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "engine.h"

namespace perflab {

// --- Tensor
struct PyTensor {
  PyObject_HEAD TensorImpl* impl;  // counted, unless impl->owns_wrapper
  PyObject *dict, *weak;
};
extern PyTypeObject* tensor_type;
inline bool is_tensor(PyObject* o) { return Py_TYPE(o) == tensor_type || PyType_IsSubtype(Py_TYPE(o), tensor_type); }
inline TensorImpl* impl_of(PyObject* o) { return reinterpret_cast<PyTensor*>(o)->impl; }
PyObject* wrap(TensorImpl*);                            // takes the reference
PyObject* wrap_as(PyTypeObject* subtype, TensorImpl*);  // the same, as a subclass
void track(PyObject* wrapper);                          // its graph reaches Python: the collector must see it
void let_go(PyObject*) noexcept;                        // a Python reference, with or without the GIL
PyTypeObject* make_tensor_type();
extern PyType_Slot life_slots[4], operator_slots[];

// --- calls
// A tensor or a number; false with no exception set: neither.
bool operand(PyObject*, Operand&, Array& cell);
// Gives numbers the dtype that they will be computed in where a tensor among the operands settles it.
// False: an exception is set, one of them does not fit.
bool settle_numbers(const Op&, Operand* in, Array* cells);
extern PyObject* numpy_types;  // a tuple: numpy's scalars and arrays; those of one element count as Python's numbers
PyObject* call_op(const Op&, const Operand* in, int nin, const Attrs&);
void bind_operators();  // Tensor's operator slots to the ops of those names
PyObject* subscript(PyObject* tensor, PyObject* key);
PyTypeObject* make_op_type();
constexpr int kMostInputs = 16;  // of an op that takes no list
PyObject* make_handle(Op&, bool in_place);
Op* handle_op(PyObject*);  // null: not a handle
struct SymbolHook {
  PyObject *type = nullptr, *call = nullptr;
};
extern SymbolHook symbol_hook;
struct SubscriptHook {  // for keys that hold arrays
  PyObject *get = nullptr, *set = nullptr;
};
extern SubscriptHook subscript_hook;

// --- attributes: words and Python values (py_attrs.cpp). False or null: an exception is set.
bool to_words(const std::string& op, const AttrSig&, PyObject*, int64_t* words);
bool items_to_words(const std::string& op, const AttrSig&, PyObject* const* items, Py_ssize_t n, int64_t* words);
PyObject* to_dict(const Op&, const Attrs&);
int word_count(char kind);
extern PyObject* dtype_objects[kDTypes];
PyObject* shape_tuple(const int64_t* items, int n);

// --- modes (py_modes.cpp)
extern PyMethodDef mode_functions[];
void set_mode_calls();
// A thread's modes, for another one that works for it while it waits. Needs the GIL.
class ThreadModes {
 public:
  ThreadModes();  // of this thread
  void put_on();  // on this one, which has none
  void take_off();

 private:
  void exchange();
  bool grad_enabled_;
  uint32_t modes_ = 0, scope_ = 0;
  DType autocast_dtype_ = DType::kFloat32;
  NodeMade made_ = nullptr;
  NodeRan ran_ = nullptr;
  NodeFailed failed_ = nullptr;
  PyObject *pack_ = nullptr, *unpack_ = nullptr, *node_ = nullptr, *found_ = nullptr;
  std::vector<PyObject*> dispatch_;
};

// --- functions written in Python (py_function.cpp)
extern PyMethodDef function_functions[];
void set_function_calls();

// --- nodes
PyObject* wrap_node(Node*);  // takes the reference
PyTypeObject* make_node_type();

// --- backward (py_backward.cpp)
PyObject* backward_method(PyObject* tensor, PyObject* args, PyObject* kwargs);
extern PyMethodDef backward_functions[];

// --- hooks (py_hooks.cpp): the Python objects that nodes and leaves keep for them
PyObject* get_tensor_hooks(PyObject*, void*);
int set_tensor_hooks(PyObject*, PyObject*, void*);
PyObject* get_node_hooks(PyObject*, void*);
int set_node_hooks(PyObject*, PyObject*, void*);
Node* node_of(PyObject*);
void set_hook_calls();
// For tp_traverse (py_reach.cpp): the Python objects behind C++ objects that the owner of this one alone holds.
int visit_behind(TensorImpl*, visitproc, void* arg);
int visit_behind(Node*, visitproc, void* arg);  // where the owner holds the node alone

// --- the recorder (py_recorder.cpp)
PyTypeObject* make_annotation_type();
extern PyMethodDef recorder_functions[];

// --- errors
extern PyObject* error_types[7];  // by ErrorKind
void set_error_hooks();
extern PyObject* out_of_memory_type;
PyObject* raise_current();  // the C++ exception in flight as Python's; returns null

// --- the GIL
// Around the core: keeps the GIL until the work proves long (release_gil), takes it back at the end. A call of
// microseconds that gave it away would wait a whole switch interval (5 ms) for it whenever another Python thread runs.
class LateGil {
 public:
  LateGil() : may_(std::exchange(engine_may_release, true)) {}
  ~LateGil() {
    engine_may_release = may_;
    if (without_gil) [[unlikely]]
      take_back();
  }

 private:
  static void take_back();
  bool may_;
};
// Back into Python from inside the core, if the core gave the GIL away. Recorded: asked, got, gave back, why.
class Gil {
 public:
  explicit Gil(const std::string& reason);
  ~Gil();
  Gil(const Gil&) = delete;

 private:
  bool away_, may_;
  int64_t asked_ = 0, got_ = 0;
  uint32_t reason_ = 0;
};
void set_gil_hooks();

template <class F>
void* slot(F f) {
  return reinterpret_cast<void*>(f);
}

}  // namespace perflab
