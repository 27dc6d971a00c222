"""Where a series of results over commits changed its level.

Each result in turn ends a window of the newest few, which the rank test holds against those before them: a single bad
run cannot raise an alarm, and a drift shows as soon as it has moved the window out of the noise of the others. What
comes before a change is not looked at again, so one cause is one change point. `simulation.py` tells how often the rule
cries wolf and what it catches, beside other rules.
"""

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from .stats import least_p, rank_test

RECENT = 5  # results that must agree
BEFORE = 60  # results at most that they are held against
ALPHA = 1e-3  # of one test; a series is tested at each commit
MIN_EFFECT = 0.03
LEAST_BEFORE = next(count for count in range(1, BEFORE) if least_p(count, RECENT) <= ALPHA)


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A level that begins.

    Attributes:
        index: of the first result on the new level.
        ratio: the new level over the old one, medians; 1.07 is 7 % more.
        p_value: of the rank test that found it.
        seen: index of the result that told: the newest of those that had to agree.
    """

    index: int
    ratio: float
    p_value: float
    seen: int


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
    logs = np.log(np.asarray(values, float))
    begin = after = 0  # of the level that is under way; ends of windows up to there were looked at
    while change := next(_changes(values, logs, begin, after, min_effect), None):
        found.append(change)
        begin, after = change.index, change.seen + 1
    return found


def _changes(
    values: Sequence[float], logs: NDArray[np.float64], begin: int, after: int, min_effect: float
) -> Iterator[ChangePoint]:
    """Changes of the level that begins at `begin`, seen at index `after` or later."""
    for end in _suspicious(logs, begin, after):
        recent = values[end - RECENT : end]
        before = values[max(begin, end - RECENT - BEFORE) : end - RECENT]
        if not _differs(statistics.median(recent) / statistics.median(before), min_effect):
            continue
        p_value = rank_test(before, recent)
        if p_value > ALPHA:
            continue
        at = _split(logs, begin, end)
        ratio = statistics.median(values[at:end]) / statistics.median(values[max(begin, at - BEFORE) : at])
        if _differs(ratio, min_effect):
            yield ChangePoint(at, ratio, p_value, end - 1)


def _suspicious(logs: NDArray[np.float64], begin: int, after: int) -> list[int]:
    """Ends of the windows that the rank test may find different: all others are passed over without it."""
    first = max(after + 1, begin + LEAST_BEFORE + RECENT)
    if first > len(logs):
        return []
    # what lies before the level counts as nothing
    padded = np.concatenate([np.full(BEFORE, np.nan), logs[begin:]])
    windows = sliding_window_view(padded, BEFORE + RECENT)[first - RECENT - begin :]
    before, recent = windows[:, None, :BEFORE], windows[:, BEFORE:, None]
    above, below = (recent > before).sum((1, 2)), (recent < before).sum((1, 2))
    count = RECENT * np.minimum(np.arange(first, len(logs) + 1) - RECENT - begin, BEFORE)
    # ranks less far apart reach no p-value of ALPHA, with ties neither
    return (first + np.flatnonzero(np.abs(above - below) > 0.5 * count)).tolist()


def _differs(ratio: float, min_effect: float) -> bool:
    return max(ratio, 1 / ratio) >= 1 + min_effect


def _split(logs: NDArray[np.float64], begin: int, end: int) -> int:
    """Where the level changed: the cut that leaves the least squares around the means of both sides."""
    first = max(begin, end - 2 * RECENT - BEFORE)
    logs = logs[first:end]
    count = np.arange(1, len(logs))
    left = np.cumsum(logs)[:-1]
    gain = left**2 / count + (logs.sum() - left) ** 2 / (len(logs) - count)
    # no later than what the test saw, no earlier than what it could not tell from it
    low, high = max(1, end - 2 * RECENT - first), end - first - RECENT + 1
    return first + low + int(np.argmax(gain[low - 1 : high]))
