"""Who encloses whom: depth and parent of slices on their tracks, and lanes for slices that cross."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

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
    open_ends: list[list[int]] = []
    chosen = np.zeros(len(start), dtype=np.int32)
    for row, (begin, length) in enumerate(zip(start.tolist(), duration.tolist(), strict=True)):
        chosen[row] = _take_lane(open_ends, begin, begin + length)
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


def _take_lane(open_ends: list[list[int]], begin: int, end: int) -> int:
    for lane, ends in enumerate(open_ends):
        while ends and ends[-1] <= begin:
            ends.pop()
        if not ends or ends[-1] >= end:
            ends.append(end)
            return lane
    open_ends.append([end])
    return len(open_ends) - 1
