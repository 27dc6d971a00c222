"""What the slices of a stretch of time add up to, by name."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    own = _self_times(slices.parent, rows, total)
    # Counting by a small number for each pair of category and name is ten times as fast as sorting a million pairs.
    categories, category = np.flatnonzero(np.bincount(slices.category)), np.zeros(len(trace.strings), dtype=np.int64)
    category[categories] = np.arange(len(categories))
    kind = category[slices.category[rows]] * len(trace.strings) + slices.name[rows]
    count, totals, selves = (_sums(kind, values) for values in (None, total, own))
    found = [
        NameTotal(
            name=trace.strings[code % len(trace.strings)],
            category=trace.strings[categories[code // len(trace.strings)]],
            count=int(count[code]),
            total_ns=int(totals[code]),
            self_ns=int(selves[code]),
        )
        for code in np.flatnonzero(count).tolist()
    ]
    found.sort(key=lambda each: (-each.self_ns, -each.total_ns, each.name))
    return StretchTotals(start, end, tuple(found), len(rows), int(own.sum()))


def _sums(kind: Int64s, values: Int64s | None) -> NDArray[Any]:
    return np.bincount(kind, values)  # floats count ns exactly up to 104 days


def _self_times(parent: Int64s, rows: Int64s, total: Int64s) -> Int64s:
    """`total` of each of `rows` less those of its children among them."""
    place = np.full(len(parent) + 1, -1, dtype=np.int64)  # the last one for a parent of -1
    place[rows] = np.arange(len(rows))
    outer = place[parent[rows]]
    inside = outer >= 0
    taken = np.bincount(outer[inside], total[inside], minlength=len(rows))
    own: Int64s = total - taken.astype(np.int64)
    return own
