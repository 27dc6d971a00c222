"""Where a series of results over commits changed its level.

Each result in turn ends a window of the newest few, which the rank test holds against those before them: a single bad
run cannot raise an alarm, and a drift shows as soon as it has moved the window out of the noise of the others. What
comes before a change is not looked at again, so one cause is one change point.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .stats import least_p, rank_test

RECENT = 5  # results that must agree
BEFORE = 30  # results at most that they are held against
ALPHA = 1e-3  # of one test; a series is tested at each commit
MIN_EFFECT = 0.02


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A level that begins.

    Attributes:
        index: of the first result on the new level.
        ratio: the new level over the old one, medians; 1.07 is 7 % more.
        p_value: of the rank test that found it.
    """

    index: int
    ratio: float
    p_value: float


def change_points(values: Sequence[float], min_effect: float = MIN_EFFECT) -> list[ChangePoint]:
    """The change points of a series, by index.

    Args:
        values: one result for each commit, in their order, above zero; with others there is no ratio, and no change
            point is found.
        min_effect: the smallest change that matters, as a share.
    """
    found: list[ChangePoint] = []
    if not all(0 < value < math.inf for value in values):
        return found
    begin = 0  # of the level that is under way
    for end in range(1, len(values) + 1):
        recent = values[max(begin, end - RECENT) : end]
        before = values[max(begin, end - RECENT - BEFORE) : max(begin, end - RECENT)]
        if not before or least_p(len(before), len(recent)) > ALPHA:
            continue
        if not _differs(statistics.median(recent) / statistics.median(before), min_effect):
            continue
        p_value = rank_test(before, recent)
        if p_value > ALPHA:
            continue
        at = _split(values, begin, end)
        ratio = statistics.median(values[at:end]) / statistics.median(values[max(begin, at - BEFORE) : at])
        if _differs(ratio, min_effect):
            found.append(ChangePoint(at, ratio, p_value))
            begin = at
    return found


def _differs(ratio: float, min_effect: float) -> bool:
    return max(ratio, 1 / ratio) >= 1 + min_effect


def _split(values: Sequence[float], begin: int, end: int) -> int:
    """Where the level changed: the cut that leaves the least squares of logarithms around the means of both sides."""
    first = max(begin, end - 2 * RECENT - BEFORE)
    logs = np.log(np.asarray(values[first:end], float))
    count = np.arange(1, len(logs))
    left = np.cumsum(logs)[:-1]
    gain = left**2 / count + (logs.sum() - left) ** 2 / (len(logs) - count)
    # no later than what the test saw, no earlier than what it could not tell from it
    low, high = max(1, end - 2 * RECENT - first), end - first - RECENT + 1
    return first + low + int(np.argmax(gain[low - 1 : high]))
