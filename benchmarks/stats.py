"""Compares two groups of runs of one benchmark, and says what that means.

The unit is the process: each run gives one value, its best sample. Rounds inside one process share its
memory layout, hash seed and warm-up; a rank test over them calls identical code different in a third of all cases,
whatever alpha.

- Significant: Mann-Whitney's rank test, two-sided and exact (H. B. Mann, D. R. Whitney, Ann. Math. Statist. 18, 1947,
  50-60). With ties it is the exact permutation test of the midranks, counted by the shift algorithm (B. Streitberg,
  J. Roehmel, Statist. Software Newsl. 12, 1986, 10-17).
- How much: the median of all ratios head / base (J. L. Hodges, E. L. Lehmann, Ann. Math. Statist. 34, 1963, 598-611,
  on logarithms), with the interval that inverts the same test (D. F. Bauer, J. Amer. Statist. Assoc. 67, 1972,
  687-690).
- Many benchmarks at once: Holm's step-down correction (S. Holm, Scand. J. Statist. 6, 1979, 65-70) keeps the chance
  of even one false verdict in a whole suite below alpha.

A verdict of regression or improvement needs both: a corrected p-value of at most alpha and a ratio of at least the
minimum effect. A rank test over few runs cannot say yes, however large the difference: 3 + 3 runs never give less
than p = 0.1. The default alpha of 0.05 needs, a side, 4 runs for 1 benchmark, 5 for up to 6, 6 for up to 23, 7 for up
to 85, 8 for up to 321. Five processes a side are the default design.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

import numpy as np
from numpy.typing import NDArray

from .result import Direction

# above this many runs the exact count takes longer than it is worth and the normal approximation is within 1e-3 of it
EXACT_UP_TO = 80


class Verdict(StrEnum):
    """What a comparison of one benchmark says."""

    REGRESSION = "regression"
    WAIVED = "waived"
    DRIFT = "drift"
    IMPROVEMENT = "improvement"
    NO_CHANGE = "no change"
    NOT_ENOUGH_SAMPLES = "not enough samples"
    NEW = "new"
    MISSING = "missing"
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Head against base, one benchmark.

    Attributes:
        ratio: head / base; 1.07 is 7 % more.
        low, high: confidence interval of the ratio at 1 - alpha; None where there are too few runs for one.
        p_value: chance of ranks this far apart, or further, if nothing had changed; two-sided, not yet corrected.
        n_base, n_head: runs a side.
    """

    ratio: float
    low: float | None
    high: float | None
    p_value: float
    n_base: int
    n_head: int


def compare(base: Sequence[float], head: Sequence[float], alpha: float = 0.05) -> Comparison:
    """Compares one value a run, at least one a side, all above zero.

    Raises:
        ValueError: a side is empty, or a value is not above zero (it has no ratio).
    """
    if not base or not head:
        raise ValueError(f"compare: {len(base)} base and {len(head)} head values; give at least one of each")
    least = min(*base, *head)
    if not least > 0:
        raise ValueError(
            f"compare: a value is {least:g} and ratios need values above zero; measure more work in a sample"
        )
    ratios = np.sort(np.divide.outer(np.asarray(head, float), np.asarray(base, float)), axis=None)
    # on logarithms, so that swapping the sides gives exactly the inverse
    ratio = math.exp(statistics.median(np.log(ratios).tolist()))
    cut = _interval_rank(len(base), len(head), alpha)
    low, high = (float(ratios[cut - 1]), float(ratios[-cut])) if cut else (None, None)
    return Comparison(ratio, low, high, rank_test(base, head), len(base), len(head))


def rank_test(base: Sequence[float], head: Sequence[float]) -> float:
    """Two-sided p-value of Mann-Whitney's test; exact up to 80 values, with ties too."""
    values = np.concatenate([np.asarray(base, float), np.asarray(head, float)])
    ranks = _doubled_midranks(values)
    n, total = len(head), len(values)
    rank_sum = int(ranks[len(base) :].sum())
    if total > EXACT_UP_TO:
        return _normal_p(rank_sum, ranks, n)
    if (np.diff(np.sort(values)) > 0).all():
        distribution, at = _distribution(len(base), n), (rank_sum - n * (n + 1)) // 2
    else:
        distribution, at = _rank_sums(ranks, n), rank_sum
    tail = min(float(distribution[: at + 1].sum()), float(distribution[at:].sum()))
    return min(1.0, 2 * tail)


