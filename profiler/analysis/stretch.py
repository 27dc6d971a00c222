"""What the slices of a stretch of time add up to, by name."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from ..trace import Int64s, Trace


@dataclass(frozen=True, slots=True)
class NameTotal:
    """All slices of one name and category: how many touch the stretch, and the ns of them inside of it.

    `self_ns` is without what the slices directly inside of them took.
    """

    name: str
    category: str
    count: int
    total_ns: int
    self_ns: int


@dataclass(frozen=True, slots=True)
class StretchTotals:
    """By falling self time; the sums are over all names, of slices that touch [start, end)."""

    start: int
    end: int
    names: tuple[NameTotal, ...]
    count: int
    self_ns: int


def stretch_totals(trace: Trace, start: int, end: int, tracks: Collection[int] | None = None) -> StretchTotals:
    """Sum the slices that touch [start, end) by name, each clipped to it; of some tracks only, or of all."""
    slices = trace.slices
    touches = (slices.start < end) & (slices.end > start) | (slices.start >= start) & (slices.start < end)
    if tracks is not None:
        touches &= np.isin(slices.track, list(tracks))
    rows = np.flatnonzero(touches)
    total = np.minimum(slices.end[rows], end) - np.maximum(slices.start[rows], start)
    own = self_times(slices.parent[rows], rows, total)
    codes = slices.category[rows].astype(np.int64) * len(trace.strings) + slices.name[rows]
    kinds, kind, count = np.unique(codes, return_inverse=True, return_counts=True)
    totals, selves = (np.zeros(len(kinds), dtype=np.int64) for _ in range(2))
    np.add.at(totals, kind, total)
    np.add.at(selves, kind, own)
    found = [
        NameTotal(
            name=trace.strings[code % len(trace.strings)],
            category=trace.strings[code // len(trace.strings)],
            count=int(count[place]),
            total_ns=int(totals[place]),
            self_ns=int(selves[place]),
        )
        for place, code in enumerate(kinds.tolist())
    ]
    found.sort(key=lambda each: (-each.self_ns, -each.total_ns, each.name))
    return StretchTotals(start, end, tuple(found), len(rows), int(own.sum()))


def self_times(parent: Int64s, rows: Int64s, total: Int64s) -> Int64s:
    """`total` of each of the ascending `rows` less those of its children among them."""
    own = total.copy()
    place = np.searchsorted(rows, parent)
    inside = (parent >= 0) & (place < len(rows))
    inside[inside] = rows[place[inside]] == parent[inside]
    np.subtract.at(own, place[inside], total[inside])
    return own
