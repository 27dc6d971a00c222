"""Which step of a trace is drawn, and the steps one can go to from it."""

from collections.abc import Sequence
from dataclasses import dataclass

from perflab.profiler.analysis.steps import Step

from .timeline import Window


@dataclass(frozen=True)
class Choice:
    """A step to go to; `step` is None where there is none."""

    label: str
    step: int | None
    current: bool = False


def chosen(steps: Sequence[Step], asked: int | None) -> Step | None:
    """The step asked for, or else the one of median duration; None where the trace has no such step."""
    if asked is not None:
        return next((step for step in steps if step.number == asked), None)
    return _by_length(steps)[(len(steps) - 1) // 2] if steps else None


def window(step: Step | None, span: tuple[int, int]) -> Window:
    """The stretch of the trace that a step covers; all of it where there is no step."""
    if step is None:
        return Window(span[0], max(span[1], span[0] + 1), "the trace")
    return Window(step.start, step.start + max(step.duration, 1), f"step {step.number}")


def choices(steps: Sequence[Step], current: Step | None) -> list[Choice]:
    """Previous, next, fastest, median and slowest step; empty for fewer than two steps."""
    if len(steps) < 2 or current is None:
        return []
    at = steps.index(current)
    return [
        Choice("previous", steps[at - 1].number if at > 0 else None),
        Choice("next", steps[at + 1].number if at + 1 < len(steps) else None),
        *named(steps, current),
    ]


def named(steps: Sequence[Step], current: Step | None) -> list[Choice]:
    """Fastest, median and slowest step, whether one is looked at or not; empty for fewer than two steps."""
    if len(steps) < 2:
        return []
    ordered = _by_length(steps)
    found = (("fastest", ordered[0]), ("median", ordered[(len(ordered) - 1) // 2]), ("slowest", ordered[-1]))
    return [Choice(label, step.number, step == current) for label, step in found]


def _by_length(steps: Sequence[Step]) -> list[Step]:
    return sorted(steps, key=lambda step: (step.duration, step.number))
