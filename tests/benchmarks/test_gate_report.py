"""The reports, to the letter."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from perflab.benchmarks.gate import GateReport, judge
from perflab.benchmarks.report import as_json, markdown, text
from perflab.benchmarks.result import Run
from perflab.profiler.analysis.diff import OpDelta, TraceDiff

MakeRuns = Callable[..., list[Run]]

STEADY = [1.00e-3, 1.01e-3, 0.99e-3, 1.02e-3, 0.98e-3]
SLOWER = [1.10e-3, 1.11e-3, 1.09e-3, 1.12e-3, 1.08e-3]
FASTER = [0.90e-3, 0.91e-3, 0.89e-3, 0.92e-3, 0.88e-3]

DIFF = TraceDiff(
    3_200_000,
    5_100_000,
    (
        OpDelta("matmul", 2, 4, 613_000, 2_513_000, 0, 0),
        OpDelta("one_hot", 0, 1, 0, 300_000, 0, 0),
        OpDelta("take", 1, 0, 300_000, 0, 0, 0),
    ),
    12_687_769,
    50_646_221,
    0,
    0,
    bill=(),
)
RULE = (
    "A verdict needs p <= 0.05 (rank test over runs, corrected for the number of benchmarks) "
    "and a change of at least 3 %; the interval is at 95 %."
)
FAILED = """\
## perflab gate: failed, 1 of 4 benchmarks regressed, 1 could not be judged

base `1111111111111111111111111111111111111111` (5 runs), head `2222222222222222222222222222222222222222` (5 runs)
on AMD EPYC, 2 cores, Linux x86_64, CPython 3.11

| benchmark | base | head | change | p | verdict |
|---|---:|---:|---:|---:|---|
| `train_step` | 1 ms | 1.1 ms | +10.0 % (+6.9 % to +13.1 %) | 0.024 | regression |
| `gone` | 1 ms | - | - | - | missing |
| `exp` | 1 ms | 900 us | -10.0 % (-12.7 % to -7.1 %) | 0.024 | improvement |
| `add` | 1 ms | 1 ms | +0.0 % (-2.9 % to +3.0 %) | 1 | no change |

- `gone`: Head has no result of it (failed, renamed or removed): run it, or drop it from the base.

### Why

A step takes 3.2 -> 5.1 ms (+59.4 %).

1. matmul: +1.9 ms a step (+310 %), 2 -> 4 calls a step; 100 % of the difference
2. one_hot: +300 us a step (new), 0 -> 1 calls a step; 16 % of the difference
3. peak memory 12.1 -> 48.3 MiB (+36.2 MiB)
4. take: -300 us a step (gone), 1 -> 0 calls a step

<sub>A verdict needs p <= 0.05 (rank test over runs, corrected for the number of benchmarks) \
and a change of at least 3 %; the interval is at 95 %. Head was measured with uncommitted changes.</sub>
"""
FAILED_TEXT = """\
perflab gate: failed, 1 of 4 benchmarks regressed, 1 could not be judged
base 1111111111111111111111111111111111111111 (5 runs), head 2222222222222222222222222222222222222222 (5 runs)
on AMD EPYC, 2 cores, Linux x86_64, CPython 3.11

benchmark   base    head                       change      p  verdict
train_step  1 ms  1.1 ms  +10.0 % (+6.9 % to +13.1 %)  0.024  regression
gone        1 ms       -                            -      -  missing
exp         1 ms  900 us  -10.0 % (-12.7 % to -7.1 %)  0.024  improvement
add         1 ms    1 ms    +0.0 % (-2.9 % to +3.0 %)      1  no change

gone: Head has no result of it (failed, renamed or removed): run it, or drop it from the base.

Why: A step takes 3.2 -> 5.1 ms (+59.4 %).
  1. matmul: +1.9 ms a step (+310 %), 2 -> 4 calls a step; 100 % of the difference
  2. one_hot: +300 us a step (new), 0 -> 1 calls a step; 16 % of the difference
  3. peak memory 12.1 -> 48.3 MiB (+36.2 MiB)
  4. take: -300 us a step (gone), 1 -> 0 calls a step

