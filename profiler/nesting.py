"""Who encloses whom: depth and parent of slices on their tracks, and lanes for slices that cross."""

from heapq import heappop, heappush
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
_NONE, _ANY = -(2**63), 2**63  # before and after every time

_BLOCK = 1 << 16  # slices looked at together: what is needed besides the result does not grow with the trace


def nest(start: Ints, duration: Ints, track: NDArray[np.int32]) -> tuple[NDArray[np.int32], Ints]:
    """Depth (int32, 0 at the top) and parent (int64 row or -1) of every slice.

    Rows must be sorted by (start, -duration); of two equal slices the earlier row encloses the later one.
    A slice is closed for those that start at its end, so a zero-length slice at that instant is its sibling.
    Where slices of one track cross, the parent does not enclose the child: `crossing` finds those rows.
    """
    count = len(start)
    depth = np.zeros(count, dtype=np.int32)
    parent = np.full(count, -1, dtype=np.int64)
    still_open = np.empty(0, dtype=np.int64)  # rows of earlier blocks that may enclose some of this one
    for begin in range(0, count, _BLOCK):
        fresh = np.arange(begin, min(begin + _BLOCK, count))
        rows = np.concatenate((still_open, fresh))
        block_depth, block_parent = _nest_block(start[rows], duration[rows], track[rows])
        depth[fresh] = block_depth[len(still_open) :]
        block_parent = block_parent[len(still_open) :]
        parent[fresh] = np.where(block_parent >= 0, rows[block_parent], -1)
        if fresh[-1] + 1 < count:
            still_open = rows[start[rows] + duration[rows] > start[fresh[-1] + 1]]
    return depth, parent


def _nest_block(start: Ints, duration: Ints, track: NDArray[np.int32]) -> tuple[NDArray[np.int32], Ints]:
    count = len(start)
    depth = np.zeros(count, dtype=np.int32)
    parent = np.full(count, -1, dtype=np.int64)
    by_track = np.argsort(track, kind="stable")
    bounds = np.flatnonzero(np.diff(track[by_track])) + 1
    for rows in np.split(by_track, bounds):
        track_depth, track_parent = _nest_one(start[rows], duration[rows])
        depth[rows] = track_depth
        parent[rows] = np.where(track_parent >= 0, rows[track_parent], -1)
    return depth, parent


def _nest_one(start: Ints, duration: Ints) -> tuple[Ints, Ints]:
    count = len(start)
    end = start + duration
    position = np.arange(count)
    # Slices before this one that are closed = all ends up to its start, less the zero-length ones from here on.
    closed = np.searchsorted(np.sort(end), start, side="right")
    empty_up_to = np.concatenate(([0], np.cumsum(duration == 0)))
    last_of_start = np.searchsorted(start, start, side="right")
    closed -= empty_up_to[last_of_start] - empty_up_to[position]
    depth = position - closed
    parent = np.full(count, -1, dtype=np.int64)
    by_depth = np.argsort(depth, kind="stable")
    levels = np.split(by_depth, np.flatnonzero(np.diff(depth[by_depth])) + 1)
    for above, level in pairwise(levels):
        parent[level] = above[np.searchsorted(above, level) - 1]
    return depth, parent


def crossing(start: Ints, duration: Ints, parent: Ints) -> Ints:
    """Rows that end after their parent does: slices that overlap another one without being inside it."""
    found = [np.empty(0, dtype=np.int64)]
    for begin in range(0, len(start), _BLOCK):
        inner = begin + np.flatnonzero(parent[begin : begin + _BLOCK] >= 0)
        outer = parent[inner]
        found.append(inner[start[inner] + duration[inner] > start[outer] + duration[outer]])
    return np.concatenate(found)


def lanes(start: Ints, duration: Ints) -> NDArray[np.int32]:
    """Lane (0, 1, ...) of each slice of one track, so that the slices of a lane nest.

    Rows must be sorted by (start, -duration). Each slice takes the first lane where it fits.
    """
    taken = _Lanes()
    chosen = np.zeros(len(start), dtype=np.int32)
    for row, (begin, length) in enumerate(zip(start.tolist(), duration.tolist(), strict=True)):
        chosen[row] = taken.take(begin, begin + length)
    return chosen


