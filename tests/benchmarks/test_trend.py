"""The newest commit of a history."""

import random

import pytest

from perflab.benchmarks.gate import Exit, GateReport
from perflab.benchmarks.report import markdown, text
from perflab.benchmarks.result import Benchmark
from perflab.benchmarks.trend import NEEDED, Measured, judge_history

STEP = Benchmark("step")


def noise(count: int, seed: int = 0) -> list[float]:
    chance = random.Random(seed)
    return [chance.lognormvariate(0, 0.01) for _ in range(count)]


def history(values: list[float]) -> list[Measured]:
    return [Measured(f"{at:040x}", value) for at, value in enumerate(values)]


def judged(series: dict[Benchmark, list[float]], head: int, **more: float) -> GateReport:
    made = {benchmark: history(values) for benchmark, values in series.items()}
    return judge_history(made, f"{head:040x}", "a machine", **more)  # type: ignore[arg-type]


def slower(factor: float, count: int = 30, new: int = 5) -> list[float]:
    return [value * (factor if at >= count - new else 1) for at, value in enumerate(noise(count))]


def test_a_new_level_is_told_with_the_commit_that_it_began_with() -> None:
    report = judged({STEP: slower(1.1)}, 29)
    (finding,) = report.findings
    assert (report.exit_code, finding.verdict, finding.since) == (Exit.REGRESSION, "regression", f"{25:040x}")
    assert finding.comparison is not None
    assert finding.comparison.ratio == pytest.approx(1.1, abs=0.02)
    assert (finding.comparison.n_base, finding.comparison.n_head) == (25, 5)
    assert finding.base == pytest.approx(1.0, abs=0.01)
    assert finding.head == pytest.approx(1.1, abs=0.02)


def test_it_is_told_once() -> None:
    values = slower(1.1, count=40, new=10)
    told = [end for end in range(NEEDED, 41) if judged({STEP: values[:end]}, end - 1).exit_code == Exit.REGRESSION]
    assert told == [35]


def test_more_is_better_where_the_metric_says_so() -> None:
    rate = Benchmark("rate", unit="ops/s", direction="higher")
    assert judged({rate: slower(1.1)}, 29).findings[0].verdict == "improvement"
    assert judged({rate: slower(0.9)}, 29).exit_code == Exit.REGRESSION


def test_a_change_smaller_than_what_matters_passes() -> None:
    assert judged({STEP: slower(1.1)}, 29, min_effect=0.2).exit_code == Exit.PASS


def test_zeros_and_gone_benchmarks_are_no_pass() -> None:
    gone = Benchmark("gone")
    report = judged({STEP: [0.0] * 30, gone: noise(29)}, 29)
    assert {finding.benchmark.name: finding.verdict for finding in report.findings} == {
        "step": "not comparable",
        "gone": "missing",
    }
    assert report.exit_code == Exit.COULD_NOT_JUDGE


def test_a_head_without_results_is_said() -> None:
    report = judged({STEP: noise(30)}, 99)
    assert report.exit_code == Exit.COULD_NOT_JUDGE
    assert report.problem == "Head has no results on this machine: run the benchmarks and give their results."


def test_everything_at_once_may_be_the_machine() -> None:
    series = {
        Benchmark(f"b{index}"): [value * (1.8 if at >= 25 else 1) for at, value in enumerate(noise(30, index))]
        for index in range(6)
    }
    assert "6 of 6 benchmarks moved together, by +8" in judged(series, 29).notes[0]


def test_the_reports_say_since_when() -> None:
    report = judged({STEP: slower(1.1)}, 29)
    assert f"head {29:040x} after 29 commits" in text(report)
    assert f"regression since {25:040x}"[:29] in text(report)
    assert "A verdict needs 5 results on the new level, p <= 0.001 (rank test against those before)" in text(report)
    assert f"head `{29:040x}` after 29 commits" in markdown(report)
