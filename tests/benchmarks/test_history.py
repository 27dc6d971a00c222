"""Change points of a series."""

import random

import pytest

from perflab.benchmarks.history import ChangePoint, change_points
from perflab.benchmarks.stats import rank_test


def noise(count: int, spread: float, seed: int = 0) -> list[float]:
    """Results around 1, log-normal."""
    chance = random.Random(seed)
    return [chance.lognormvariate(0, spread) for _ in range(count)]


def scaled(values: list[float], *factors: tuple[int, float]) -> list[float]:
    """From each place on, times its factor."""
    for place, factor in factors:
        values = [value * factor if at >= place else value for at, value in enumerate(values)]
    return values


def test_a_step_is_found_where_it_is() -> None:
    values = scaled(noise(60, 0.01), (40, 1.10))
    [found] = change_points(values)
    assert found.index == 40
    assert found.ratio == pytest.approx(1.10, abs=0.02)
    assert found.p_value <= 1e-3


def test_it_is_found_once_five_results_agree() -> None:
    values = scaled(noise(46, 0.01), (40, 1.10))
    assert change_points(values[:43]) == []
    [found] = change_points(values[:45])
    assert found == ChangePoint(40, found.ratio, rank_test(values[:40], values[40:45]), seen=44)


def test_each_level_is_one_change() -> None:
    values = scaled(noise(120, 0.01), (30, 1.2), (70, 1 / 1.3), (100, 1.05))
    found = change_points(values)
    assert [change.index for change in found] == [30, 70, 100]
    assert [change.ratio for change in found] == pytest.approx([1.2, 1 / 1.3, 1.05], abs=0.02)


def test_a_drift_is_found() -> None:
    values = [value * 1.01 ** max(0, at - 30) for at, value in enumerate(noise(60, 0.01))]
    found = change_points(values)
    assert found
    assert all(change.index >= 30 and change.ratio > 1 for change in found)


def test_single_bad_runs_are_no_change() -> None:
    values = noise(100, 0.01)
    for place in (20, 45, 46, 80):
        values[place] *= 3
    assert change_points(values) == []


def test_noise_alone_is_no_change_in_a_thousand_results() -> None:
    assert [change_points(noise(200, 0.03, seed)) for seed in range(5)] == [[]] * 5


def test_what_does_not_matter_is_no_change() -> None:
    values = scaled(noise(60, 0.001), (40, 1.015))
    assert change_points(values) == []
    assert [change.index for change in change_points(values, min_effect=0.01)] == [40]


def test_swapping_slow_and_fast_inverts_the_ratio() -> None:
    values = scaled(noise(60, 0.01), (40, 1.25))
    [up] = change_points(values)
    [down] = change_points([1 / value for value in values])
    assert (down.index, down.ratio) == (up.index, pytest.approx(1 / up.ratio))


@pytest.mark.parametrize("values", [[], [1.0], [1.0] * 13, [1.0] * 50, [0.0] * 50, [1.0] * 30 + [float("inf")] * 30])
def test_where_nothing_can_be_said_nothing_is(values: list[float]) -> None:
    assert change_points(values) == []
