"""Accounts: whose the time of the steps is. Each ns of the steps' thread goes to one owner: to waiting (of one of the
kinds of `parts.WAITS`), to an op, or to no op. So what changed between two traces is a bill whose lines add up.
"""

from dataclasses import dataclass

import numpy as np

from ..trace import Int64s, Trace
from .enclosing import nearest
from .intervals import Cover
from .ops import Ops, op_slices, ops
from .parts import WAITS, bounds, part_covers, step_thread
from .steps import Step
from .threads import of_process, threads


@dataclass(frozen=True, slots=True)
class Account:
    """The time of all steps together, in ns; `waits`, `self_ns` and `outside_ns` add up to `total_ns`.

    `self_ns` has one value for each row of `ops`: what the op, without the ops in it, took of the steps' time. Ops of
    other threads own what they did while the steps' thread ran none, such as the engine's of a backward pass.
    """

    steps: list[Step]
    total_ns: int
    waits: dict[str, int]
    ops: Ops
    self_ns: Int64s
    outside_ns: int


def account(trace: Trace, only: list[Step] | None = None) -> Account:
    """The account of a trace's steps (of these alone where given), or of the whole trace where it has none."""
    found = bounds(trace) if only is None else only
    columns = ops(trace)
    free = Cover.union(
        np.array([step.start for step in found], dtype=np.int64),
        np.array([step.duration for step in found], dtype=np.int64),
    )
    total = free.total
    self_ns = np.zeros(len(columns.row), dtype=np.int64)
    if not total:
        return Account(found, 0, dict.fromkeys(WAITS, 0), columns, self_ns, 0)
    thread = step_thread(trace)
    covers = part_covers(trace, thread)
    waits = {part: (covers[part] & free).total for part in WAITS}
    for part in WAITS:
        free -= covers[part]
    tops, parent = _tree(trace, columns)
    slices = trace.slices
    track = slices.track[columns.row]
    for number in _tracks(trace, thread, columns, tops):
        rows = np.flatnonzero(track == number)
        start, end = columns.start[rows], columns.start[rows] + columns.total_ns[rows]
        own = free.within(start, end)
        self_ns[rows] += own
        inner = parent[rows] >= 0
        np.subtract.at(self_ns, parent[rows[inner]], own[inner])
        outer = rows[tops[rows]]
        free -= Cover.union(columns.start[outer], columns.total_ns[outer])
    return Account(found, total, waits, columns, self_ns, free.total)


def _tree(trace: Trace, columns: Ops) -> tuple[np.ndarray, Int64s]:
    """Which ops have none around them, and the place in `columns` of the op around each of the others, else -1."""
    is_op = op_slices(trace)
    above = nearest(trace, trace.slices.parent[columns.row], is_op)
    place = np.full(len(trace.slices) + 1, -1, dtype=np.int64)
    place[columns.row] = np.arange(len(columns.row))
    return above < 0, place[above]


def _tracks(trace: Trace, thread: int, columns: Ops, tops: np.ndarray) -> list[int]:
    """The tracks of the process with ops: those of the thread first, then those whose ops take longest."""
    busy = np.bincount(
        trace.slices.track[columns.row[tops]], weights=columns.total_ns[tops], minlength=len(trace.tracks)
    )
    of_track = threads(trace)
    found = [track for track in of_process(trace, thread) if busy[track]]
    return sorted(found, key=lambda track: (of_track[track] != thread, -busy[track], track))