A verdict needs p <= 0.05 (rank test over runs, corrected for the number of benchmarks) \
and a change of at least 3 %; the interval is at 95 %.
Head was measured with uncommitted changes.
"""


@pytest.fixture
def failed(runs: MakeRuns, head_runs: MakeRuns) -> GateReport:
    base = {"train_step": STEADY, "add": STEADY, "gone": STEADY, "exp": STEADY}
    head = {"train_step": SLOWER, "add": STEADY, "exp": FASTER}
    return judge(runs(base), head_runs(head, dirty=True), trace_diff=DIFF)


def test_markdown_of_a_failure(failed: GateReport) -> None:
    assert markdown(failed) == FAILED


def test_text_of_a_failure(failed: GateReport) -> None:
    assert text(failed) == FAILED_TEXT


def test_a_pass(runs: MakeRuns, head_runs: MakeRuns) -> None:
    report = judge(runs({"add": STEADY}), head_runs({"add": FASTER}))
    assert markdown(report) == (
        "## perflab gate: passed, 1 benchmark, 1 improved\n"
        "\n"
        "base `1111111111111111111111111111111111111111` (5 runs), "
        "head `2222222222222222222222222222222222222222` (5 runs)\n"
        "on AMD EPYC, 2 cores, Linux x86_64, CPython 3.11\n"
        "\n"
        "| benchmark | base | head | change | p | verdict |\n"
        "|---|---:|---:|---:|---:|---|\n"
        "| `add` | 1 ms | 900 us | -10.0 % (-12.7 % to -7.1 %) | 0.0079 | improvement |\n"
        "\n"
        f"<sub>{RULE}</sub>\n"
    )


def test_without_a_baseline(head_runs: MakeRuns) -> None:
    report = judge([], head_runs({"add": STEADY[:1]}))
    assert markdown(report) == (
        "## perflab gate: could not judge\n"
        "\n"
        "base without runs, head `2222222222222222222222222222222222222222` (1 run)\n"
        "on AMD EPYC, 2 cores, Linux x86_64, CPython 3.11\n"
        "\n"
        "**There is no baseline: run the benchmarks at the base commit on this machine and give their results.**\n"
        "\n"
        f"<sub>{RULE}</sub>\n"
    )
    assert text(report) == (
        "perflab gate: could not judge\n"
        "base without runs, head 2222222222222222222222222222222222222222 (1 run)\n"
        "on AMD EPYC, 2 cores, Linux x86_64, CPython 3.11\n"
        "\n"
        "There is no baseline: run the benchmarks at the base commit on this machine and give their results.\n"
        "\n"
        f"{RULE}\n"
    )


def test_too_few_runs_show_no_interval(runs: MakeRuns, head_runs: MakeRuns) -> None:
    report = judge(runs({"add": STEADY[:3]}), head_runs({"add": SLOWER[:3]}), trace_diff=DIFF)
    lines = text(report).splitlines()
    assert lines[0] == "perflab gate: could not judge 1 of 1 benchmark"
    assert "add        1 ms  1.1 ms  +10.0 %  0.1  not enough samples" in lines
    assert "add: 3 base and 3 head runs cannot reach p <= 0.05: give 4 runs a side." in lines
    assert "What changed in the traces: A step takes 3.2 -> 5.1 ms (+59.4 %)." in lines


def test_names_from_outside_break_nothing(runs: MakeRuns, head_runs: MakeRuns) -> None:
    name = "t.py::test[a|b`c`<b>\n\x1b[31m\u2028\ud800é😀]"
    report = judge(runs({name: STEADY}), head_runs({"add": STEADY}))
    lines = markdown(report).splitlines()
    assert "| `t.py::test[a\\|b'c'<b>\\n\\x1b[31m\\u2028\\ud800é😀]` | 1 ms | - | - | - | missing |" in lines
    assert text(report).encode().isascii() is False
    assert "\x1b" not in text(report) + markdown(report)


def test_underscores_are_escaped_only_where_they_mean_something(head_runs: MakeRuns) -> None:
    diff = replace(DIFF, ops=(OpDelta("__a_b__*", 0, 1, 0, 300_000, 0, 0),))
    assert "1. \\_\\_a_b\\_\\_\\*: +300 us" in markdown(judge([], head_runs({"add": STEADY}), trace_diff=diff))


def test_the_json_is_the_whole_report(failed: GateReport) -> None:
    data = as_json(failed)
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert list(data) == [
        "format",
        "version",
        "exit_code",
        "headline",
        "base",
        "head",
        "machine",
        "options",
        "findings",
        "problem",
        "notes",
        "causes",
        "over_history",
    ]
    assert (data["format"], data["version"], data["exit_code"]) == ("perflab.gate", 1, 1)
    assert data["headline"] == "failed, 1 of 4 benchmarks regressed, 1 could not be judged"
    assert data["base"] == {"commit": "1" * 40, "runs": 5}
    assert data["options"] == {"alpha": 0.05, "min_effect": 0.03, "renamed": {}}
    assert [finding["verdict"] for finding in data["findings"]] == ["regression", "missing", "improvement", "no change"]
    assert data["findings"][1] == {
        "benchmark": {"name": "gone", "params": {}, "unit": "s", "direction": "lower"},
        "verdict": "missing",
        "reason": "Head has no result of it (failed, renamed or removed): run it, or drop it from the base.",
        "base": 1e-3,
        "head": None,
        "comparison": None,
        "corrected_p": None,
        "min_effect": None,
        "since": None,
        "causes": None,
    }
    assert data["causes"]["headline"] == "A step takes 3.2 -> 5.1 ms (+59.4 %)."
    assert data["causes"]["grew"][0] == {
        "kind": "op",
        "name": "matmul",
        "ns": 1_900_000,
        "count": 2,
        "bytes": 0,
        "share": 1.0,
        "text": "matmul: +1.9 ms a step (+310 %), 2 -> 4 calls a step",
    }


def test_the_json_without_traces(head_runs: MakeRuns) -> None:
    data = as_json(judge([], head_runs({"add": STEADY})))
    assert (data["causes"], data["findings"], data["exit_code"]) == (None, [], 2)
    assert str(data["problem"]).startswith("There is no baseline: ")