def least_p(n_base: int, n_head: int) -> float:
    """The smallest p-value that the rank test can give with so many runs."""
    return min(1.0, 2 / math.comb(n_base + n_head, n_head))


def runs_needed(alpha: float, benchmarks: int = 1) -> int:
    """Runs a side without which the corrected test of so many benchmarks can never reach alpha."""
    n = 1
    while least_p(n, n) * max(benchmarks, 1) > alpha:
        n += 1
    return n


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values corrected for their number, in the order given; each can be compared with alpha."""
    corrected, least, count = [0.0] * len(p_values), 0.0, len(p_values)
    for step, index in enumerate(sorted(range(count), key=p_values.__getitem__)):
        least = max(least, min(1.0, (count - step) * p_values[index]))
        corrected[index] = least
    return corrected


def verdict(
    comparison: Comparison,
    corrected_p: float,
    *,
    direction: Direction = "lower",
    benchmarks: int = 1,
    alpha: float = 0.05,
    min_effect: float = 0.03,
) -> Verdict:
    """What the comparison says, given its p-value corrected for the number of `benchmarks` compared with it.

    `min_effect` 0.03 means a ratio of at least 1.03, or at most 1 / 1.03.
    """
    if corrected_p > alpha:
        reachable = least_p(comparison.n_base, comparison.n_head) * benchmarks <= alpha
        return Verdict.NO_CHANGE if reachable else Verdict.NOT_ENOUGH_SAMPLES
    worse = comparison.ratio if direction == "lower" else 1 / comparison.ratio
    if worse >= 1 + min_effect:
        return Verdict.REGRESSION
    return Verdict.IMPROVEMENT if 1 / worse >= 1 + min_effect else Verdict.NO_CHANGE


def _doubled_midranks(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Twice the rank of each value from 1, ties sharing their mean rank: whole numbers."""
    ordered = np.sort(values)
    below = np.searchsorted(ordered, values, side="left")
    return np.asarray(below + np.searchsorted(ordered, values, side="right") + 1, dtype=np.int64)


def _rank_sums(ranks: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    """Chance of each sum of n of these ranks, all choices being equal: the shift algorithm."""
    counts = np.zeros((n + 1, int(ranks.sum()) + 1))
    counts[0, 0] = 1
    for rank in ranks.tolist():
        # from a copy: each rank is taken once
        counts[1:, rank:] += counts[:-1, : counts.shape[1] - rank].copy()
    chances: NDArray[np.float64] = counts[n] / math.comb(len(ranks), n)
    return chances


@cache
def _distribution(n_base: int, n_head: int) -> NDArray[np.float64]:
    """Chance of each U from 0 to n_base * n_head without ties."""
    least = n_head * (n_head + 1) // 2
    ranks = np.arange(1, n_base + n_head + 1, dtype=np.int64)
    return _rank_sums(ranks, n_head)[least : least + n_base * n_head + 1]


def _normal_p(rank_sum: int, ranks: NDArray[np.int64], n: int) -> float:
    """The test by the normal approximation, with the exact variance of these (tied) ranks and half a rank of
    continuity."""
    total = len(ranks)
    variance = n * (total - n) / (total * (total - 1)) * float(((ranks - ranks.mean()) ** 2).sum())
    if variance == 0:
        return 1.0
    distance = max(0.0, abs(rank_sum - n * float(ranks.mean())) - 1)
    return math.erfc(distance / math.sqrt(2 * variance))


def _interval_rank(n_base: int, n_head: int, alpha: float) -> int:
    """Which of the sorted ratios, counted from each end, bounds the 1 - alpha interval; 0 where none does."""
    if n_base + n_head > EXACT_UP_TO:
        centre, spread = n_base * n_head / 2, math.sqrt(n_base * n_head * (n_base + n_head + 1) / 12)
        return max(0, math.floor(centre + spread * statistics.NormalDist().inv_cdf(alpha / 2)))
    cumulated = 2 * np.cumsum(_distribution(n_base, n_head))
    return int((cumulated <= alpha).sum())
