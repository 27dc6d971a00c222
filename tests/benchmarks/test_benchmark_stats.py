"""The statistics against counting by hand, published examples, and theory on simulated data."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perflab.benchmarks.stats import Comparison, Verdict, compare, holm, least_p, rank_test, runs_needed, verdict

small = st.lists(st.integers(1, 6).map(float), min_size=1, max_size=5)
values = st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=8)


def by_counting(base: list[float], head: list[float]) -> float:
    """The test's definition: of all ways to choose head's runs from the pool, how many give such ranks."""
    pool = sorted(base + head)
    rank = {value: (2 * pool.index(value) + pool.count(value) + 1) / 2 for value in pool}
    sums = [sum(rank[value] for value in chosen) for chosen in combinations(base + head, len(head))]
    seen = sum(rank[value] for value in head)
    below, above = (sum(test) / len(sums) for test in ([s <= seen for s in sums], [s >= seen for s in sums]))
    return min(1.0, 2 * min(below, above))


@given(small, small)
def test_rank_test_is_exact_with_and_without_ties(base: list[float], head: list[float]) -> None:
    assert rank_test(base, head) == pytest.approx(by_counting(base, head), abs=1e-12)


@pytest.mark.parametrize(
    "base, head, u, p",
    [
        # from the tables of Mann and Whitney (1947): P(U <= 0) is 1/20 for 3 + 3, P(U <= 2) is 4/252 for 5 + 5
        ([1, 2, 3], [4, 5, 6], 0, 2 * 1 / 20),
        ([1, 2, 3, 4, 7], [5, 6, 8, 9, 10], 2, 2 * 4 / 252),
        ([1, 2, 3, 4, 5], [6, 7, 8, 9, 10], 0, 2 * 1 / 252),
        ([1, 4], [2, 3], 2, 1.0),
    ],
)
def test_rank_test_known_values(base: list[float], head: list[float], u: int, p: float) -> None:
    assert sum(a > b for a in base for b in head) == u
    assert rank_test(base, head) == pytest.approx(p)


@given(values, values)
def test_swapping_the_sides_inverts_the_answer(base: list[float], head: list[float]) -> None:
    there, back = compare(base, head), compare(head, base)
    assert there.p_value == pytest.approx(back.p_value)
    assert there.ratio == pytest.approx(1 / back.ratio)
    assert (there.low is None) == (back.high is None)
    if there.low is not None and back.high is not None:
        assert there.low == pytest.approx(1 / back.high)


@given(values, st.floats(0.1, 10))
def test_the_unit_does_not_matter(base: list[float], scale: float) -> None:
    assert compare(base, [value * scale for value in base]).ratio == pytest.approx(scale, rel=1e-6)


def test_large_groups_agree_with_the_exact_count() -> None:
    random = np.random.default_rng(1)
    for shift in (0.0, 0.3, 0.6):
        base, head = random.normal(size=40).tolist(), random.normal(shift, size=40).tolist()
        exact = rank_test(base, head)
        # one value more a side crosses to the normal approximation
        assert rank_test([*base, 0.0], [*head, shift]) == pytest.approx(exact, abs=0.05)
    assert rank_test([1.0] * 50, [1.0] * 50) == 1.0
    assert rank_test([1.0] * 50, [2.0] * 50) < 1e-15


def test_ratio_and_interval_of_five_and_five() -> None:
    comparison = compare([1.0, 1.02, 0.98, 1.01, 0.99], [1.1, 1.12, 1.08, 1.11, 1.09])
    assert comparison.ratio == pytest.approx(1.1, abs=1e-3)
    # the third smallest and largest of 25 ratios: P(U <= 2) = 4/252 on each side, 96.8 %
    ratios = sorted(head / base for head in (1.08, 1.09, 1.1, 1.11, 1.12) for base in (0.98, 0.99, 1.0, 1.01, 1.02))
    assert (comparison.low, comparison.high) == pytest.approx((ratios[2], ratios[-3]))
    assert (comparison.n_base, comparison.n_head) == (5, 5)


def test_too_few_runs_have_no_interval() -> None:
    comparison = compare([1.0, 1.1, 1.2], [2.0, 2.1, 2.2])
    assert (comparison.low, comparison.high) == (None, None)
    assert comparison.p_value == pytest.approx(0.1)


@pytest.mark.parametrize("base, head", [([], [1.0]), ([1.0], []), ([0.0], [1.0]), ([1.0], [-1.0]), ([math.nan], [1.0])])
def test_what_has_no_ratio_is_refused(base: list[float], head: list[float]) -> None:
    with pytest.raises(ValueError, match=r"^compare: .*; (give|measure)"):
        compare(base, head)


def test_runs_needed_is_the_table_of_the_docstring() -> None:
    assert [runs_needed(0.05, count) for count in (1, 2, 6, 7, 23, 24, 85, 86, 321, 322)] == [
        4,
        5,
        5,
        6,
        6,
        7,
        7,
        8,
        8,
        9,
    ]
    assert least_p(5, 5) == pytest.approx(2 / 252)
    assert least_p(1, 1) == 1.0


def test_holm_is_the_published_example() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_only_raises_and_keeps_the_order(p_values: list[float]) -> None:
    corrected = holm(p_values)
    assert all(after >= before for before, after in zip(p_values, corrected, strict=True))
    assert sorted(range(len(p_values)), key=lambda i: (p_values[i], i)) == sorted(
        range(len(p_values)), key=lambda i: (corrected[i], p_values[i], i)
    )


def compared(ratio: float, n: int = 5) -> Comparison:
    return Comparison(ratio, None, None, least_p(n, n), n, n)


@pytest.mark.parametrize(
    "ratio, p, direction, said",
    [
        (1.06, 0.01, "lower", Verdict.REGRESSION),
        (1.03, 0.05, "lower", Verdict.REGRESSION),
        (1.02, 0.01, "lower", Verdict.NO_CHANGE),
        (1.50, 0.06, "lower", Verdict.NO_CHANGE),
        (1 / 1.06, 0.01, "lower", Verdict.IMPROVEMENT),
        (0.98, 0.01, "lower", Verdict.NO_CHANGE),
        (1.06, 0.01, "higher", Verdict.IMPROVEMENT),
        (1 / 1.06, 0.01, "higher", Verdict.REGRESSION),
    ],
)
def test_a_verdict_needs_significance_and_effect(ratio: float, p: float, direction: str, said: Verdict) -> None:
    assert verdict(compared(ratio), p, direction=direction) is said  # type: ignore[arg-type]


def test_a_test_that_can_never_say_yes_says_so() -> None:
    assert verdict(compared(3.0, n=3), 0.1) is Verdict.NOT_ENOUGH_SAMPLES
    assert verdict(compared(1.0, n=5), 1.0, benchmarks=6) is Verdict.NO_CHANGE
    assert verdict(compared(1.0, n=5), 1.0, benchmarks=7) is Verdict.NOT_ENOUGH_SAMPLES


def test_identical_code_seldom_differs() -> None:
    """Over suites of six: at most alpha of them, within three standard errors, have even one significant benchmark."""
    random, suites, benchmarks = np.random.default_rng(7), 600, 6
    failed = 0
    for suite in random.lognormal(sigma=0.1, size=(suites, benchmarks, 2, 5)).tolist():
        failed += min(holm([rank_test(base, head) for base, head in suite])) <= 0.05
    assert failed / suites <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / suites)


def test_p_values_of_identical_code_are_uniform() -> None:
    random = np.random.default_rng(3)
    p_values = np.array([rank_test(*pair) for pair in random.normal(size=(2000, 2, 8)).tolist()])
    for level in (0.02, 0.05, 0.1, 0.2):
        assert (p_values <= level).mean() <= level + 3 * math.sqrt(level * (1 - level) / 2000)
    assert (p_values <= 0.2).mean() > 0.15


def test_the_interval_covers_the_truth() -> None:
    random, truth, inside = np.random.default_rng(5), 1.1, 0
    for base, head in random.lognormal(sigma=0.05, size=(1500, 2, 6)).tolist():
        comparison = compare(base, [value * truth for value in head])
        assert comparison.low is not None and comparison.high is not None
        inside += comparison.low <= truth <= comparison.high
    assert 0.95 - 0.015 <= inside / 1500 <= 0.975


@settings(max_examples=20)
@given(st.integers(1, 39), st.integers(1, 39))
def test_least_p_is_what_separated_groups_get(n_base: int, n_head: int) -> None:
    base, head = [float(i) for i in range(n_base)], [100.0 + i for i in range(n_head)]
    assert rank_test(base, head) == pytest.approx(least_p(n_base, n_head))
