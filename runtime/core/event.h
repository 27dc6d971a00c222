// One event of the recorder: 64 bytes, little endian.
//
//   0        8        16       24    26    28      32         40        48      56      60
//   | t0     | t1     | t2     |kind |flags| name  | sequence | address | bytes |shapes |scope |
//
// t0, t1, t2  ticks of clock.h. op: begins, kernel begins, both end. node, annotation, step, composite, leaf: begin, 0,
//             end. gil: asked, got, gave back. alloc and free: the moment in t0 and t2, and in t1 no tick but the bytes
//             of the block that serves them, rounded up. edge: those of its node.
// name        op, node: op id. gil, annotation, composite: id of an interned string. step: its number.
// sequence    op: the number of the autograd node that it made, 0 none. node: its number. edge: its node's.
//             step: the number of the profile whose step it is. alloc and free: the stream's number.
// address     op: its output's memory where it allocated it, alloc and free: the block. bytes: as asked for.
//             edge: the number of the node behind, or which leaf. leaf: which one.
// task_run, task_wait: of an asyncio task, which the profiler records: see profiler/events.py.
// use         what memory is for: the moment in t0 and t2, the block in address and bytes, in t1 its bytes on a device,
//             rounded up, whose module's it is in scope, in flags a MemoryUse in bits 0-7 and the device's number in
//             bits 8-15.
// stack       the t0 of the event before it, which it belongs to; name: the number of Python's stack then.
// launch, kernel: what starts work on a device, and the work. t0, t2: begin, end. sequence: the launch's number, in
// both.
//             name, flags: as of an op, or with kNamed an interned string. address: the number of the stream in bits
//             0-31, that of the device above. bytes: that it moves, of a copy.
// shapes      interned shapes of the inputs (0 none); leaf: its own. scope: interned module path (0 none).
#pragma once
#include <cstdint>

namespace perflab {

enum class EventKind : uint16_t {
  kOp = 1,
  kNode,
  kAlloc,
  kFree,
  kGil,
  kAnnotation,
  kStep,
  kComposite,
  kEdge,
  kLeaf,
  kTaskRun,
  kTaskWait,
  kUse,
  kStack,
  kLaunch = 17,
  kKernel
};

// flags of an alloc and a free: the device's number in bits 0-7, the pool's in bits 8-15.
// flags of an op: backend in bits 0-2, dtype of the first output in bits 3-7, bit 8: it allocated that output.
// kView: the CPU computes nothing; what a device computes has an event of its own.
enum EventBackend : uint16_t { kView = 0, kNative = 1, kPythonKernel = 2 };
constexpr uint16_t kAllocated = 1 << 8;
// flags of alloc and free: the number of the device
// flag of a node that runs Python: its name is an interned string
constexpr uint16_t kNameInterned = 1;
// flags of launch and kernel beside those of an op: it has the name of a string; it is a copy
constexpr uint16_t kNamed = 1 << 9, kCopy = 1 << 10;
// flag of an edge that leads to a leaf
constexpr uint16_t kToLeaf = 1;

struct Event {
  int64_t t0, t1, t2;
  EventKind kind;
  uint16_t flags;
  uint32_t name;
  uint64_t sequence, address, bytes;
  uint32_t shapes, scope;
};
static_assert(sizeof(Event) == 64);

}  // namespace perflab
