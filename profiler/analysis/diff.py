"""Two traces of the same work: what one does more of, longer, or with more memory than the other."""

from dataclasses import dataclass

import numpy as np

from ..trace import Int64s, Trace
from .gil import wait_rows
from .memory import memory_curve
from .ops import by_name, ops
from .steps import Step, inside, steps


@dataclass(frozen=True, slots=True)
class OpDelta:
    """One op in both traces: calls, ns of self time and bytes allocated in one step."""

    name: str
    base_count: float
    head_count: float
    base_self_ns: float
    head_self_ns: float
    base_bytes: float
    head_bytes: float

    @property
    def count(self) -> float:
        return self.head_count - self.base_count

    @property
    def self_ns(self) -> float:
        return self.head_self_ns - self.base_self_ns

    @property
    def bytes(self) -> float:
        return self.head_bytes - self.base_bytes


@dataclass(frozen=True, slots=True)
class TraceDiff:
    """Means over steps, or over the whole trace where it has none; `ops` by falling difference in self time."""

    base_step_ns: float
    head_step_ns: float
    ops: tuple[OpDelta, ...]
    peak_bytes_base: int
    peak_bytes_head: int
    gil_wait_ns_base: float
    gil_wait_ns_head: float

    @property
    def step_ns(self) -> float:
        return self.head_step_ns - self.base_step_ns

    @property
    def elsewhere_ns(self) -> float:
        """The part of `step_ns` that is not in ops: Python between them, input, waiting."""
        return self.step_ns - sum(op.self_ns for op in self.ops)


@dataclass(frozen=True, slots=True)
class _Side:
    step_ns: float
    gil_wait_ns: float
    peak_bytes: int
    ops: dict[str, tuple[float, float, float]]  # count, self_ns, bytes


def diff(base: Trace, head: Trace) -> TraceDiff:
    """What `head` does differently from `base`, per step."""
    one, other = _side(base), _side(head)
    absent = (0.0, 0.0, 0.0)
    deltas = []
    for name in dict.fromkeys((*one.ops, *other.ops)):
        pairs = zip(one.ops.get(name, absent), other.ops.get(name, absent), strict=True)
        deltas.append(OpDelta(name, *(number for pair in pairs for number in pair)))
    deltas.sort(key=lambda delta: (-abs(delta.self_ns), delta.name))
    return TraceDiff(
        base_step_ns=one.step_ns,
        head_step_ns=other.step_ns,
        ops=tuple(deltas),
        peak_bytes_base=one.peak_bytes,
        peak_bytes_head=other.peak_bytes,
        gil_wait_ns_base=one.gil_wait_ns,
        gil_wait_ns_head=other.gil_wait_ns,
    )


def _side(trace: Trace) -> _Side:
    begin, end = trace.span()
    found = steps(trace) or [Step(0, begin, end - begin + 1)]
    count = len(found)
    columns = ops(trace)
    names = len(trace.strings)
    counted = inside(found, columns.start).astype(np.int64)
    calls = by_name(columns, counted, names)
    self_ns = by_name(columns, columns.self_ns * counted, names)
    size = by_name(columns, columns.allocated_bytes * counted, names)
    whole = bool(steps(trace))
    return _Side(
        step_ns=sum(step.duration for step in found) / count if whole else float(end - begin),
        gil_wait_ns=_waited(trace, found) / count,
        peak_bytes=memory_curve(trace).peak_bytes,
        ops={
            trace.strings[name]: (calls[name] / count, self_ns[name] / count, size[name] / count)
            for name in np.flatnonzero(calls).tolist()
        },
    )


def _waited(trace: Trace, found: list[Step]) -> float:
    rows = wait_rows(trace)
    duration: Int64s = trace.slices.duration[rows]
    return float(duration[inside(found, trace.slices.start[rows])].sum())
