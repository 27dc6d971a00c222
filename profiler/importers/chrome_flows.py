"""Ties the ends of Chrome flows to slices and pairs them into arrows."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from ..trace import Flows, Int64s, Slices
from .findings import Findings


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


def bind(
    points: Sequence[FlowPoint], slices: Slices, threads: Sequence[int], places: Int64s, findings: Findings
) -> Flows:
    """The arrows between slices that `points` describe; ends that meet no slice or no partner are left out and found.

    `threads` holds the thread of every track, `places` the place in the file of every slice.
    """
    finder = _Finder(slices, threads, places)
    by_key: dict[Hashable, list[FlowPoint]] = defaultdict(list)
    for point in points:
        by_key[point.key].append(point)
    found: list[tuple[int, int, int]] = []
    for group in by_key.values():
        phases = {point.phase for point in group}
        if phases == {"s"}:
            findings.add("lone-flow-start", examples=[_told(group[0])])
        elif "s" not in phases:
            findings.add("lone-flow-end", examples=[_told(group[0])])
        rows = [finder.row_of(point) for point in group]
        unbound = [point for point, row in zip(group, rows, strict=True) if row < 0]
        findings.add("unbound-flow", len(unbound), map(_told, unbound))
        found.extend(_pair(group, rows))
    found.sort()
    source, target, name = np.array(found, dtype=np.int64).reshape(-1, 3).T
    return Flows(name.astype(np.int32), source, target)


def _told(point: FlowPoint) -> str:
    return f"event {point.place:,} at {point.time:,} ns"


def _pair(group: list[FlowPoint], rows: list[int]) -> list[tuple[int, int, int]]:
    """(source, target, name) of each step of a flow. A lone start comes first, whatever the clocks of devices say."""
    starts = sum(point.phase == "s" for point in group)
    ends = sorted(zip(group, rows, strict=True), key=lambda end: (starts == 1 and end[0].phase != "s", end[0].time))
    arrows = []
    source = -1
    for point, row in ends:
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
        self._lanes: dict[int, list[Int64s]] = defaultdict(list)  # rows of each track of a thread
        by_track = np.argsort(slices.track, kind="stable")
        bounds = np.searchsorted(slices.track[by_track], np.arange(len(threads) + 1))
        for track, thread in enumerate(threads):
            self._lanes[thread].append(by_track[bounds[track] : bounds[track + 1]])
        self._all = {thread: np.sort(np.concatenate(rows)) for thread, rows in self._lanes.items()}
        self._starts = {thread: slices.start[rows].tolist() for thread, rows in self._all.items()}

    def row_of(self, point: FlowPoint) -> int:
        """The slice row of a point, -1 where there is none."""
        rows = self._all.get(point.thread)
        if rows is None:
            return -1
        starts = self._starts[point.thread]
        first, after = bisect_left(starts, point.time), bisect_right(starts, point.time)
        if point.at_next and first < len(rows):
            return int(rows[first])
        if after > first:
            # Of slices that begin at this very moment: the one that the end was written behind, else the innermost.
            written = self._places[rows[first:after]]
            before = np.flatnonzero(written < point.place)
            chosen = before[np.argmax(written[before])] if len(before) else after - first - 1
            return int(rows[first + chosen])
        around = (self._around(point.time, lane) for lane in self._lanes[point.thread])
        return next((row for row in around if row >= 0), -1)

    def _around(self, time: int, lane: Int64s) -> int:
        place = int(np.searchsorted(self._slices.start[lane], time)) - 1
        row = int(lane[place]) if place >= 0 else -1
        while row >= 0 and self._end[row] < time:
            row = int(self._slices.parent[row])
        return row
