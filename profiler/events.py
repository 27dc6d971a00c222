"""The recorder's events as numpy sees them: one record of 64 bytes each.

t0, t1, t2  ticks. op: begins, its kernel begins, both end. node, annotation, step, composite, leaf: begin, 0, end.
            gil: asked, got, gave back. alloc, free: the moment in t0 and t2. edge: those of its node, which it follows.
            task_run, task_wait: begin, 0, end.
name        op, node: op id; gil, annotation, composite: id of an interned string; step: its number; task_run: id of the
            coroutine's name, task_wait: of that of what it waits in.
sequence    op: number of the backward node that it made, 0 none; node: its number; step: that of its profile; task_run
            and task_wait: number of the task; launch, kernel: number of the launch, 0 for one that waits.
address     launch, kernel: number of the stream, from bit 32 on of the device. alloc, free, use: the block. edge:
            number of the node that it leads to, or which leaf. leaf: which one; bytes: where its gradient lies.
use         tells what a block is for; t1: on a device, its bytes, rounded up.
stack       follows the event at which Python's stack was the one of number `name`.
"""

import numpy as np

EVENT = np.dtype(
    [("t0", "<i8"), ("t1", "<i8"), ("t2", "<i8"), ("kind", "<u2"), ("flags", "<u2"), ("name", "<u4"),
     ("sequence", "<u8"), ("address", "<u8"), ("bytes", "<u8"), ("shapes", "<u4"), ("scope", "<u4")]
)  # fmt: skip
# Values of `kind`; 0 is no event.
OP, NODE, ALLOC, FREE, GIL, ANNOTATION, STEP_MARK, COMPOSITE, EDGE, LEAF, TASK_RUN, TASK_WAIT = range(1, 13)
USE, STACK = 13, 14
LAUNCH, KERNEL = 17, 18

BACKENDS = ("view", "native", "numpy")  # bits 0-2 of an op's flags; a view has no kernel
HAS_KERNEL = 7
DTYPE_SHIFT, DTYPE_MASK = 3, 31  # bits 3-7: the code of its output's dtype
OUTPUT_ALLOCATED = 1 << 8
DEVICE_MASK, POOL_SHIFT = 255, 8  # of the flags of alloc and free: the numbers of the device and of the pool
NAMED, IS_COPY = 1 << 9, 1 << 10  # flags of launch and kernel: the name is an interned string; it is a copy
IS_FILL = 1 << 11  # of them too: it fills memory
NAME_INTERNED = 1  # flag of a node: its name is an interned string
TO_LEAF = 1  # flag of an edge
USE_PARAMETER, USE_GRADIENT, USE_STATE, USE_INPUT, USE_SAVED = range(1, 6)  # bits 0-7 of the flags of a use

# Of the GIL's tracer, in ticks: a thread asked (`wait`, where it was not free), got it, was asked to let go (0: never),
# let go. They are in the order of time, as no two hold it at once; behind them who still waits at the end.
GIL_HOLD = np.dtype(
    [("wait", "<i8"), ("acquired", "<i8"), ("requested", "<i8"), ("released", "<i8"),
     ("thread", "<u4"), ("flags", "<u2"), ("pad", "<u2")]
)  # fmt: skip
GIL_CROWD, GIL_BEFORE, GIL_AFTER, GIL_WAITING = 1, 2, 4, 8  # its flags; see core/gil_hooks.h
