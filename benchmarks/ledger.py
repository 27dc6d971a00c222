"""The ledger of drifts: what got worse since the last release, in steps too small for any commit to be blamed.

A drift is no regression of head, so it does not fail a gate; it says what the next release would ship.
"""

import statistics
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from .history import ALPHA, RECENT
from .result import Direction
from .stats import Comparison, compare

AROUND = 20  # results at most, up to the release, that the newest are held against


@dataclass(frozen=True, slots=True)
class Release:
    """A tag, and the commits that it has behind it, its own among them."""

    name: str
    commits: Collection[str]


@dataclass(frozen=True, slots=True)
class Drift:
    """What became of a benchmark since a release.

    Attributes:
        since: the newest results over those up to the release.
        best: the newest results over the best level before them, as a ratio above 1 where it is worse by then.
    """

    since: Comparison
    best: float


def drift(values: Sequence[float], released: int, direction: Direction, min_effect: float) -> Drift | None:
    """The drift of a series, if there is one.

    Args:
        values: one for each commit, in their order, above zero.
        released: how many of them are at the release or before it.
        min_effect: the smallest change that matters, as a share.
    """
    before, recent = values[max(0, released - AROUND) : released], values[-RECENT:]
    if len(before) < RECENT or len(values) - released < RECENT:
        return None
    since = compare(before, recent, ALPHA)
    worse = since.ratio if direction == "lower" else 1 / since.ratio
    if since.p_value > ALPHA or worse < 1 + min_effect:
        return None
    levels = np.median(sliding_window_view(np.asarray(values[:-RECENT], float), RECENT), axis=1)
    now = statistics.median(recent)
    return Drift(since, now / float(levels.min()) if direction == "lower" else float(levels.max()) / now)
