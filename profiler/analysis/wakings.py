"""Wakings: the moments at which a thread that had stopped went on, and who let it."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..trace import Int64s, Trace
from .gil import HELD, thread_tracks, wait_rows
from .parts import is_node, is_sync, part_covers, step_thread
from .threads import threads

SYNCED, GOT_GIL, PASSED = range(3)  # kinds: a device was waited for, the GIL, the backward pass of another thread
NOBODY = -1

_Columns: TypeAlias = tuple[Int64s, Int64s, Int64s, int, Int64s]  # thread, start, end, kind, other


@dataclass(frozen=True, slots=True)
class Wakings:
    """Those of one thread by their end: it did nothing from `start` to `end`, when `other` (or NOBODY) woke it."""

    start: Int64s
    end: Int64s
    kind: Int64s
    other: Int64s


def wakings(trace: Trace) -> dict[int, Wakings]:
    """Those of each thread that has any."""
    of_track = threads(trace)
    columns = [_gil(trace, of_track), _syncs(trace, of_track), *_passes(trace, of_track)]
    thread, start, end, other = (np.concatenate([column[n] for column in columns]) for n in (0, 1, 2, 4))
    kind = np.concatenate([np.full(len(column[0]), column[3]) for column in columns])
    order = np.lexsort((start, end))
    found = {}
    for number in np.unique(thread).tolist():
        own = order[thread[order] == number]
        found[number] = Wakings(start[own], end[own], kind[own], other[own])
    return found


def _gil(trace: Trace, of_track: Int64s) -> _Columns:
    """Who waited for the GIL was woken by the other thread that held it last."""
    slices = trace.slices
    waits = wait_rows(trace)
    start, end = slices.start[waits], slices.end[waits]
    waiter = of_track[thread_tracks(trace, waits)]
    held = np.array([text.startswith(HELD) for text in trace.strings], dtype=bool)
    holds = np.flatnonzero(held[slices.name]) if len(slices) else waits
    holds = holds[np.argsort(slices.end[holds], kind="stable")]
    other = np.full(len(waits), NOBODY, dtype=np.int64)
    if len(holds) and len(waits):
        holder, released = of_track[thread_tracks(trace, holds)], slices.end[holds]
        place = np.searchsorted(released, end, side="right") - 1
        # where that is the waiter itself, whoever held it before the waiter's last holds in a row
        changes = np.concatenate(([True], holder[1:] != holder[:-1]))
        before = np.maximum.accumulate(np.where(changes, np.arange(len(holds)), 0)) - 1
        place = np.where((place >= 0) & (holder[place] == waiter), before[place], place)
        known = (place >= 0) & (released[place] >= start)
        other[known] = holder[place[known]]
    return waiter, start, end, GOT_GIL, other


def _syncs(trace: Trace, of_track: Int64s) -> _Columns:
    slices = trace.slices
    rows = np.flatnonzero(is_sync(trace))
    nobody = np.full(len(rows), NOBODY, dtype=np.int64)
    return of_track[slices.track[rows]] if len(rows) else rows, slices.start[rows], slices.end[rows], SYNCED, nobody


def _passes(trace: Trace, of_track: Int64s) -> list[_Columns]:
    """A backward pass on a thread of its own: the steps' thread woke that, and is woken by it."""
    slices, main = trace.slices, step_thread(trace)
    nodes = np.flatnonzero(is_node(trace) & (slices.parent < 0))
    nodes = nodes[of_track[slices.track[nodes]] != main] if len(nodes) else nodes
    cover = part_covers(trace, main)["backward"]
    low, high = (np.searchsorted(slices.start[nodes], times) for times in (cover.start, cover.end))
    some = low < high
    engine = of_track[slices.track[nodes[high[some] - 1]]] if len(nodes) else nodes[:0]
    begin, end = cover.start[some], cover.end[some]
    return [
        (np.full(len(engine), main), begin, end, PASSED, engine),
        (engine, begin, begin, PASSED, np.full(len(engine), main)),
    ]
