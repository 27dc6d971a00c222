"""Ties the ends of Chrome flows to slices and pairs them into arrows."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..trace import Flows, Int64s, Slices
from .findings import Findings


class FlowPoint(NamedTuple):
    """One end of a flow: where it is on the timeline and in the file."""

    key: Hashable  # the same for all points of a flow
    name: int  # id into the strings
    phase: str  # s, t or f
    time: int  # ns
    thread: Hashable
    place: int  # of the event in the file
    at_next: bool  # it belongs to the next slice that begins, not to the one around it


def bind(
    points: Sequence[FlowPoint], slices: Slices, threads: Sequence[Hashable], places: Int64s, findings: Findings
) -> Flows:
    """The arrows between slices that `points` describe; ends that meet no slice or no partner are left out and found.

    `threads` holds the thread of every track, `places` the place in the file of every slice.
    """
    rows = _Finder(slices, threads, places).rows_of(points)
    findings.add("unbound-flow", rows.count(-1), (_told(points[at]) for at, row in enumerate(rows) if row < 0))
    by_key: dict[Hashable, list[tuple[FlowPoint, int]]] = defaultdict(list)
    for point, row in zip(points, rows, strict=True):
        by_key[point.key].append((point, row))
    found: list[tuple[int, int, int]] = []
    lone: dict[str, list[FlowPoint]] = {"lone-flow-start": [], "lone-flow-end": []}
    for ends in by_key.values():
        starts = sum(point.phase == "s" for point, _ in ends)
        if starts in (0, len(ends)):
            lone["lone-flow-start" if starts else "lone-flow-end"].append(ends[0][0])
        else:
            found.extend(_pair(ends, starts))
    for kind, first in lone.items():
        findings.add(kind, len(first), map(_told, first))
    found.sort()
    source, target, name = np.array(found, dtype=np.int64).reshape(-1, 3).T
    return Flows(name.astype(np.int32), source, target)


def _told(point: FlowPoint) -> str:
    return f"event {point.place:,} at {point.time:,} ns"


def _pair(ends: list[tuple[FlowPoint, int]], starts: int) -> list[tuple[int, int, int]]:
    """(source, target, name) of each step of a flow. A lone start comes first, whatever the clocks of devices say."""
    ends.sort(key=lambda end: (starts == 1 and end[0].phase != "s", end[0].time))
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
    """Finds the slices that ends of flows belong to, for all ends on a thread at once."""

    def __init__(self, slices: Slices, threads: Sequence[Hashable], places: Int64s) -> None:
        self._slices = slices
        self._end = slices.end
        self._places = places
        self._lanes: dict[Hashable, list[Int64s]] = defaultdict(list)  # rows of each track of a thread
        by_track = np.argsort(slices.track, kind="stable")
        bounds = np.searchsorted(slices.track[by_track], np.arange(len(threads) + 1))
        for track, thread in enumerate(threads):
            self._lanes[thread].append(by_track[bounds[track] : bounds[track + 1]])

    def rows_of(self, points: Sequence[FlowPoint]) -> list[int]:
        """The slice row of each point, -1 where there is none."""
        found = np.full(len(points), -1, dtype=np.int64)
        of_thread: dict[Hashable, list[int]] = defaultdict(list)
        for at, point in enumerate(points):
            of_thread[point.thread].append(at)
        time = np.array([point.time for point in points], dtype=np.int64)
        place = np.array([point.place for point in points], dtype=np.int64)
        at_next = np.array([point.at_next for point in points], dtype=bool)
        for thread, listed in of_thread.items():
            if thread in self._lanes:
                chosen = np.array(listed)
                found[chosen] = self._on_thread(self._lanes[thread], time[chosen], place[chosen], at_next[chosen])
        rows: list[int] = found.tolist()
        return rows

    def _on_thread(self, lanes: list[Int64s], time: Int64s, place: Int64s, at_next: NDArray[np.bool_]) -> Int64s:
        rows = np.sort(np.concatenate(lanes))
        starts = self._slices.start[rows]
        first, after = np.searchsorted(starts, time), np.searchsorted(starts, time, side="right")
        found = np.full(len(time), -1, dtype=np.int64)
        is_next = at_next & (first < len(rows))
        found[is_next] = rows[first[is_next]]
        at_begin = ~is_next & (after > first)
        found[at_begin] = rows[after[at_begin] - 1]
        for at in np.flatnonzero(at_begin & (after - first > 1)).tolist():
            # Of slices that begin at this very moment: the one that the end was written behind, else the innermost.
            written = self._places[rows[first[at] : after[at]]]
            before = np.flatnonzero(written < place[at])
            if len(before):
                found[at] = rows[first[at] + before[np.argmax(written[before])]]
        for lane in lanes:
            open_ends = np.flatnonzero((found < 0) & ~is_next & ~at_begin)
            found[open_ends] = self._around(time[open_ends], lane)
        return found

    def _around(self, time: Int64s, lane: Int64s) -> Int64s:
        """The innermost slice of a lane around each moment."""
        before = np.searchsorted(self._slices.start[lane], time) - 1
        rows = np.where(before >= 0, lane[before], -1) if len(lane) else np.full(len(time), -1, dtype=np.int64)
        climbing = np.flatnonzero(rows >= 0)
        while len(climbing):
            climbing = climbing[self._end[rows[climbing]] < time[climbing]]
            rows[climbing] = self._slices.parent[rows[climbing]]
            climbing = climbing[rows[climbing] >= 0]
        return rows