def trees(start: Ints, duration: Ints, group: Ints) -> NDArray[np.int32]:
    """Lane of each slice of one track, where groups above 0 may not push others aside: those of them that cross what is
    on lane 0 go to lanes of their own, a tree for each group. Rows must be sorted by (start, -duration)."""
    chosen = np.zeros(len(start), dtype=np.int32)
    others = np.flatnonzero(group == 0)
    chosen[others] = lanes(start[others], duration[others])
    used = int(chosen.max(initial=0)) + 1
    on_first = (group == 0) & (chosen == 0)
    for number in np.unique(group[group > 0]).tolist():
        own = group == number
        fits = _fitting(start, duration, own, on_first)
        on_first |= fits
        moved = np.flatnonzero(own & ~fits)
        if len(moved):
            chosen[moved] = used + lanes(start[moved], duration[moved])
            used = int(chosen.max()) + 1
    return chosen


def _fitting(start: Ints, duration: Ints, own: NDArray[np.bool_], there: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which of a group's slices nest with what is there, and of these the first that nest with each other."""
    rows, fixed = np.flatnonzero(own), np.flatnonzero(there)
    begin, end = start[rows], start[rows] + duration[rows]
    at_begin, at_end = (_innermost(start[fixed], duration[fixed], time) for time in (begin, end))
    fixed_end = start[fixed] + duration[fixed]
    crosses = np.zeros(len(rows), dtype=bool)
    if len(fixed):
        crosses = ((at_begin >= 0) & (fixed_end[at_begin] < end)) | ((at_end >= 0) & (start[fixed][at_end] > begin))
    rows = rows[~crosses]
    fits = np.zeros_like(own)
    fits[rows[lanes(start[rows], duration[rows]) == 0]] = True
    return fits


def _innermost(start: Ints, duration: Ints, time: Ints) -> Ints:
    """The innermost of slices that nest which begins before and ends after each time, or -1."""
    end = start + duration
    _, parent = _nest_one(start, duration)
    found = np.searchsorted(start, time) - 1
    climbing = np.flatnonzero(found >= 0)
    while len(climbing := climbing[end[found[climbing]] <= time[climbing]]):
        found[climbing] = parent[found[climbing]]
        climbing = climbing[found[climbing] >= 0]
    return found


class _Lanes:
    """Lanes with the slices that are open on each: as many steps a slice as the number of lanes has bits."""

    def __init__(self) -> None:
        self._open: list[list[int]] = []  # ends of what is open on each lane, innermost last
        self._ends: list[tuple[int, int]] = []  # a heap of all those ends, with their lanes
        # By lane, the latest end that fits; above two lanes, and so on up to 1, the later of theirs.
        self._room = [_NONE, _NONE]

    def take(self, begin: int, end: int) -> int:
        """The first lane on which nothing is open that ends before `end`; what begins earlier came before."""
        while self._ends and self._ends[0][0] <= begin:
            _, lane = heappop(self._ends)
            self._open[lane].pop()
            self._set_room(lane)
        lane = self._first(end) if self._room[1] >= end else self._new()
        self._open[lane].append(end)
        heappush(self._ends, (end, lane))
        self._set_room(lane)
        return lane

    def _first(self, end: int) -> int:
        at, leaves = 1, len(self._room) // 2
        while at < leaves:
            at *= 2
            at += self._room[at] < end
        return at - leaves

    def _new(self) -> int:
        lane = len(self._open)
        self._open.append([])
        if lane == len(self._room) // 2:
            self._room = [_NONE] * (4 * lane)
            for other in range(lane):
                self._set_room(other)
        return lane

    def _set_room(self, lane: int) -> None:
        at = lane + len(self._room) // 2
        self._room[at] = self._open[lane][-1] if self._open[lane] else _ANY
        while at := at // 2:
            self._room[at] = max(self._room[2 * at], self._room[2 * at + 1])
