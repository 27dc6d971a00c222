"""The bars that the gate must hold on noise that its rules were not chosen on, and the simulation itself."""

import numpy as np
import pytest

from perflab.benchmarks.simulation import (
    COMMITS,
    DESIGNS,
    RECORDED,
    SYNTHETIC,
    judge_twice,
    measure,
    ours,
    over_previous,
    recorded,
    streams,
    z_score,
)


def test_history_cries_wolf_once_in_a_thousand_results_and_catches_what_matters() -> None:
    """On results of NumPy's commits, with all changes that lasted taken out."""
    figures = measure(ours, streams("numpy_atom", 300))
    assert figures.false_alarms <= 1.0
    assert figures.step_5 >= 0.85
    assert figures.step_10 >= 0.95
    assert figures.drift >= 0.98


def test_what_others_do_cries_wolf_more_often_and_catches_less() -> None:
    noise = streams("numpy_atom", 300)
    mine, previous = measure(ours, noise), measure(over_previous(0.10), noise)
    assert previous.false_alarms > 5 * mine.false_alarms
    assert previous.step_5 < 0.2 < mine.step_5
    assert previous.step_10 < 0.7 < mine.step_10
    assert previous.drift < 0.5 < mine.drift


def test_interleaved_identical_code_passes_and_a_tenth_more_is_caught() -> None:
    """On the least of real processes of a machine that others kept busy."""
    two = judge_twice(DESIGNS["perflab, in turn by rounds, up to 24 + 24"], 240)
    assert two.benchmarks <= 0.01
    assert two.suites <= 0.05
    assert two.step_5 >= 0.85
    assert two.step_10 >= 0.95
    assert 4 <= two.processes < 6


def test_ten_processes_of_each_side_at_once_are_dearer_and_catch_less() -> None:
    two = judge_twice(DESIGNS["in turn, 10 + 10 processes"], 240)
    assert two.processes == 10
    assert two.suites <= 0.05
    assert 0.50 <= two.step_5 < 0.85
    assert 0.85 <= two.step_10 < 0.95


def test_one_process_of_each_side_flags_suites_of_identical_code() -> None:
    assert judge_twice(DESIGNS["median:5%, a process each"], 240).suites > 0.5


@pytest.mark.parametrize("name", [*RECORDED, *SYNTHETIC])
def test_streams_are_results_around_1_and_a_seed_repeats_them(name: str) -> None:
    noise = streams(name, 20, seed=4)
    assert noise.shape == (20, COMMITS)
    assert (noise > 0).all()
    assert 0.9 < np.median(noise) < 1.1
    assert np.array_equal(noise, streams(name, 20, seed=4))
    assert not np.array_equal(noise, streams(name, 20, seed=5))


def test_the_median_of_processes_is_noisier_than_their_least() -> None:
    least, median = recorded("shared"), recorded("shared_median")
    assert least.shape == median.shape == (12, 700)
    assert (median.std(axis=1) > 1.5 * least.std(axis=1)).all()


def test_rules_say_slower_once_as_long_as_it_lasts() -> None:
    values = [1.0] * 30 + [1.2, 1.2, 1.0, 1.2]
    assert over_previous(0.10)(values) == [30, 33]
    assert over_previous(0.25)(values) == []
    noisy = [1.0, 1.01] * 15 + [1.2, 1.2, 1.0, 1.5]
    assert z_score(5, 100)(noisy) == [30, 33]
    # the second of the two lies within what the first one widened
    assert z_score(5, 10)([1.0, 1.01] * 15 + [1.2, 1.2]) == [30]
