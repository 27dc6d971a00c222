"""The gate: verdicts, what it cannot judge, and the exit code."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from perflab.benchmarks.errors import BenchmarkError, GateOptionError
from perflab.benchmarks.gate import Exit, GateOptions, GateReport, judge
from perflab.benchmarks.machine import Machine
from perflab.benchmarks.result import Run

MakeRuns = Callable[..., list[Run]]
OTHER = Machine.of(name="laptop", cpu="Apple M3", cores=8, os="Darwin arm64", python="CPython 3.12")
HERE = "AMD EPYC, 2 cores, Linux x86_64, CPython 3.11"
THERE = "Apple M3, 8 cores, Darwin arm64, CPython 3.12"

STEADY = [1.00, 1.01, 0.99, 1.02, 0.98]
SLOWER = [1.10, 1.11, 1.09, 1.12, 1.08]
FASTER = [0.90, 0.91, 0.89, 0.92, 0.88]
SLIGHTLY = [1.025, 1.026, 1.024, 1.027, 1.023]


def verdicts(report: GateReport) -> list[tuple[str, str]]:
    return [(finding.benchmark.name, str(finding.verdict)) for finding in report.findings]


@pytest.mark.parametrize(
    "head, verdict, code",
    [
        (SLOWER, "regression", Exit.REGRESSION),
        (FASTER, "improvement", Exit.PASS),
        (STEADY, "no change", Exit.PASS),
        (SLIGHTLY, "no change", Exit.PASS),
    ],
)
def test_one_benchmark(runs: MakeRuns, head_runs: MakeRuns, head: list[float], verdict: str, code: Exit) -> None:
    report = judge(runs({"add": STEADY}), head_runs({"add": head}))
    assert verdicts(report) == [("add", verdict)]
    assert report.exit_code == code
    assert report.problem is None


def test_the_options_decide(runs: MakeRuns, head_runs: MakeRuns) -> None:
    base, head = runs({"add": STEADY}), head_runs({"add": SLIGHTLY})
    assert judge(base, head, GateOptions(min_effect=0.02)).exit_code == Exit.REGRESSION
    assert judge(base, head, GateOptions(min_effect=0.02, alpha=0.001)).exit_code == Exit.COULD_NOT_JUDGE


def test_what_a_finding_holds(runs: MakeRuns, head_runs: MakeRuns) -> None:
    (finding,) = judge(runs({"add": STEADY}), head_runs({"add": SLOWER})).findings
    assert (finding.base, finding.head, finding.reason) == (1.0, 1.1, None)
    assert finding.comparison is not None
    assert finding.comparison.ratio == pytest.approx(1.1, abs=1e-3)
    assert finding.corrected_p == finding.comparison.p_value == pytest.approx(2 / 252)


def test_many_benchmarks_are_corrected_for(runs: MakeRuns, head_runs: MakeRuns) -> None:
    names = [f"b{index}" for index in range(6)]
    base = dict.fromkeys(names, STEADY)
    report = judge(runs(base), head_runs({**base, "b3": SLOWER}))
    assert verdicts(report)[0] == ("b3", "regression")
    assert report.findings[0].corrected_p == pytest.approx(6 * 2 / 252)
    # a seventh, and 5 + 5 runs can no longer tell
    report = judge(runs({**base, "b6": STEADY}), head_runs({**base, "b3": SLOWER, "b6": STEADY}))
    assert report.exit_code == Exit.COULD_NOT_JUDGE
    assert {finding.reason for finding in report.findings} == {
        "5 base and 5 head runs cannot reach p <= 0.05 over 7 benchmarks: give 6 runs a side."
    }


def test_findings_come_worst_first(runs: MakeRuns, head_runs: MakeRuns) -> None:
    base = {"a": STEADY, "b": STEADY, "c": STEADY, "d": STEADY, "gone": STEADY}
    much = [value * 2 for value in STEADY]
    report = judge(runs(base), head_runs({"a": STEADY, "b": SLOWER, "c": FASTER, "d": much, "new": STEADY}))
    assert verdicts(report) == [
        ("d", "regression"),
        ("b", "regression"),
        ("gone", "missing"),
        ("new", "new"),
        ("c", "improvement"),
        ("a", "no change"),
    ]


def test_throughput_is_better_when_higher(runs: MakeRuns, head_runs: MakeRuns) -> None:
    def as_throughput(all_runs: list[Run]) -> list[Run]:
        return [
            replace(
                run,
                results=tuple(
                    replace(result, benchmark=replace(result.benchmark, unit="ops/s", direction="higher"))
                    for result in run.results
                ),
            )
            for run in all_runs
        ]

    base = as_throughput(runs({"add": STEADY}))
    assert judge(base, as_throughput(head_runs({"add": SLOWER}))).exit_code == Exit.PASS
    assert judge(base, as_throughput(head_runs({"add": FASTER}))).exit_code == Exit.REGRESSION


NO_BASELINE = "There is no baseline: run the benchmarks at the base commit on this machine and give their results."


def test_no_baseline(head_runs: MakeRuns) -> None:
    report = judge([], head_runs({"add": STEADY}))
    assert (report.problem, report.exit_code, report.findings) == (NO_BASELINE, Exit.COULD_NOT_JUDGE, ())
    assert report.machine == HERE


def test_no_head(runs: MakeRuns) -> None:
    report = judge(runs({"add": STEADY}), [])
    assert report.problem == "There are no head runs: run the benchmarks and give their results."
    assert report.exit_code == Exit.COULD_NOT_JUDGE
    assert judge([], []).problem == report.problem


def test_runs_without_results(runs: MakeRuns, head_runs: MakeRuns) -> None:
    full, empty = runs({"add": STEADY}), [replace(run, results=()) for run in runs({"add": STEADY})]
    report = judge(full, empty)
    assert report.problem == "The head runs hold no results: look at why no benchmark ran, then run them again."
    assert report.exit_code == Exit.COULD_NOT_JUDGE
    report = judge(empty, full)
    assert report.problem == (
        "The baseline's runs hold no results: look at why no benchmark ran there, then run them again."
    )
    assert report.exit_code == Exit.COULD_NOT_JUDGE


def test_another_machine(runs: MakeRuns, head_runs: MakeRuns) -> None:
    report = judge(runs({"add": STEADY}, machine=OTHER), head_runs({"add": SLOWER}))
    assert report.problem == (
        f"The baseline is from another machine ({THERE}) than head ({HERE}): "
        "measure the base commit on this machine too."
    )
    assert report.exit_code == Exit.COULD_NOT_JUDGE


def test_head_of_several_machines(runs: MakeRuns, head_runs: MakeRuns) -> None:
    head = head_runs({"add": STEADY}) + head_runs({"add": STEADY}, machine=OTHER)
    report = judge(runs({"add": STEADY}), head)
    assert report.problem == f"The head runs come from several machines ({HERE}; {THERE}): give those of one."
    assert report.machine is None


def test_base_runs_of_other_machines_are_set_aside(runs: MakeRuns, head_runs: MakeRuns) -> None:
    base = runs({"add": STEADY}) + runs({"add": SLOWER}, machine=OTHER)
    report = judge(base, head_runs({"add": STEADY}))
    assert report.exit_code == Exit.PASS
    assert report.base.runs == 5
    assert report.notes == ("5 base runs of other machines set aside.",)


def test_the_same_machine_under_another_name_compares(runs: MakeRuns, head_runs: MakeRuns) -> None:
    base = runs({"add": STEADY})
    elsewhere = [replace(run, machine=replace(run.machine, name="bench-2")) for run in head_runs({"add": STEADY})]
    assert judge(base, elsewhere).exit_code == Exit.PASS


def test_a_missing_benchmark_is_no_pass(runs: MakeRuns, head_runs: MakeRuns) -> None:
    report = judge(runs({"add": STEADY, "mul": STEADY}), head_runs({"add": STEADY}))
    assert verdicts(report) == [("mul", "missing"), ("add", "no change")]
    assert report.findings[0].reason == (
        "Head has no result of it (failed, renamed or removed): run it, or drop it from the base."
    )
    assert (report.findings[0].base, report.findings[0].head) == (1.0, None)
    assert report.exit_code == Exit.COULD_NOT_JUDGE


def test_a_new_benchmark_passes_beside_others(runs: MakeRuns, head_runs: MakeRuns) -> None:
    report = judge(runs({"add": STEADY}), head_runs({"add": STEADY, "mul": STEADY}))
    assert verdicts(report) == [("mul", "new"), ("add", "no change")]
    assert (report.findings[0].reason, report.exit_code) == (None, Exit.PASS)


def test_new_benchmarks_alone_are_no_pass(runs: MakeRuns, head_runs: MakeRuns) -> None:
    report = judge(runs({"add": STEADY}), head_runs({"mul": STEADY}))
    assert verdicts(report) == [("add", "missing"), ("mul", "new")]
    assert report.exit_code == Exit.COULD_NOT_JUDGE
    alone = replace(report, findings=report.findings[1:])
    assert alone.exit_code == Exit.COULD_NOT_JUDGE


def test_another_unit_is_another_benchmark(runs: MakeRuns, head_runs: MakeRuns) -> None:
    report = judge(runs({"add": STEADY}, unit="ns"), head_runs({"add": STEADY}))
    assert verdicts(report) == [("add", "missing"), ("add", "new")]


def test_a_regression_wins_over_what_could_not_be_judged(runs: MakeRuns, head_runs: MakeRuns) -> None:
    report = judge(runs({"add": STEADY, "mul": STEADY}), head_runs({"add": SLOWER}))
    assert report.exit_code == Exit.REGRESSION


def test_zero_has_no_ratio(runs: MakeRuns, head_runs: MakeRuns) -> None:
    report = judge(runs({"add": [0.0] * 5}), head_runs({"add": STEADY}))
    assert verdicts(report) == [("add", "not comparable")]
    assert report.findings[0].reason == "A run's best sample is 0 s: measure more work in a round."
    assert report.exit_code == Exit.COULD_NOT_JUDGE


@pytest.mark.parametrize("count, said", [(1, "1 base and 1 head runs"), (3, "3 base and 3 head runs")])
def test_too_few_runs_are_no_pass(runs: MakeRuns, head_runs: MakeRuns, count: int, said: str) -> None:
    report = judge(runs({"add": STEADY[:count]}), head_runs({"add": [9.0] * count}))
    assert verdicts(report) == [("add", "not enough samples")]
    assert report.findings[0].reason == f"{said} cannot reach p <= 0.05: give 4 runs a side."
    assert report.exit_code == Exit.COULD_NOT_JUDGE


def test_rounds_of_one_process_are_no_runs(runs: MakeRuns, head_runs: MakeRuns) -> None:
    """A thousand rounds on each side of one process are still one and one."""
    base, head = (
        [replace(run, results=tuple(replace(result, samples=result.samples * 1000) for result in run.results))]
        for run in (runs({"add": [1.0]})[0], head_runs({"add": [2.0]})[0])
    )
    assert verdicts(judge(base, head)) == [("add", "not enough samples")]


def test_how_the_sides_are_named(runs: MakeRuns, head_runs: MakeRuns) -> None:
    base = runs({"add": STEADY}) + runs({"add": STEADY}, commit="3" * 40)
    report = judge(base, [replace(run, commit=None, dirty=True) for run in head_runs({"add": STEADY})])
    assert (report.base.commit, report.base.runs) == ("2 commits", 10)
    assert (report.head.commit, report.head.runs) == ("no commit given", 5)
    assert report.notes == ("Head was measured with uncommitted changes.",)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"alpha": 0.0}, "alpha is 0; give a chance between 0 and 1, such as 0.05"),
        ({"alpha": 5.0}, "alpha is 5; give a chance between 0 and 1, such as 0.05"),
        ({"alpha": float("nan")}, "alpha is nan; give a chance between 0 and 1, such as 0.05"),
        ({"min_effect": -0.1}, "min_effect is -0.1; give a share from 0, such as 0.05 for 5 %"),
        ({"min_effect": float("nan")}, "min_effect is nan; give a share from 0, such as 0.05 for 5 %"),
    ],
)
def test_options_outside_their_range(options: dict[str, float], message: str) -> None:
    with pytest.raises(GateOptionError) as error:
        GateOptions(**options)
    assert str(error.value) == message
    assert isinstance(error.value, BenchmarkError)


def test_identical_suites_seldom_fail(runs: MakeRuns, head_runs: MakeRuns) -> None:
    random, failed = np.random.default_rng(11), 0
    for base, head in random.lognormal(sigma=0.1, size=(200, 2, 6, 5)).tolist():
        names = [f"b{index}" for index in range(6)]
        report = judge(runs(dict(zip(names, base, strict=True))), head_runs(dict(zip(names, head, strict=True))))
        failed += report.exit_code != Exit.PASS
    # alpha 0.05 of 200, and three standard errors
    assert failed <= 10 + 3 * 3.1


def test_a_clear_slow_down_is_seldom_missed(runs: MakeRuns, head_runs: MakeRuns) -> None:
    random, caught = np.random.default_rng(13), 0
    for base, head in random.lognormal(sigma=0.02, size=(200, 2, 5)).tolist():
        report = judge(runs({"add": base}), head_runs({"add": [value * 1.1 for value in head]}))
        caught += report.exit_code == Exit.REGRESSION
    assert caught >= 190


def test_a_benchmark_may_say_itself_what_matters(runs: MakeRuns, head_runs: MakeRuns) -> None:
    def saying(all_runs: list[Run], share: float) -> list[Run]:
        return [replace(run, results=(replace(run.results[0], min_effect=share),)) for run in all_runs]

    base, head = runs({"add": STEADY}), head_runs({"add": SLIGHTLY})
    assert judge(base, head).exit_code == Exit.PASS
    report = judge(base, saying(head, 0.02))
    assert (report.exit_code, report.findings[0].min_effect) == (Exit.REGRESSION, 0.02)
    # the base's word does not count: it may be older
    assert judge(saying(base, 0.02), head).exit_code == Exit.PASS
    assert judge(base, saying(head_runs({"add": SLOWER}), 0.2)).exit_code == Exit.PASS


def test_a_renamed_benchmark_is_hinted_at_and_no_pass(runs: MakeRuns, head_runs: MakeRuns) -> None:
    base = runs({"test_ops.py::test_add[64]": STEADY, "other": STEADY})
    report = judge(base, head_runs({"test_ops.py::test_add[64x64]": STEADY, "other": STEADY}))
    assert report.findings[0].reason == (
        "Head has no result of it (failed, renamed or removed): run it, or drop it from the base. "
        "Was it renamed to test_ops.py::test_add[64x64]?"
    )
    assert report.exit_code == Exit.COULD_NOT_JUDGE
    # another unit is no other name for it
    report = judge(base, head_runs({"test_ops.py::test_add[64x64]": STEADY, "other": STEADY}, unit="bytes"))
    assert all("renamed to" not in str(finding.reason) for finding in report.findings)


def test_256_regressions_end_with_1(runs: MakeRuns, head_runs: MakeRuns) -> None:
    names = [f"b{index}" for index in range(256)]
    base, head = ([value + at / 1000 for at, value in enumerate(side * 2)] for side in (STEADY, SLOWER))
    report = judge(runs(dict.fromkeys(names, base)), head_runs(dict.fromkeys(names, head)))
    assert [finding.verdict for finding in report.findings] == ["regression"] * 256
    assert report.exit_code == 1


def test_what_moves_together_may_be_the_machine(runs: MakeRuns, head_runs: MakeRuns) -> None:
    names = [f"b{index}" for index in range(6)]
    base = runs(dict.fromkeys(names, STEADY))
    slow = [1.8 * value for value in STEADY]
    said = "6 of 6 benchmarks moved together, by +80.0 %: that may be the machine and not the code; measure in turn"
    report = judge(base, head_runs(dict.fromkeys(names, slow)))
    assert (report.exit_code, said in report.notes[0]) == (Exit.REGRESSION, True)
    # by different ratios, or not all of them: the code
    apart = {name: [value * (1.2 + at / 5) for value in STEADY] for at, name in enumerate(names)}
    assert judge(base, head_runs(apart)).notes == ()
    assert judge(base, head_runs({**dict.fromkeys(names, slow), "b0": STEADY, "b1": STEADY})).notes == ()
    # a few say nothing
    assert judge(runs({"b0": STEADY}), head_runs({"b0": slow})).notes == ()
