"""Memory over time: how much, what for, and what was there when it was most."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..trace import Int64s, Trace
from .blocks import CATEGORIES, EARLIER, NEVER, Blocks, blocks, changes

RESIDENT = "RSS"  # name of the counter of what the system gave the process
NO_OP = "(no op)"
NO_MODULE = "(none)"


@dataclass(frozen=True, slots=True)
class MemoryCurve:
    """Bytes in use and bytes reserved at each change; times ascend. Empty where the trace knows no memory."""

    time: Int64s  # ns
    allocated: Int64s
    reserved: Int64s
    peak_index: int  # of the first highest value of `allocated`, -1 where empty
    peak_bytes: int

    @property
    def fragmentation(self) -> float:
        """The share of the reserved memory that was not in use when most was; 0 where the trace does not tell."""
        reserved = int(self.reserved[self.peak_index]) if self.peak_index >= 0 else 0
        return max(0.0, 1 - self.peak_bytes / reserved) if reserved else 0.0


@dataclass(frozen=True, slots=True)
class MemoryPeak:
    """What was in use at the peak, in bytes, the largest first; each of the three adds up to `bytes`.

    What was allocated before the trace began has the category `before`, and no op and no module.
    """

    time: int
    bytes: int
    by_category: dict[str, int]
    by_module: dict[str, int]
    by_op: dict[str, int]


@dataclass(frozen=True, slots=True)
class LiveBlock:
    """A block of memory that was in use; times in ns, None for what was there before the trace and what stayed.

    `op` and `module` are empty where the trace does not tell, and so is `stack`, Python's at the allocation with the
    innermost frame first, `file(line): function` for each.
    """

    bytes: int
    category: str
    op: str
    module: str
    allocated: int | None
    freed: int | None
    stack: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CategoryCurves:
    """Bytes in use by category after each change; `bytes` has a row for each of `categories`."""

    time: Int64s
    categories: tuple[str, ...]
    bytes: NDArray[np.int64]


def memory_curve(trace: Trace) -> MemoryCurve:
    """The curve of the counters `Allocated` and `Reserved`, or of the totals in torch's `[memory]` instants.

    Where a trace has both, or several devices, the curve is the one with the highest peak.
    """
    time, value = trace.counter("Allocated")
    allocated, reserved = value.astype(np.int64), value_at(time, *trace.counter("Reserved"))
    others = _from_instants(trace)
    if others[1].max(initial=-1) > allocated.max(initial=-1):
        time, allocated, reserved = others
    if not len(time):
        return MemoryCurve(time, allocated, reserved, -1, 0)
    peak = int(np.argmax(allocated))
    return MemoryCurve(time, allocated, reserved, peak, int(allocated[peak]))


def memory_peak(trace: Trace, known: Blocks | None = None) -> MemoryPeak | None:
    """Whose the peak was; None where the trace has no allocations. `known` are its blocks, where they are at hand."""
    known = blocks(trace) if known is None else known
    if not len(known.time):
        return None
    peak = int(np.argmax(known.total))
    there = np.flatnonzero((known.born <= peak) & (known.died > peak))
    size = known.bytes[there]
    rest = int(known.total[peak] - size.sum())
    ops = [trace.strings[trace.slices.name[row]] if row >= 0 else NO_OP for row in known.op[there].tolist()]
    names = [known.modules[number] if number >= 0 else NO_MODULE for number in known.module[there].tolist()]
    categories = [CATEGORIES[code] for code in known.category[there].tolist()]
    return MemoryPeak(
        time=int(known.time[peak]),
        bytes=int(known.total[peak]),
        by_category=_ranked(categories, size, EARLIER, rest),
        by_module=_ranked(names, size, NO_MODULE, rest),
        by_op=_ranked(ops, size, NO_OP, rest),
    )


def memory_snapshot(trace: Trace, time: int | None = None, known: Blocks | None = None) -> list[LiveBlock]:
    """What was in use at a moment (ns), or at the peak: the largest first. Empty where the trace has no allocations.

    Of what was there before the trace it has the blocks of which something is known.
    """
    known = blocks(trace) if known is None else known
    if not len(known.time):
        return []
    change = int(np.argmax(known.total)) if time is None else int(np.searchsorted(known.time, time, side="right")) - 1
    there = np.flatnonzero((known.born <= change) & (known.died > change))
    there = there[np.argsort(-known.bytes[there], kind="stable")]
    stacks = known.stacks(trace)
    columns = (known.bytes, known.category, known.op, known.module, known.born, known.died)
    return [
        LiveBlock(
            bytes=size,
            category=CATEGORIES[category],
            op=trace.strings[trace.slices.name[op]] if op >= 0 else "",
            module=known.modules[module] if module >= 0 else "",
            allocated=int(known.time[born]) if born >= 0 else None,
            freed=int(known.time[died]) if died < NEVER else None,
            stack=tuple(filter(None, stacks(op, born).split(";"))),
        )
        for size, category, op, module, born, died in zip(*(column[there].tolist() for column in columns), strict=True)
    ]


def category_curves(trace: Trace, known: Blocks | None = None) -> CategoryCurves:
    """What memory was for, over time; the rows add up to the total in use."""
    known = blocks(trace) if known is None else known
    change = np.zeros((len(CATEGORIES), len(known.time)), dtype=np.int64)
    within = known.born >= 0
    np.add.at(change, (known.category[within], known.born[within]), known.bytes[within])
    freed = known.died < len(known.time)
    np.subtract.at(change, (known.category[freed], known.died[freed]), known.bytes[freed])
    at_first = np.bincount(known.category[~within], known.bytes[~within], len(CATEGORIES)).astype(np.int64)
    held = np.cumsum(change, axis=1) + at_first[:, np.newaxis]
    if len(known.time):
        held[CATEGORIES.index(EARLIER)] += int(known.total[0] - held[:, 0].sum())
    used = np.flatnonzero(held.any(axis=1))
    return CategoryCurves(known.time, tuple(CATEGORIES[code] for code in used.tolist()), held[used])


def _ranked(labels: list[str], size: Int64s, rest_label: str, rest: int) -> dict[str, int]:
    sums: dict[str, int] = {rest_label: rest} if rest else {}
    for label, count in zip(labels, size.tolist(), strict=True):
        sums[label] = sums.get(label, 0) + count
    return dict(sorted(sums.items(), key=lambda pair: -pair[1]))


def value_at(time: Int64s, change: Int64s, value: NDArray[Any]) -> Int64s:
    """The value that held at each time, 0 before the first change."""
    place = np.searchsorted(change, time, side="right") - 1
    held = np.where(place >= 0, value[np.maximum(place, 0)], 0) if len(change) else np.zeros(len(time))
    return held.astype(np.int64)


def _from_instants(trace: Trace) -> tuple[Int64s, Int64s, Int64s]:
    rows, args = changes(trace), trace.instant_args
    if "Total Allocated" not in args or not len(rows):
        empty = np.empty(0, dtype=np.int64)
        return empty, empty, empty
    allocated, reserved = (
        args[key].dense(len(trace.instants))[rows] if key in args else np.zeros(len(rows), dtype=np.int64)
        for key in ("Total Allocated", "Total Reserved")
    )
    return trace.instants.time[rows], allocated, reserved
