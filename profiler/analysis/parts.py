"""The parts of a step: each moment of the thread that steps belongs to one of them.

Where two could claim a moment, the one named first in `PARTS` has it. What a step is for is told by names: those that
PyTorch and perflab give to loading, the optimizer and the backward pass, and the plain words one would give to a
`record_function` ("data", "forward", "backward", "optimizer").
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..trace import Int64s, Trace
from .among import among
from .gil import thread_tracks, wait_rows
from .intervals import NOTHING, Cover
from .ops import op_slices
from .steps import Step, step_rows, steps
from .threads import of_process, threads

WAITS = ("gc", "gil_wait", "data_wait", "sync")
PARTS = (*WAITS, "optimizer", "backward", "forward", "idle")
WORDS = {
    "gc": "garbage collection",
    "gil_wait": "waiting for the GIL",
    "data_wait": "waiting for data",
    "sync": "waiting for a device",
    "optimizer": "optimizer",
    "backward": "backward",
    "forward": "forward",
    "idle": "outside of ops",
}

DATA = re.compile(
    r"enumerate\(DataLoader\)|.*torch/utils/data/dataloader\.py\(\d+\): __next__$"
    r"|(?i:(get|next|load|fetch)[ _](a[ _])?(batch|data)|data([ _]?(load(ing|er)?|wait|fetch))?$|load(ing)?$|input$)"
)
_OPTIMIZER = re.compile(
    r"Optimizer\.(step|zero_grad)#|.*torch/optim/(?!lr_scheduler)\w+\.py\(\d+\): (step|zero_grad)$"
    r"|(?i:optim(i[sz]er)?([ _](step|update))?$)"
)
_BACKWARD = re.compile(
    r"(?i:backward([ _]pass)?$)|.*torch/_tensor\.py\(\d+\): backward$|autograd::engine::evaluate_function: "
    r"|\w*Backward\d*$|torch::autograd::\w+$"
)
_FORWARD = re.compile(r"(?i:forward([ _]pass)?$)|\w+\.forward$")
_SYNC = re.compile(r"(cuda|hip|cu|sycl|zeVirtual|xpu|sim)\w*Synchronize$")
_COPY = re.compile(r"(cuda|hip|sim)Memcpy")


@dataclass(frozen=True, slots=True)
class StepParts:
    """One step and where its time went, in ns; the parts add up to `duration`.

    gc: collecting garbage. gil_wait: waiting for the GIL. data_wait: waiting for the next batch, or making it. sync:
    waiting for a device. optimizer, backward, forward: ops, and what is marked as such. idle: no op ran on this thread,
    nor one of the backward pass on another: Python between ops, or waiting for something without a name in the trace.
    """

    number: int
    start: int
    duration: int
    gc_ns: int
    gil_wait_ns: int
    data_wait_ns: int
    sync_ns: int
    optimizer_ns: int
    backward_ns: int
    forward_ns: int
    idle_ns: int


def part_ns(step: StepParts, part: str) -> int:
    """The ns of one of `PARTS`."""
    ns: int = getattr(step, f"{part}_ns")
    return ns


def step_parts(trace: Trace) -> list[StepParts]:
    """Every step of a trace; empty where it has none."""
    return _parts(trace, steps(trace))


def loop_parts(trace: Trace) -> list[StepParts]:
    """Every step of a trace, or the whole trace as one where it has none."""
    return _parts(trace, bounds(trace))


def _parts(trace: Trace, found: list[Step]) -> list[StepParts]:
    if not found:
        return []
    covers = part_covers(trace, step_thread(trace))
    start = np.array([step.start for step in found], dtype=np.int64)
    end = start + np.array([step.duration for step in found], dtype=np.int64)
    columns = [covers[part].within(start, end) for part in PARTS if part != "idle"]
    idle = end - start - np.sum(columns, axis=0)
    return [
        StepParts(step.number, step.start, step.duration, *ns)
        for step, ns in zip(found, np.stack([*columns, idle], axis=1).tolist(), strict=True)
    ]


@dataclass(frozen=True, slots=True)
class PartShare:
    """One of PARTS over several steps: ns of one step, and its share of them all."""

    part: str
    mean_ns: float
    share: float
    least_ns: int
    most_ns: int


def part_shares(found: Sequence[StepParts]) -> list[PartShare]:
    """What the steps are made of, the largest part first; parts that none of them has are left out."""
    whole = sum(step.duration for step in found)
    shares = []
    for part in PARTS:
        times = [part_ns(step, part) for step in found]
        if any(times):
            shares.append(PartShare(part, sum(times) / len(times), sum(times) / whole, min(times), max(times)))
    return sorted(shares, key=lambda share: -share.mean_ns)


def step_thread(trace: Trace) -> int:
    """The thread of the steps; where a trace has none, the one whose ops take longest. 0 for an empty trace."""
    of_track, slices = threads(trace), trace.slices
    rows = step_rows(trace)
    if len(rows):
        return int(of_track[slices.track[rows[0]]])
    rows = np.flatnonzero(op_slices(trace) & (slices.parent < 0))
    busy = np.bincount(of_track[slices.track[rows]], weights=slices.duration[rows]) if len(rows) else [0]
    return int(np.argmax(busy))


def bounds(trace: Trace) -> list[Step]:
    """The steps, or the whole trace as one step where it has none; empty where nothing happened."""
    begin, end = trace.span()
    return steps(trace) or ([Step(0, begin, end - begin)] if end > begin else [])


def part_covers(trace: Trace, thread: int) -> dict[str, Cover]:
    """Every part but `idle` over the whole trace: disjoint sets of moments of this thread."""
    slices = trace.slices
    own = threads(trace)[slices.track] == thread
    is_op = op_slices(trace)
    marked = own & _outside_devices(trace)
    nodes = is_node(trace)
    process = among(slices.track, of_process(trace, thread), len(trace.tracks))
    forward = _cover(trace, own & is_op & ~nodes & _is_top(trace, is_op | nodes)) | _cover(
        trace, marked & named(trace, _FORWARD)
    )
    steps_begin = slices.start[step_rows(trace)]
    backward = _closed(_cover(trace, own & nodes), forward, steps_begin)
    elsewhere = _closed(_cover(trace, process & ~own & nodes), forward, steps_begin)
    claims = {
        "gc": _cover(trace, own & (slices.category == trace.string_id("gc"))),
        "gil_wait": gil_wait_cover(trace, thread),
        "data_wait": _cover(trace, marked & named(trace, DATA)),
        "sync": _cover(trace, own & is_sync(trace)),
        "optimizer": _cover(trace, marked & named(trace, _OPTIMIZER)),
        "backward": backward | (elsewhere - forward),
        "forward": forward,
    }
    taken = NOTHING
    for part, claim in claims.items():
        claims[part] = claim - taken
        taken |= claim
    return claims


def is_node(trace: Trace) -> NDArray[np.bool_]:
    """Which slices are nodes of a backward pass, or mark one."""
    marked: NDArray[np.bool_] = trace.slices.category == trace.string_id("autograd")
    return marked | named(trace, _BACKWARD)


def is_sync(trace: Trace) -> NDArray[np.bool_]:
    """Which slices wait for a device: synchronisations, and calls to copy that lasted for half of the copy or more."""
    slices, flows = trace.slices, trace.flows
    waits = synchronizations(trace)
    middle = slices.start[flows.target] + slices.duration[flows.target] // 2
    blocking = flows.source[middle <= slices.end[flows.source]]
    waits[blocking] |= named(trace, _COPY)[blocking]
    return waits


def synchronizations(trace: Trace) -> NDArray[np.bool_]:
    """Which slices are calls that wait for a stream, an event or a device."""
    return named(trace, _SYNC)


def gil_wait_cover(trace: Trace, thread: int) -> Cover:
    """When a thread waited for the GIL."""
    waits = wait_rows(trace)
    of_thread = threads(trace)[thread_tracks(trace, waits)] == thread if len(waits) else np.zeros(0, dtype=bool)
    rows = waits[of_thread]
    return Cover.union(trace.slices.start[rows], trace.slices.duration[rows])


def _cover(trace: Trace, chosen: NDArray[np.bool_]) -> Cover:
    return Cover.union(trace.slices.start[chosen], trace.slices.duration[chosen])


def named(trace: Trace, pattern: re.Pattern[str]) -> NDArray[np.bool_]:
    """Which slices have a name that matches from its beginning."""
    matching = np.array([bool(pattern.match(text)) for text in trace.strings], dtype=bool)
    return matching[trace.slices.name] if len(trace.slices) else np.zeros(0, dtype=bool)


def _outside_devices(trace: Trace) -> NDArray[np.bool_]:
    on_device = [name for name, text in enumerate(trace.strings) if text.startswith("gpu_")]
    return ~among(trace.slices.category, on_device, len(trace.strings))


def _is_top(trace: Trace, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which slices have none of the `chosen` directly around them."""
    parent = trace.slices.parent
    return ~(np.where(parent >= 0, chosen[np.maximum(parent, 0)], False)) if len(parent) else chosen


def _closed(nodes: Cover, forward: Cover, steps_begin: Int64s) -> Cover:
    """Nodes of a pass and the time between them, where neither a forward op runs nor a step begins."""
    begin, end = nodes.gaps.start, nodes.gaps.end
    within = (forward.within(begin, end) == 0) & (
        np.searchsorted(steps_begin, begin, side="right") == np.searchsorted(steps_begin, end, side="right")
    )
    return nodes | Cover.union(begin[within], (end - begin)[within])
