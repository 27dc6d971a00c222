"""The smallest change that a gate can tell."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from perflab.benchmarks.calibrate import CAUGHT, DRAWS, Floor, enough, floors, table
from perflab.benchmarks.result import Benchmark, Run
from perflab.benchmarks.stats import rank_test

MakeRuns = Callable[..., list[Run]]


def noisy(spread: float, count: int = 20, seed: int = 0) -> list[float]:
    return np.random.default_rng(seed).lognormal(sigma=spread, size=count).tolist()


def test_a_noisier_benchmark_has_a_higher_floor(runs: MakeRuns) -> None:
    found = floors(runs({"quiet": noisy(0.002), "noisy": noisy(0.05), "wild": noisy(2.0)}), 10)
    assert [each.benchmark.name for each in found] == ["wild", "noisy", "quiet"]
    wild, loud, quiet = found
    assert wild.change is None
    assert quiet.change is not None and loud.change is not None
    assert quiet.change <= 0.01 < 0.05 <= loud.change <= 0.2


def test_more_processes_tell_smaller_changes(runs: MakeRuns) -> None:
    measured = runs({"add": noisy(0.02, 40)})
    few, many = floors(measured, 5)[0].change, floors(measured, 20)[0].change
    assert few is not None and many is not None
    assert many < few


def test_the_floor_is_caught_as_often_as_it_says(runs: MakeRuns) -> None:
    values = noisy(0.03, 30)
    (floor,) = floors(runs({"add": values}), 10)
    assert floor.change is not None
    random = np.random.default_rng(99)
    told = 0
    for base, head in random.choice(values, size=(DRAWS, 2, 10)).tolist():
        told += rank_test(base, [value * (1 + floor.change) for value in head]) <= 0.05
    # three standard errors
    assert told / DRAWS >= CAUGHT - 3 * 0.025


def test_what_asks_for_less_than_the_noise_is_refused(runs: MakeRuns) -> None:
    measured = [replace(run, results=(replace(run.results[0], min_effect=0.01),)) for run in runs({"add": noisy(0.05)})]
    (floor,) = floors(measured, 10)
    assert floor.asked == 0.01
    assert floor.refusal is not None
    assert floor.refusal.startswith("add asks for +1.0 %, and +")
    assert floor.refusal in table([floor], 10)
    assert replace(floor, asked=0.5).refusal is None
    assert replace(floor, asked=None).refusal is None
    assert "no change can be told" in str(replace(floor, change=None).refusal)


def test_too_few_processes_are_said() -> None:
    assert enough(20, 10, 12) is None
    assert enough(20, 4, 12) == "4 processes a side tell nothing of 12 benchmarks: ask for 6 at least."
    assert enough(8, 10, 12) == "There are 8 runs, and a side has 10 processes: measure as many."


def test_the_table() -> None:
    quiet = Floor(Benchmark("add"), 0.004, 0.01, None)
    assert table([Floor(Benchmark("wild"), 0.9, None, None), quiet], 10) == (
        "smallest change told in 85% of gates of 10 + 10 processes\n"
        "\n"
        "wild  spread  90.0%       none\n"
        "add   spread   0.4%     +1.0 %\n"
    )


@pytest.mark.parametrize("values", [[1.0] * 10, [0.0] * 10])
def test_ties_are_no_error(runs: MakeRuns, values: list[float]) -> None:
    (floor,) = floors(runs({"add": values}), 10)
    assert floor.change == (0.005 if values[0] else None)
