"""Lifetimes: the largest blocks around the peak of memory, from when to when each was there, and whose it was."""

from dataclasses import dataclass

import numpy as np

from ..trace import Trace
from .blocks import CATEGORIES, Blocks, blocks
from .memory import NO_MODULE, NO_OP
from .steps import steps

_LEAST = 0.002  # of the peak: what is smaller is left out


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A block: `start` is None where it was there before the trace began, `end` where it was not freed in it (ns)."""

    op: str
    module: str
    category: str
    bytes: int
    start: int | None
    end: int | None
    at_peak: bool


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """The largest blocks that were there in the step of the peak, or in the whole trace where no step holds the peak.

    `left_out` counts the others, which have `left_out_bytes` together.
    """

    start: int  # ns, of the stretch that was looked at
    end: int
    peak: int  # ns
    blocks: tuple[Lifetime, ...]
    left_out: int
    left_out_bytes: int


def lifetimes(trace: Trace, known: Blocks | None = None, limit: int = 32) -> Lifetimes | None:
    """The `limit` largest, the largest first; None where the trace has no allocations. `known` are its blocks, where
    they are at hand."""
    known = blocks(trace) if known is None else known
    if not len(known.time):
        return None
    change = int(np.argmax(known.total))
    peak = int(known.time[change])
    around = ((step.start, step.start + step.duration) for step in steps(trace))
    start, end = next((edges for edges in around if edges[0] <= peak <= edges[1]), trace.span())
    birth, death = known.moment(known.born), known.moment(known.died)
    there = np.flatnonzero((birth <= end) & (death >= start))
    ranked = there[np.argsort(-known.bytes[there], kind="stable")]
    shown = min(limit, int(np.count_nonzero(known.bytes[ranked] >= _LEAST * known.total[change])))
    found = tuple(_lifetime(trace, known, row, change) for row in ranked[:shown].tolist())
    rest = ranked[shown:]
    return Lifetimes(start, end, peak, found, len(rest), int(known.bytes[rest].sum()))


def _lifetime(trace: Trace, known: Blocks, row: int, peak: int) -> Lifetime:
    born, died, op, module = (int(column[row]) for column in (known.born, known.died, known.op, known.module))
    return Lifetime(
        op=trace.strings[trace.slices.name[op]] if op >= 0 else NO_OP,
        module=known.modules[module] if module >= 0 else NO_MODULE,
        category=CATEGORIES[known.category[row]],
        bytes=int(known.bytes[row]),
        start=int(known.time[born]) if born >= 0 else None,
        end=int(known.time[died]) if died < len(known.time) else None,
        at_peak=born <= peak < died,
    )
