"""Ties the ends of Chrome flows to slices and pairs them into arrows."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..trace import Flows, Int32s, Int64s, Slices
from .findings import EXAMPLES, Example, Findings

START, FINISH = ord("s"), ord("f")
_AT_ONCE = 1 << 19  # points that are worked on together: what is needed beside them does not grow with the file


@dataclass(frozen=True, slots=True)
class FlowPoints:
    """Ends of flows: where they are on the timeline and in the file. Points of one flow have its group and id."""

    group: Int32s
    id: Int64s
    name: Int32s  # id into the strings
    phase: NDArray[np.uint8]  # the letter: s, t or f
    time: Int64s  # ns
    thread: Int32s
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
    groups, names, threads = (column.astype(np.int32) for column in (group, name, thread))
    return FlowPoints(groups, number, names, phase.astype(np.uint8), time, threads, place, at_next.astype(bool))


def joined(parts: Sequence[FlowPoints]) -> FlowPoints:
    """All of them."""
    parts = [part for part in parts if len(part)] or list(parts[:1])
    if len(parts) == 1:
        return parts[0]
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
    if np.any(points.place[1:] < points.place[:-1]):
        points = points.at(np.argsort(points.place, kind="stable"))
    rows = _Finder(slices, threads, places).rows_of(points)
    unbound = np.flatnonzero(rows < 0)
    findings.add("unbound-flow", len(unbound), points.told(unbound))
    order = np.lexsort((points.id, points.group))  # stable: in the order of the file
    lone: dict[str, list[Int64s]] = {"lone-flow-start": [], "lone-flow-end": []}
    found = [_bound(points.at(chosen), rows[chosen], chosen, lone) for chosen in _by_flow(points, order)]
    for kind, firsts in lone.items():
        of_kind = np.sort(np.concatenate([*firsts, order[:0]]))
        findings.add(kind, len(of_kind), points.told(of_kind))
    name, source, target = (
        np.concatenate([getattr(flows, column.name) for flows in found] or [np.empty(0, np.int64)])
        for column in fields(Flows)
    )
    order = np.lexsort((name, target, source))
    return Flows(name[order].astype(np.int32), source[order], target[order])


def _by_flow(points: FlowPoints, order: Int64s) -> Iterator[Int64s]:
    """Points by flow, as many at a time as make little work for the memory; no flow is cut."""
    changes = np.diff(points.id[order]) != 0
    changes |= np.diff(points.group[order]) != 0
    ends = np.append(np.flatnonzero(changes) + 1, len(order))
    at = 0
    while at < len(order):
        end = int(ends[min(int(np.searchsorted(ends, at + _AT_ONCE)), len(ends) - 1)])
        yield order[at:end]
        at = end


def _bound(points: FlowPoints, rows: Int64s, places: Int64s, lone: dict[str, list[Int64s]]) -> Flows:
    """The arrows of some flows, whose points stand one behind the other; `rows` are the slices of the points, `places`
    their places among all. The firsts of flows without a partner are added to `lone`."""
    group, number = points.group, points.id
    is_first = np.append(True, (group[1:] != group[:-1]) | (number[1:] != number[:-1]))
    flow = np.cumsum(is_first) - 1
    firsts = places[is_first]
    starts = np.bincount(flow, points.phase == START, len(firsts)).astype(np.int64)
    counts = np.bincount(flow, minlength=len(firsts))
    lone["lone-flow-start"].append(firsts[starts == counts])
    lone["lone-flow-end"].append(firsts[starts == 0])
    paired = (0 < starts[flow]) & (starts[flow] < counts[flow])
    return _arrows(points.at(paired), flow[paired], starts[flow[paired]], rows[paired])


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
    return Flows(name, source, target)


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
                for part in np.array_split(chosen, -(-len(chosen) // _AT_ONCE)):
                    found[part] = self._on_thread(self._lanes[thread], points.at(part))
        return found

    def _on_thread(self, lanes: list[Int64s], points: FlowPoints) -> Int64s:
        time = points.time
        rows = lanes[0] if len(lanes) == 1 else np.sort(np.concatenate(lanes))
        starts = self._slices.start[rows]
        first, after = np.searchsorted(starts, time), np.searchsorted(starts, time, side="right")
        found = np.full(len(time), -1, dtype=np.int64)
        is_next = points.at_next & (first < len(rows))
        found[is_next] = rows[first[is_next]]
        at_begin = ~is_next & (after > first)
        found[at_begin] = rows[after[at_begin] - 1]
        several = np.flatnonzero(at_begin & (after - first > 1))
        if len(several):
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
