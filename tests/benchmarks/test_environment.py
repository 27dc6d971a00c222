"""What was around a run: told by whoever measures, kept in its file, and named where sides differ."""

import json
import platform
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perflab.benchmarks.bench import bench
from perflab.benchmarks.environment import VARIABLES, changes, environment_of, this_environment
from perflab.benchmarks.errors import BenchmarkFormatError
from perflab.benchmarks.gate import judge
from perflab.benchmarks.result import Run

from .conftest import MakeRuns


def test_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    told = this_environment()
    assert told["Python"] == platform.python_version()
    assert told["numpy"] == np.__version__
    assert told["pytest"] == pytest.__version__
    assert told["OMP_NUM_THREADS"] == "1"
    assert "MKL_NUM_THREADS" not in told


def test_a_run_tells_and_keeps_it(tmp_path: Path) -> None:
    run = bench(["builtins:list"], tmp_path, rounds=1)
    assert run.environment["Python"] == platform.python_version()
    assert Run.from_json(run.to_json()) == run
    old = json.loads(run.to_json())
    del old["environment"]
    assert Run.from_data(old) == replace(run, environment={})


def test_of_a_command_only_variables_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert bench(["true"], tmp_path, rounds=1).environment == {"OMP_NUM_THREADS": "1"}


@pytest.mark.parametrize("value", [["numpy"], {"numpy": 2}, "numpy 2", None])
def test_another_form_is_refused(value: object) -> None:
    with pytest.raises(BenchmarkFormatError, match="environment is not an object of texts"):
        environment_of(value)


def test_changes() -> None:
    base, head = {"numpy": "2.3.1", "Python": "3.11.9", "old": "1"}, {"numpy": "2.4.0", "Python": "3.11.9"}
    assert changes([base], [base, base]) == []
    assert changes([base, base], [head]) == ["numpy 2.3.1 -> 2.4.0", "old 1 -> none"]
    assert changes([base, head], [head]) == ["numpy 2.3.1 or 2.4.0 -> 2.4.0", "old 1 or none -> none"]
    assert changes([{}], [head]) == []  # a file of another tool says nothing


def test_the_gate_names_what_changed(runs: MakeRuns) -> None:
    sides = [
        [replace(run, environment={"numpy": numpy}) for run in runs({"step": [1.0, 1.1]})]
        for numpy in ("2.3.1", "2.4.0")
    ]
    assert "The environment is not the same: numpy 2.3.1 -> 2.4.0." in judge(*sides).notes
    assert judge(sides[0], sides[0]).notes == ()
