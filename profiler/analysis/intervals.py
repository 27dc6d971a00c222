"""Sets of moments: disjoint intervals of time, joined, cut and measured without ever counting a moment twice."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..trace import Int64s

_NOTHING = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Cover:
    """Intervals [start, end) in ns that ascend and neither touch nor overlap; make one with `union`."""

    start: Int64s
    end: Int64s

    @classmethod
    def union(cls, start: Int64s, duration: Int64s) -> Self:
        """All moments that lie in at least one of these intervals."""
        some = duration > 0
        start, end = start[some], start[some] + duration[some]
        if not len(start):
            return cls(_NOTHING, _NOTHING)
        order = np.argsort(start, kind="stable")
        start, reach = start[order], np.maximum.accumulate(end[order])
        first = np.concatenate(([True], start[1:] > reach[:-1]))
        last = np.concatenate((first[1:], [True]))
        return cls(start[first], reach[last])

    def __len__(self) -> int:
        return len(self.start)

    @property
    def gaps(self) -> Self:
        """The time between them."""
        return type(self)(self.end[:-1], self.start[1:])

    @property
    def total(self) -> int:
        """Ns in all."""
        return int((self.end - self.start).sum())

    def within(self, start: Int64s, end: Int64s) -> Int64s:
        """Ns of these moments in each of the intervals [start, end)."""
        return self._before(end) - self._before(start)

    def _before(self, time: Int64s) -> Int64s:
        """Ns of these moments before each time."""
        if not len(self):
            return np.zeros(len(time), dtype=np.int64)
        begun = np.concatenate(([0], np.cumsum(self.end - self.start)))
        place = np.searchsorted(self.start, time, side="right")
        over = np.maximum(self.end[np.maximum(place, 1) - 1] - time, 0)
        before: Int64s = begun[place] - np.where(place > 0, over, 0)
        return before

    def holds(self, time: Int64s) -> NDArray[np.bool_]:
        """Which of the times lie in one of the intervals."""
        if not len(self):
            return np.zeros(len(time), dtype=bool)
        place = np.searchsorted(self.start, time, side="right") - 1
        inside: NDArray[np.bool_] = (place >= 0) & (time < self.end[np.maximum(place, 0)])
        return inside

    def __or__(self, other: Self) -> Self:
        start = np.concatenate((self.start, other.start))
        return type(self).union(start, np.concatenate((self.end, other.end)) - start)

    def __and__(self, other: Self) -> Self:
        bounds, mine, theirs = self._beside(other)
        return self._where(bounds, mine & theirs)

    def __sub__(self, other: Self) -> Self:
        bounds, mine, theirs = self._beside(other)
        return self._where(bounds, mine & ~theirs)

    def _beside(self, other: Self) -> tuple[Int64s, NDArray[np.bool_], NDArray[np.bool_]]:
        """Every bound of the two, and who holds the time from each bound to the next."""
        bounds = np.sort(np.concatenate((self.start, self.end, other.start, other.end)), kind="stable")  # merges
        return bounds, self.holds(bounds[:-1]), other.holds(bounds[:-1])

    def _where(self, bounds: Int64s, kept: NDArray[np.bool_]) -> Self:
        return type(self).union(bounds[:-1][kept], np.diff(bounds)[kept])


NOTHING = Cover(_NOTHING, _NOTHING)
