"""Ratios with their intervals on one axis, as positions in percent for the compare page's table."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .views import VerdictRow

NARROWEST = 1.1


@dataclass(frozen=True)
class Axis:
    """A logarithmic axis of ratios from `low` to `high`; `one` is where 1 stands, in percent from the left."""

    low: float
    high: float

    @property
    def one(self) -> float:
        return self.at(1.0)

    def at(self, ratio: float) -> float:
        """Where `ratio` stands, in percent from the left, held inside of the axis."""
        place = math.log(max(ratio, self.low) / self.low) / math.log(self.high / self.low)
        return round(min(place, 1.0) * 100, 2)


@dataclass(frozen=True)
class Mark:
    """One row's interval, in percent of the axis: a line from `left`, `width` long, and a dot at `at`."""

    left: float
    width: float
    at: float


def axis(rows: Sequence[VerdictRow]) -> Axis:
    """An axis on which every interval fits, at least 1.1 to each side of 1."""
    ends = [end for row in rows for end in (row.low, row.high, row.ratio) if end is not None and end > 0]
    return Axis(min([1 / NARROWEST, *(end / 1.02 for end in ends)]), max([NARROWEST, *(end * 1.02 for end in ends)]))


def mark(row: VerdictRow, scale: Axis) -> Mark | None:
    """Where a row's interval is drawn; None where the row has no ratio."""
    if row.ratio is None:
        return None
    low, high = row.low or row.ratio, row.high or row.ratio
    return Mark(scale.at(low), round(scale.at(high) - scale.at(low), 2), scale.at(row.ratio))
