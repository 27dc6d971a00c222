"""Growth: steps that end with more memory in use than they began with, and who owns what stayed."""

from dataclasses import dataclass
from statistics import median

import numpy as np

from ..trace import Trace
from .blocks import NEVER, Blocks, blocks
from .memory import NO_MODULE, NO_OP
from .steps import Step, steps

_FEWEST = 3  # steps that must all grow, to call it a leak


@dataclass(frozen=True, slots=True)
class StepMemory:
    """Bytes in use when a step began, at most in it, and when it ended."""

    number: int
    begin_bytes: int
    peak_bytes: int
    end_bytes: int

    @property
    def growth(self) -> int:
        return self.end_bytes - self.begin_bytes


@dataclass(frozen=True, slots=True)
class Survivor:
    """An op of a module whose results stayed: bytes and blocks of one step, a mean."""

    op: str
    module: str
    bytes: float
    blocks: float


@dataclass(frozen=True, slots=True)
class Growth:
    """The memory of each step. `leak_bytes`: the median growth of a step where every step but the first grew, else 0;
    `survivors` own it, the largest first: what was allocated in the steps between first and last and never freed."""

    steps: tuple[StepMemory, ...]
    leak_bytes: int
    survivors: tuple[Survivor, ...]


def growth(trace: Trace, known: Blocks | None = None) -> Growth:
    """How memory grows from step to step; empty where a trace has no steps or no allocations.

    The first step is no leak: optimizers make their state in it. `known` are the blocks, where they are at hand.
    """
    known = blocks(trace) if known is None else known
    found = steps(trace)
    if not found or not len(known.time):
        return Growth((), 0, ())
    before = int(known.total[0] - _first_change(known))
    totals = np.concatenate(([before], known.total))
    held = []
    for step in found:
        begin, end = np.searchsorted(known.time, (step.start, step.start + step.duration))
        held.append(StepMemory(step.number, int(totals[begin]), int(totals[begin : end + 1].max()), int(totals[end])))
    later = [step.growth for step in held[1:]]
    leaks = len(later) >= _FEWEST and min(later) > 0
    return Growth(tuple(held), round(median(later)) if leaks else 0, _survivors(trace, known, found) if leaks else ())


def _first_change(known: Blocks) -> int:
    allocated = known.bytes[known.born == 0].sum()
    return int(allocated - known.bytes[known.died == 0].sum())


def _survivors(trace: Trace, known: Blocks, found: list[Step]) -> tuple[Survivor, ...]:
    middle = found[1:-1]
    begin, end = middle[0].start, middle[-1].start + middle[-1].duration
    birth = known.moment(known.born)
    rows = np.flatnonzero((birth >= begin) & (birth < end) & (known.died == NEVER))
    sums: dict[tuple[int, int], list[int]] = {}
    for op, module, size in zip(
        known.op[rows].tolist(), known.module[rows].tolist(), known.bytes[rows].tolist(), strict=True
    ):
        sums.setdefault((int(trace.slices.name[op]) if op >= 0 else -1, module), []).append(size)
    owners = [
        Survivor(
            trace.strings[name] if name >= 0 else NO_OP,
            known.modules[module] if module >= 0 else NO_MODULE,
            sum(sizes) / len(middle),
            len(sizes) / len(middle),
        )
        for (name, module), sizes in sums.items()
    ]
    return tuple(sorted(owners, key=lambda owner: -owner.bytes))
