"""Outliers: steps that took far longer than the others, and what was different in them."""

from dataclasses import dataclass

import numpy as np

from ..trace import Trace
from .accounts import account
from .parts import PARTS, StepParts, part_ns, step_parts

# A step stands out by the modified z-score 0.6745 (x - median) / MAD > 3.5 of Iglewicz and Hoaglin, "How to Detect and
# Handle Outliers" (1993), and if it takes at least 5 % longer than the median: a very steady loop has no outliers.
_SCORE, _SCALE, _RELEVANT = 3.5, 0.6745, 1.05
_FEWEST = 5  # steps, to speak of others
_OPS_NAMED = 5


@dataclass(frozen=True, slots=True)
class OpExcess:
    """What an op took more in a step than in a usual one: ns of self time, calls."""

    name: str
    ns: float
    count: float


@dataclass(frozen=True, slots=True)
class OutlierStep:
    """A step that took long. `parts` (parts.PARTS) add up to `excess_ns`, by which it is longer than the usual mean;
    `ops` are those that took most of it, the largest first."""

    number: int
    duration: int
    usual_ns: float
    parts: dict[str, float]
    ops: tuple[OpExcess, ...]

    @property
    def excess_ns(self) -> float:
        return self.duration - self.usual_ns


def outlier_steps(trace: Trace) -> list[OutlierStep]:
    """The steps that stand out, the longest first; none where there are fewer than five steps."""
    found = step_parts(trace)
    if len(found) < _FEWEST:
        return []
    duration = np.array([step.duration for step in found])
    middle = np.median(duration)
    spread = np.median(np.abs(duration - middle))
    stands_out = (_SCALE * (duration - middle) > _SCORE * spread) & (duration > _RELEVANT * middle)
    slow = np.flatnonzero(stands_out)
    if not len(slow):
        return []
    usual = {part: float(np.mean([part_ns(found[n], part) for n in np.flatnonzero(~stands_out)])) for part in PARTS}
    ops = _op_excess(trace, found, slow.tolist(), np.flatnonzero(~stands_out).tolist())
    outliers = [
        OutlierStep(
            number=found[n].number,
            duration=found[n].duration,
            usual_ns=sum(usual.values()),
            parts={part: part_ns(found[n], part) - usual[part] for part in PARTS},
            ops=ops[n],
        )
        for n in slow.tolist()
    ]
    return sorted(outliers, key=lambda step: -step.duration)


def _op_excess(
    trace: Trace, found: list[StepParts], slow: list[int], usual: list[int]
) -> dict[int, tuple[OpExcess, ...]]:
    """For each slow step the ops that took more than in a usual one."""
    owned = account(trace)
    columns, start = owned.ops, np.array([step.start for step in found])
    step = np.searchsorted(start, columns.start, side="right") - 1
    names, steps = len(trace.strings), len(found)
    inside = step >= 0
    group = step[inside] * names + columns.name[inside]
    time = np.bincount(group, weights=owned.self_ns[inside], minlength=names * steps).reshape(steps, names)
    calls = np.bincount(group, minlength=names * steps).reshape(steps, names)
    more_time, more_calls = time - time[usual].mean(axis=0), calls - calls[usual].mean(axis=0)
    excess = {}
    for n in slow:
        first = np.argsort(-more_time[n], kind="stable")[:_OPS_NAMED]
        excess[n] = tuple(
            OpExcess(trace.strings[name], float(more_time[n, name]), float(more_calls[n, name]))
            for name in first.tolist()
            if more_time[n, name] > 0
        )
    return excess
