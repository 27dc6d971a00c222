"""Ties the ends of Chrome flows to slices and pairs them into arrows."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from .trace import Flows, Int64s, Slices


@dataclass(frozen=True, slots=True)
class FlowPoint:
    """One end of a flow: where it is on the timeline and in the file."""

    key: Hashable  # the same for all points of a flow
    name: int  # id into the strings
    phase: str  # s, t or f
    time: int  # ns
    thread: int
    place: int  # of the event in the file
    at_next: bool  # it belongs to the next slice that begins, not to the one around it


def bind(points: Sequence[FlowPoint], slices: Slices, threads: Sequence[int], places: Int64s) -> Flows:
    """The arrows between slices that `points` describe; ends that meet no slice or no partner are left out.

    `threads` holds the thread of every track, `places` the place in the file of every slice.
    """
    finder = _Finder(slices, threads, places)
    by_key: dict[Hashable, list[FlowPoint]] = defaultdict(list)
    for point in points:
        by_key[point.key].append(point)
    found: list[tuple[int, int, int]] = []
    for group in by_key.values():
        found.extend(_pair(group, finder))
    found.sort()
    source, target, name = np.array(found, dtype=np.int64).reshape(-1, 3).T
    return Flows(name.astype(np.int32), source, target)


def _pair(group: list[FlowPoint], finder: "_Finder") -> list[tuple[int, int, int]]:
    """(source, target, name) of each step of a flow. A lone start comes first, whatever the clocks of devices say."""
    starts = sum(point.phase == "s" for point in group)
    group.sort(key=lambda point: (starts == 1 and point.phase != "s", point.time))
    arrows = []
    source = -1
    for point in group:
        row = finder.row_of(point)
        if row < 0:
            continue
        if point.phase != "s" and source >= 0:
            arrows.append((source, row, point.name))
        if point.phase != "f":
            source = row
    return arrows


class _Finder:
    """Finds the slice that a flow's end belongs to."""

    def __init__(self, slices: Slices, threads: Sequence[int], places: Int64s) -> None:
        self._slices = slices
        self._end = slices.end
        self._places = places
        self._lanes: dict[int, list[tuple[Int64s, list[int]]]] = defaultdict(list)
        by_track = np.argsort(slices.track, kind="stable")
        bounds = np.searchsorted(slices.track[by_track], np.arange(len(threads) + 1))
        for track, thread in enumerate(threads):
            rows = by_track[bounds[track] : bounds[track + 1]]
            self._lanes[thread].append((rows, slices.start[rows].tolist()))

    def row_of(self, point: FlowPoint) -> int:
        """The slice row of a point, -1 where there is none."""
        for rows, starts in self._lanes[point.thread]:
            row = self._row_in(point, rows, starts)
            if row >= 0:
                return row
        return -1

    def _row_in(self, point: FlowPoint, rows: Int64s, starts: list[int]) -> int:
        first, after = bisect_left(starts, point.time), bisect_right(starts, point.time)
        if point.at_next and first < len(rows):
            return int(rows[first])
        if after > first:
            # Of slices that begin at this very moment: the one that the end was written behind, else the innermost.
            written = self._places[rows[first:after]]
            before = np.flatnonzero(written < point.place)
            chosen = before[np.argmax(written[before])] if len(before) else after - first - 1
            return int(rows[first + chosen])
        row = int(rows[first - 1]) if first else -1
        while row >= 0 and self._end[row] < point.time:
            row = int(self._slices.parent[row])
        return row
