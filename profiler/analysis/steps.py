"""Steps of the training loop, as `profile.step()` marks them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..trace import Int64s, Trace
from .among import among
from .threads import threads

STEP = "ProfilerStep#"  # begins the name of a step; its number follows


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its number, and where it lies in ns."""

    number: int
    start: int
    duration: int


def steps(trace: Trace) -> list[Step]:
    """The steps of a trace in time; empty where it has none. Their echoes on a device are not counted.

    Where several threads or processes mark steps, those of the one that marks the most.
    """
    numbers, slices = step_names(trace), trace.slices
    return [
        Step(numbers[int(slices.name[row])], int(slices.start[row]), int(slices.duration[row]))
        for row in step_rows(trace).tolist()
    ]


def usual(found: list[Step]) -> list[Step]:
    """Without those that take three times the median or more: a page fault or a neighbour held them up. Of fewer than
    five all.
    """
    if len(found) < 5:
        return found
    bound = 3 * np.median([step.duration for step in found])
    return [step for step in found if step.duration < bound]


def step_rows(trace: Trace) -> Int64s:
    """The slices that are the steps of `steps`."""
    slices = trace.slices
    on_device = [name for name, text in enumerate(trace.strings) if text.startswith("gpu_")]
    names = len(trace.strings)
    is_step = among(slices.name, step_names(trace), names) & ~among(slices.category, on_device, names)
    rows = np.flatnonzero(is_step)
    if not len(rows):
        return rows
    thread = threads(trace)[slices.track[rows]]
    chosen: Int64s = rows[thread == np.argmax(np.bincount(thread))]
    return chosen


def step_names(trace: Trace) -> dict[int, int]:
    """The numbers of the steps, by the string id of their names."""
    numbers = {}
    for name, text in enumerate(trace.strings):
        digits = text.removeprefix(STEP)
        if digits != text and digits.isascii() and digits.isdecimal():
            numbers[name] = int(digits)
    return numbers


def inside(found: list[Step], time: Int64s) -> NDArray[np.bool_]:
    """Which moments lie in one of the steps."""
    start = np.array([step.start for step in found], dtype=np.int64)
    end = start + np.array([step.duration for step in found], dtype=np.int64)
    place = np.searchsorted(start, time, side="right") - 1
    return (place >= 0) & (time < end[np.maximum(place, 0)]) if found else np.zeros(len(time), dtype=bool)
