"""Ties the ends of Chrome flows to slices and pairs them into arrows."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..trace import Flows, Int64s, Slices
from .findings import EXAMPLES, Example, Findings

START, FINISH = ord("s"), ord("f")


@dataclass(frozen=True, slots=True)
class FlowPoints:
    """Ends of flows: where they are on the timeline and in the file. Points of one flow have its group and id."""

    group: Int64s
    id: Int64s
    name: Int64s  # id into the strings
    phase: Int64s  # the letter: s, t or f
    time: Int64s  # ns
    thread: Int64s
    place: Int64s  # of the event in the file
    at_next: NDArray[np.bool_]  # it belongs to the next slice that begins, not to the one around it

    def __len__(self) -> int:
        return len(self.group)

    def at(self, chosen: NDArray[Any]) -> "FlowPoints":
        return FlowPoints(*(getattr(self, column.name)[chosen] for column in fields(self)))

    def told(self, chosen: Int64s) -> Iterator[Example]:
        """What findings say of the first of them."""
        for at in chosen[:EXAMPLES].tolist():
            yield f"event {self.place[at]:,} at {self.time[at]:,} ns", int(self.time[at])


def points_of(rows: Sequence[tuple[Any, ...]]) -> FlowPoints:
    """Points from one tuple each."""
    group, number, name, phase, time, thread, place, at_next = np.array(rows, dtype=np.int64).reshape(-1, 8).T
    return FlowPoints(group, number, name, phase, time, thread, place, at_next.astype(bool))


def joined(parts: Sequence[FlowPoints]) -> FlowPoints:
    """All of them."""
    return FlowPoints(
        *(np.concatenate([getattr(part, column.name) for part in parts]) for column in fields(FlowPoints))
    )


class FlowNames:
    """Numbers for the categories and names of flows, and for ids that are no numbers."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str, bool], int] = {}
        self._ids: dict[str, int] = {}

    def group(self, category: str, name: str, is_odd: bool = False) -> int:
        """Of the flows of a category and name whose ids are numbers, or those whose ids are not."""
        return self._groups.setdefault((category, name, is_odd), len(self._groups))

    def of(self, category: str, name: str, text: str) -> tuple[int, int]:
        """Group and id of the flow with that id, given as text."""
        is_number = text.removeprefix("-").isdecimal() and len(text) < 20
        if is_number and text == str(int(text)) and -(2**63) <= int(text) < 2**63:
            return self.group(category, name), int(text)
        return self.group(category, name, True), self._ids.setdefault(text, len(self._ids))


def bind(points: FlowPoints, slices: Slices, threads: Sequence[int], places: Int64s, findings: Findings) -> Flows:
    """The arrows between slices that `points` describe; ends that meet no slice or no partner are left out and found.

    `threads` holds the thread of every track, `places` the place in the file of every slice.
    """
    points = points.at(np.argsort(points.place, kind="stable"))
    rows = _Finder(slices, threads, places).rows_of(points)
    unbound = np.flatnonzero(rows < 0)
    findings.add("unbound-flow", len(unbound), points.told(unbound))
    order = np.lexsort((points.id, points.group))  # stable: in the order of the file
    group, number = points.group[order], points.id[order]
    is_first = np.append(True, (group[1:] != group[:-1]) | (number[1:] != number[:-1]))[: len(order)]
    flow = np.cumsum(is_first) - 1
    firsts = order[is_first]
    starts = np.bincount(flow, points.phase[order] == START, len(firsts)).astype(np.int64)
    counts = np.bincount(flow, minlength=len(firsts))
    for kind, lone in (("lone-flow-start", starts == counts), ("lone-flow-end", starts == 0)):
        of_kind = np.sort(firsts[lone])
        findings.add(kind, len(of_kind), points.told(of_kind))
    paired = (0 < starts[flow]) & (starts[flow] < counts[flow])
    return _arrows(points.at(order[paired]), flow[paired], starts[flow[paired]], rows[order[paired]])


def _arrows(points: FlowPoints, flow: Int64s, starts: Int64s, rows: Int64s) -> Flows:
    """The steps of each flow. A lone start comes first, whatever the clocks of devices say."""
    waits = (starts == 1) & (points.phase != START)
    order = np.lexsort((points.time, waits, flow))
    order = order[rows[order] >= 0]
    flow, rows, phase, name = flow[order], rows[order], points.phase[order], points.name[order]
    place = np.arange(len(order))
    last = np.maximum.accumulate(np.where(phase != FINISH, place, -1))
    source = np.append(-1, last[:-1])[: len(order)]
    leads = (phase != START) & (source >= 0) & (flow[source] == flow)
    source, target, name = rows[source[leads]], rows[leads], name[leads]
    order = np.lexsort((name, target, source))
    return Flows(name[order].astype(np.int32), source[order], target[order])


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

    def rows_of(self, points: FlowPoints) -> Int64s:
        """The slice row of each point, -1 where there is none."""
        found = np.full(len(points), -1, dtype=np.int64)
        by_thread = np.argsort(points.thread, kind="stable")
        threads, first = np.unique(points.thread[by_thread], return_index=True)
        for thread, chosen in zip(threads.tolist(), np.split(by_thread, first[1:]), strict=False):  # one of nothing
            if thread in self._lanes:
                found[chosen] = self._on_thread(self._lanes[thread], points.at(chosen))
        return found

    def _on_thread(self, lanes: list[Int64s], points: FlowPoints) -> Int64s:
        time = points.time
        rows = np.sort(np.concatenate(lanes))
        starts = self._slices.start[rows]
        first, after = np.searchsorted(starts, time), np.searchsorted(starts, time, side="right")
        found = np.full(len(time), -1, dtype=np.int64)
        is_next = points.at_next & (first < len(rows))
        found[is_next] = rows[first[is_next]]
        at_begin = ~is_next & (after > first)
        found[at_begin] = rows[after[at_begin] - 1]
        several = np.flatnonzero(at_begin & (after - first > 1))
        behind = self._written_behind(rows, time[several], points.place[several])
        found[several[behind >= 0]] = behind[behind >= 0]
        for lane in lanes:
            open_ends = np.flatnonzero((found < 0) & ~is_next & ~at_begin)
            found[open_ends] = self._around(time[open_ends], lane)
        return found

    def _written_behind(self, rows: Int64s, time: Int64s, place: Int64s) -> Int64s:
        """Of slices that begin at this very moment the one that each end was written behind, or -1: the innermost."""
        times = np.concatenate((self._slices.start[rows], time))
        order = np.lexsort((np.concatenate((self._places[rows], place)), times))
        is_slice = order < len(rows)
        last = np.maximum.accumulate(np.where(is_slice, np.arange(len(order)), -1))[~is_slice]
        ends = order[~is_slice] - len(rows)
        found = np.full(len(time), -1, dtype=np.int64)
        candidate = rows[order[last]]
        at_once = (last >= 0) & (self._slices.start[candidate] == time[ends])
        found[ends[at_once]] = candidate[at_once]
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
