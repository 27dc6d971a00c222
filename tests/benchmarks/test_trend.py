"""The newest commit of a history."""

import random

import pytest

from perflab.benchmarks.gate import Exit, GateReport
from perflab.benchmarks.ledger import Release
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


V1 = Release("v1", [f"{at:040x}" for at in range(30)])


def test_steps_too_small_for_an_alarm_are_a_drift_since_the_release() -> None:
    values = [*noise(30), *(1.04 * value for value in noise(30, 1))]
    accepted = history(values)  # a step of 4 % long ago, which nobody holds against head any more
    report = judge_history({STEP: accepted}, f"{59:040x}", "a machine", release=V1)
    (finding,) = report.findings
    assert (report.exit_code, finding.verdict, finding.since) == (Exit.PASS, "drift", "v1")
    assert finding.comparison is not None
    assert finding.comparison.ratio == pytest.approx(1.04, abs=0.01)
    assert (finding.comparison.n_base, finding.comparison.n_head) == (20, 5)
    assert finding.base == pytest.approx(1.0, abs=0.01)
    [note] = report.notes
    assert note.startswith("step drifted: +") and note.endswith(" worse than its best.")
    assert "passed, 1 benchmark, 1 worse than at the last release" in text(report)
    assert "drift since v1" in text(report)


def test_the_best_level_may_lie_after_the_release() -> None:
    values = [*noise(30), *(0.9 * value for value in noise(20, 1)), *(1.05 * value for value in noise(30, 2))]
    report = judge_history({STEP: history(values)}, f"{79:040x}", "a machine", release=V1)
    [note] = report.notes
    since, best = (float(part.split(" %")[0]) for part in note.replace(", +", " +").split("+")[1:])
    assert since == pytest.approx(5, abs=1)
    assert best == pytest.approx(100 * (1.05 / 0.9 - 1), abs=2)


@pytest.mark.parametrize("values", [noise(60), [*noise(30), *(0.9 * value for value in noise(30, 1))], noise(33)])
def test_what_did_not_get_worse_since_the_release_is_no_drift(values: list[float]) -> None:
    report = judge_history({STEP: history(values)}, f"{len(values) - 1:040x}", "a machine", release=V1)
    assert (report.findings[0].verdict, report.notes) == ("no change", ())


def test_a_rate_drifts_downwards() -> None:
    rate = Benchmark("rate", unit="ops/s", direction="higher")
    values = [*noise(30), *(0.93 * value for value in noise(30, 1))]
    report = judge_history({rate: history(values)}, f"{59:040x}", "a machine", release=V1)
    assert report.findings[0].verdict == "drift"
    assert report.findings[0].worse == pytest.approx(1 / 0.93, abs=0.01)
