"""Which slice is around another one, or around a moment."""

import numpy as np
from numpy.typing import NDArray

from ..trace import Int64s, Trace


def nearest(trace: Trace, rows: Int64s, wanted: NDArray[np.bool_]) -> Int64s:
    """For each slice row (or -1) the row itself or its nearest ancestor among the `wanted` rows, else -1."""
    found = rows.copy()
    climbing = np.flatnonzero(found >= 0)
    while len(climbing):
        climbing = climbing[~wanted[found[climbing]]]
        found[climbing] = trace.slices.parent[found[climbing]]
        climbing = climbing[found[climbing] >= 0]
    return found


def outermost(trace: Trace, rows: Int64s, group: Int64s) -> NDArray[np.bool_]:
    """Which of the slice rows lie in no other of their group; `group` has one for each row."""
    groups = np.full(len(trace.slices) + 1, -1, dtype=np.int64)
    groups[rows] = group
    found = np.ones(len(rows), dtype=bool)
    above, climbing = trace.slices.parent[rows], np.arange(len(rows))
    while len(climbing):
        above, climbing = above[above >= 0], climbing[above >= 0]
        same = groups[above] == group[climbing]
        found[climbing[same]] = False
        above, climbing = trace.slices.parent[above[~same]], climbing[~same]
    return found


def innermost(trace: Trace, track: NDArray[np.integer], time: Int64s) -> Int64s:
    """The deepest slice around each moment on its track, -1 where there is none; ends belong to their slice."""
    slices = trace.slices
    found = np.full(len(time), -1, dtype=np.int64)
    by_track = np.argsort(slices.track, kind="stable")
    bounds = np.searchsorted(slices.track[by_track], np.arange(len(trace.tracks) + 1))
    for number in np.unique(track):
        rows = by_track[bounds[number] : bounds[number + 1]]
        chosen = np.flatnonzero(track == number)
        place = np.searchsorted(slices.start[rows], time[chosen], side="right") - 1
        found[chosen] = np.where(place >= 0, rows[np.maximum(place, 0)], -1) if len(rows) else -1
    end = slices.end
    climbing = np.flatnonzero(found >= 0)
    while len(climbing):
        climbing = climbing[end[found[climbing]] < time[climbing]]
        found[climbing] = slices.parent[found[climbing]]
        climbing = climbing[found[climbing] >= 0]
    return found
