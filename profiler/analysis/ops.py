"""Ops: each op slice with its own share of time, kernels, memory and waiting."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..trace import Int32s, Int64s, Trace
from .among import among
from .enclosing import innermost, nearest
from .functions import SAMPLED
from .gil import WAIT, hold_rows, thread_tracks, wait_rows
from .steps import step_names
from .tasks import CATEGORIES as TASKS

MEMORY = "[memory]"  # name of the instants that are allocations and frees, as torch.profiler writes them
COMPOSITE_ARG = "Composite"  # of an op that is made of others, or is one call of the core: it was not dispatched
OPS = ("cpu_op", "Operator")  # the second is what early Kineto wrote
KERNELS = ("kernel", "Kernel")


@dataclass(frozen=True, slots=True)
class Ops:
    """One row per op slice; all columns have one length.

    `self_ns` is the duration less that of the ops directly inside: kernels do not reduce it. Kernels, allocations and
    GIL waits count for the innermost op around them, or for the one before that gave up the GIL; kernels on a device
    count for the op that launched them.
    """

    row: Int64s  # of the slice
    name: Int32s
    start: Int64s
    total_ns: Int64s
    self_ns: Int64s
    kernels: Int64s
    kernel_ns: Int64s
    nested_kernel_ns: Int64s  # of these, inside the op: not on a device
    allocations: Int64s
    allocated_bytes: Int64s  # frees not subtracted
    gil_wait_ns: Int64s


def ops(trace: Trace) -> Ops:
    """The ops of a trace; where none of its slices says that it is one, all count as ops but stacks and tasks."""
    slices = trace.slices
    is_op, is_kernel = op_slices(trace), of_category(trace, KERNELS)
    rows = np.flatnonzero(is_op)
    count = len(slices)
    inside = _per_slice(nearest(trace, slices.parent[rows], is_op), slices.duration[rows], count)
    kernels = np.flatnonzero(is_kernel)
    nested, kernel_op = _kernel_ops(trace, kernels, is_op)
    allocations, allocated_bytes = _allocated(trace, is_op)
    return Ops(
        row=rows,
        name=slices.name[rows],
        start=slices.start[rows],
        total_ns=slices.duration[rows],
        self_ns=slices.duration[rows] - inside[rows],
        kernels=_per_slice(kernel_op, np.ones_like(kernels), count)[rows],
        kernel_ns=_per_slice(kernel_op, slices.duration[kernels], count)[rows],
        nested_kernel_ns=_per_slice(nested, slices.duration[kernels], count)[rows],
        allocations=allocations[rows],
        allocated_bytes=allocated_bytes[rows],
        gil_wait_ns=_gil_waits(trace, is_op)[rows],
    )


def op_slices(trace: Trace) -> NDArray[np.bool_]:
    """Which slices are ops."""
    is_op = of_category(trace, OPS)
    if not is_op.any():
        is_op = ~of_category(trace, (*KERNELS, "gil", "gc", "user_annotation", SAMPLED, *TASKS))
    is_op &= ~among(
        trace.slices.name, step_names(trace), len(trace.strings)
    )  # early Kineto writes steps as if they were ops
    return is_op


def by_name(columns: Ops, values: Int64s, names: int) -> Int64s:
    """Sum of a column of `columns` for each of the first `names` string ids."""
    return _per_slice(columns.name.astype(np.int64), values, names)


def of_category(trace: Trace, categories: tuple[str, ...]) -> NDArray[np.bool_]:
    """Which slices are of one of the categories."""
    return among(trace.slices.category, map(trace.string_id, categories), len(trace.strings))


def _per_slice(rows: Int64s, values: Int64s, count: int) -> Int64s:
    """Sum of the values of each row; rows of -1 are nobody's."""
    sums = np.zeros(count, dtype=np.int64)
    known = rows >= 0
    np.add.at(sums, rows[known], values[known])
    return sums


def _kernel_ops(trace: Trace, kernels: Int64s, is_op: NDArray[np.bool_]) -> tuple[Int64s, Int64s]:
    """The op around each kernel, or -1; and that, or, for a kernel on a device, the op that launched it."""
    around = nearest(trace, trace.slices.parent[kernels], is_op)
    return around, np.where(around >= 0, around, nearest(trace, launchers(trace)[kernels], is_op))


def launchers(trace: Trace) -> Int64s:
    """The slice that an arrow into each slice comes from, or -1."""
    found = np.full(len(trace.slices), -1, dtype=np.int64)
    found[trace.flows.target] = trace.flows.source
    return found


def _allocated(trace: Trace, is_op: NDArray[np.bool_]) -> tuple[Int64s, Int64s]:
    """Allocations of each slice that is an op, and their bytes."""
    instants = trace.instants
    memory = np.flatnonzero(instants.name == trace.string_id(MEMORY))
    if not len(memory) or "Bytes" not in trace.instant_args:
        return np.zeros(len(is_op), dtype=np.int64), np.zeros(len(is_op), dtype=np.int64)
    size = trace.instant_args["Bytes"].dense(len(instants))[memory]
    taken = memory[size > 0]
    around = innermost(trace, instants.track[taken], instants.time[taken])
    size = size[size > 0]
    op = nearest(trace, around, is_op)
    return _per_slice(op, np.ones_like(size), len(is_op)), _per_slice(op, size, len(is_op))


def _gil_waits(trace: Trace, is_op: NDArray[np.bool_]) -> Int64s:
    waits = wait_rows(trace)
    start, track = trace.slices.start[waits], thread_tracks(trace, waits)
    op = nearest(trace, innermost(trace, track, start), is_op)
    unexplained = (op < 0) & (trace.slices.name[waits] == trace.string_id(WAIT))
    op[unexplained] = _gave_up(trace, is_op, start[unexplained], track[unexplained])
    return _per_slice(op, trace.slices.duration[waits], len(is_op))


def _gave_up(trace: Trace, is_op: NDArray[np.bool_], time: Int64s, track: Int64s) -> Int64s:
    """The op that gave up the GIL which its thread, at each of these times, asks for again: the last one on the track,
    where it ended behind the last hold of the GIL. -1 for none. PyTorch's ops end before they take it back."""
    slices = trace.slices
    holds = hold_rows(trace)
    of_hold = thread_tracks(trace, holds)
    tops = np.flatnonzero(is_op & (nearest(trace, slices.parent, is_op) < 0))
    found = np.full(len(time), -1, dtype=np.int64)
    for number in np.unique(track).tolist():
        own = tops[slices.track[tops] == number]
        released = slices.end[holds[of_hold == number]]
        if len(own) and len(released):
            chosen = np.flatnonzero(track == number)
            last = _last_before(slices.end[own], time[chosen])
            hold = _last_before(released, time[chosen])
            behind = (last >= 0) & (hold >= 0)
            behind[behind] = slices.end[own[last[behind]]] > released[hold[behind]]
            found[chosen[behind]] = own[last[behind]]
    return found


def _last_before(ascending: Int64s, time: Int64s) -> Int64s:
    """The place of the last that is not behind each time, -1 for none."""
    place: Int64s = np.searchsorted(ascending, time, side="right") - 1
    return place
