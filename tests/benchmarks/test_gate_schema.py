"""The gate's JSON is what docs/gate.schema.json says."""

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest

from perflab.benchmarks.causes import Kind
from perflab.benchmarks.gate import GateReport, judge
from perflab.benchmarks.report import json_text
from perflab.benchmarks.result import Benchmark, Run
from perflab.benchmarks.stats import Verdict
from perflab.benchmarks.trend import Measured, judge_history
from perflab.benchmarks.waivers import Waiver, Waivers, waive
from perflab.profiler.analysis.diff import OpDelta, TraceDiff

MakeRuns = Callable[..., list[Run]]
STEADY = [1.00, 1.01, 0.99, 1.02, 0.98]
SLOWER = [1.10, 1.11, 1.09, 1.12, 1.08]
DIFF = TraceDiff(
    3, 5, (OpDelta("matmul", 2, 4, 1, 3, 0, 0), OpDelta("take", 1, 0, 3, 0, 0, 0)), 12_000, 50_000, 0, 9, ()
)


@pytest.fixture
def schema(root: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((root / "docs/gate.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(loaded)
    return loaded


def reports(runs: MakeRuns, head_runs: MakeRuns) -> dict[str, GateReport]:
    base, head = {"add": STEADY, "gone": STEADY, "zero": [0.0] * 5}, {"add": SLOWER, "new": STEADY, "zero": [0.0] * 5}
    failed = judge(runs(base), head_runs(head), trace_diff=DIFF)
    history = [Measured(f"{at:040x}", 1.1 if at > 24 else 1.0) for at in range(30)]
    return {
        "failed": failed,
        "waived": waive(failed, Waivers([Waiver("add", "s", 1.2, date(2026, 12, 31), "#1")]), date(2026, 1, 1)),
        "no baseline": judge([], head_runs(head)),
        "too few": judge(runs({"add": STEADY[:2]}), head_runs({"add": STEADY[:2]})),
        "history": judge_history({Benchmark("step"): history}, history[-1].commit, "a machine"),
    }


@pytest.mark.parametrize("name", ["failed", "waived", "no baseline", "too few", "history"])
def test_every_report_is_of_the_schema(schema: dict[str, Any], runs: MakeRuns, head_runs: MakeRuns, name: str) -> None:
    report = reports(runs, head_runs)[name]
    data = json.loads(json_text(report))
    jsonschema.validate(data, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**data, "exit_code": "1"}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**data, "more": 1}, schema)


def test_it_knows_every_verdict_and_kind_of_cause(schema: dict[str, Any]) -> None:
    assert tuple(schema["$defs"]["cause"]["properties"]["kind"]["enum"]) == get_args(Kind)
    assert set(schema["$defs"]["finding"]["properties"]["verdict"]["enum"]) == set(Verdict)
