"""Two traces of the same work: what one does more of, longer, or with more memory than the other."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..trace import Int64s, Trace
from .accounts import Account, account
from .gil import wait_rows
from .memory import memory_curve
from .op_tree import ABSENT, OpTree, Path, Sums, op_tree
from .ops import op_slices
from .parts import WAITS
from .paths import paths
from .steps import Step, inside, steps, usual

BILL_LINES = 40
OUTSIDE = "outside of ops"
GIL_WAIT, DATA_WAIT, SYNC = "GIL wait", "data wait", "device sync"
_WORDS = {"gc": "garbage collection", "gil_wait": GIL_WAIT, "data_wait": DATA_WAIT, "sync": SYNC}

Owner: TypeAlias = Literal["op", "wait", "outside", "others"]


@dataclass(frozen=True, slots=True)
class OpDelta:
    """One op in both traces, in one step: calls, ns of self time, bytes allocated."""

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
class BillLine:
    """One owner of time in a step (accounts.py) and by how much it changed, head less base.

    `name` is an op's, with those around it: `cross_entropy > sum`; or what was waited for. `ns` is of self time.
    """

    owner: Owner
    name: str
    ns: float
    count: float = 0.0
    bytes: float = 0.0
    gil_wait_ns: float = 0.0
    kernels: float = 0.0
    base_count: float = 0.0
    head_count: float = 0.0
    base_ns: float = 0.0


@dataclass(frozen=True, slots=True)
class TraceDiff:
    """Means over the usual steps (steps.usual), `left_out` being the others, or over the whole trace where it has none;
    `ops` by falling difference in self time.

    `bill`: its lines add up to `step_ns`, the largest change first; those that change least are one line at its end.
    `tree`: the same ops in those around them; its top and `beside` add up to the steps.
    """

    base_step_ns: float
    head_step_ns: float
    ops: tuple[OpDelta, ...]
    peak_bytes_base: int
    peak_bytes_head: int
    gil_wait_ns_base: float
    gil_wait_ns_head: float
    bill: tuple[BillLine, ...]
    left_out: int = 0
    tree: OpTree = field(default_factory=OpTree)

    @property
    def step_ns(self) -> float:
        return self.head_step_ns - self.base_step_ns

    @property
    def elsewhere_ns(self) -> float:
        """The part of `step_ns` that is not in ops: Python between them, input, waiting."""
        return self.step_ns - sum(op.self_ns for op in self.ops)

    @property
    def beside(self) -> tuple[BillLine, ...]:
        """The lines of the bill that are not ops': waits, and time outside of ops. They add up to `elsewhere_ns`."""
        return tuple(line for line in self.bill if line.owner in ("wait", "outside"))


@dataclass(frozen=True, slots=True)
class _Side:
    step_ns: float
    gil_wait_ns: float
    peak_bytes: int
    ops: dict[str, Sums]
    tree: dict[Path, Sums]
    beside: dict[str, float]  # ns that no op owns


def diff(base: Trace, head: Trace) -> TraceDiff:
    """What `head` does differently from `base`, per step: over the steps whose numbers both have, else over all."""
    common = {step.number for step in steps(base)} & {step.number for step in steps(head)}
    both = [[step for step in steps(trace) if step.number in common] for trace in (base, head)]
    kept = [usual(found) for found in both]
    one, other = _side(base, kept[0]), _side(head, kept[1])
    deltas = []
    for name in dict.fromkeys((*one.ops, *other.ops)):
        pairs = zip(one.ops.get(name, ABSENT), other.ops.get(name, ABSENT), strict=True)
        deltas.append(OpDelta(name, *[number for pair in pairs for number in pair][:6]))
    deltas.sort(key=lambda delta: (-abs(delta.self_ns), delta.name))
    return TraceDiff(
        base_step_ns=one.step_ns,
        head_step_ns=other.step_ns,
        ops=tuple(deltas),
        peak_bytes_base=one.peak_bytes,
        peak_bytes_head=other.peak_bytes,
        gil_wait_ns_base=one.gil_wait_ns,
        gil_wait_ns_head=other.gil_wait_ns,
        bill=tuple(_bill(one, other)),
        left_out=sum(map(len, both)) - sum(map(len, kept)),
        tree=op_tree(one.tree, other.tree),
    )


def _bill(base: _Side, head: _Side) -> list[BillLine]:
    lines = []
    for path in dict.fromkeys((*base.tree, *head.tree)):
        before, after = base.tree.get(path, ABSENT), head.tree.get(path, ABSENT)
        count, ns, size, waited, kernels = (b - a for a, b in zip(before, after, strict=True))
        name = " > ".join(path)
        lines.append(BillLine("op", name, ns, count, size, waited, kernels, before[0], after[0], before[1]))
    for name in head.beside:
        owner: Owner = "outside" if name == OUTSIDE else "wait"
        before_ns, after_ns = base.beside[name], head.beside[name]
        if before_ns or after_ns:
            lines.append(BillLine(owner, name, after_ns - before_ns, base_ns=before_ns))
    lines.sort(key=lambda line: (-abs(line.ns), -abs(line.bytes), -abs(line.count), line.name))
    shown = [line for place, line in enumerate(lines) if place < BILL_LINES or line.owner != "op"]
    rest = [line for line in lines[BILL_LINES:] if line.owner == "op"]
    if any(line.ns or line.count or line.bytes for line in rest):
        sums = [sum(getattr(line, key) for line in rest) for key in ("ns", "count", "bytes", "gil_wait_ns", "kernels")]
        shown.append(BillLine("others", f"{len(rest)} others", *sums))
    return shown


def _side(trace: Trace, only: list[Step]) -> _Side:
    owned = account(trace, only or None)
    count = max(len(owned.steps), 1)
    whole = not steps(trace)
    counted = np.ones(len(owned.ops.row), dtype=bool) if whole else inside(owned.steps, owned.ops.start)
    waits = wait_rows(trace)
    waited = trace.slices.duration[waits]
    if not whole:
        waited = waited[inside(owned.steps, trace.slices.start[waits])]
    around = paths(trace, op_slices(trace), trace.slices.name)
    strings = trace.strings
    return _Side(
        step_ns=owned.total_ns / count,
        gil_wait_ns=float(waited.sum()) / count,
        peak_bytes=memory_curve(trace).peak_bytes,
        ops={strings[n]: sums for n, sums in _sums(owned, owned.ops.name.astype(np.int64), counted, count).items()},
        tree={
            tuple(strings[key] for key in around.chain(path)): sums
            for path, sums in _sums(owned, around.of_slice[owned.ops.row], counted, count).items()
        },
        beside={
            **{_WORDS[part]: owned.waits[part] / count for part in WAITS},
            OUTSIDE: owned.outside_ns / count,
        },
    )


def _sums(owned: Account, group: Int64s, counted: NDArray[np.bool_], steps: int) -> dict[int, Sums]:
    """Means over steps for each group of ops, of those that began in a step or own some of its time."""
    columns = owned.ops
    measures = (
        counted,
        owned.self_ns,
        columns.allocated_bytes * counted,
        columns.gil_wait_ns * counted,
        columns.kernels * counted,
    )
    groups = int(group.max(initial=-1)) + 1
    sums = np.zeros((len(measures), groups), dtype=np.int64)
    for total, measure in zip(sums, measures, strict=True):
        np.add.at(total, group, measure)
    present = np.flatnonzero((sums[0] > 0) | (sums[1] != 0))
    means = (sums[:, present] / steps).T.tolist()
    return {name: (a, b, c, d, e) for name, (a, b, c, d, e) in zip(present.tolist(), means, strict=True)}
