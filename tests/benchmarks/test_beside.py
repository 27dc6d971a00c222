"""Measuring in turn, and the table."""

import json
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest

from perflab.benchmarks import formats
from perflab.benchmarks.beside import Clock, Figure, Measure, Table, Times, statement


class Recorder:
    """Stands for pytest-benchmark's fixture: what its clock says of each round."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.extra_info: dict[str, float] = {}
        self.rounds: list[float] = []
        self.disabled = False

    def pedantic(self, target: Callable[..., object], args: tuple[int, ...] = (), rounds: int = 1) -> None:
        for _ in range(rounds):
            begin = self.clock()
            target(*args)
            self.rounds.append(self.clock() - begin)


@pytest.fixture
def measure() -> Measure:
    clock = Clock()
    return Measure(cast(Any, Recorder(clock)), clock, Table(), ModuleType("ours"), None)


def test_samples_are_taken_in_turn(measure: Measure) -> None:
    order: list[str] = []

    def sampler(name: str, first: float) -> Any:
        numbers = count(first)
        return lambda: (order.append(name), next(numbers))[1]

    times = measure.in_turn({"ours": sampler("ours", 1.0), "theirs": sampler("theirs", 11.0)}, rounds=3)
    assert order == ["ours", "theirs"] * 3
    assert times == {"ours": Times((1.0, 2.0, 3.0)), "theirs": Times((11.0, 12.0, 13.0))}
    assert measure.benchmark.extra_info == {
        "ours least": 1.0,
        "ours median": 2.0,
        "theirs least": 11.0,
        "theirs median": 12.0,
    }
    assert cast(Any, measure.benchmark).rounds == [1.0, 2.0, 3.0]


def test_without_torch_there_is_no_ratio(measure: Measure) -> None:
    measure.beside("one + one", "one + one", lambda library: {"one": library.__name__}, at_most=0.5, rounds=2)
    (figure,) = measure.table.figures
    assert (figure.what, figure.peer, figure.value, figure.goal, figure.met) == ("one + one", "", "", "<= 0.5", None)


@pytest.mark.parametrize("at_most, met", [(1000.0, True), (0.0, False), (None, None)])
def test_with_torch_there_is_a_ratio(measure: Measure, at_most: float | None, met: bool | None) -> None:
    measure.torch = ModuleType("torch")
    measure.beside("add", "a + a", lambda library: {"a": len(library.__name__)}, at_most=at_most, rounds=2)
    (figure,) = measure.table.figures
    assert figure.met is met
    assert float(figure.value) == pytest.approx(measure.benchmark.extra_info["ratio"], abs=1e-3)


def test_a_disabled_benchmark_runs_once_and_has_no_figure(measure: Measure) -> None:
    cast(Any, measure.benchmark).disabled = True
    calls: list[int] = []
    measure.beside("append", "calls.append(1)", lambda library: {"calls": calls})
    assert calls == [1]
    assert measure.table.figures == []


def test_a_sample_is_seconds_a_call() -> None:
    calls: list[int] = []
    sample = statement("calls.append(1)", {"calls": calls}, seconds=1e-4)
    calls.clear()
    seconds = sample()
    # about as many calls as fill the time asked for: nothing here depends on how fast the machine is
    assert len(calls) > 1
    assert 0 < seconds * len(calls)


def test_the_collector_is_on_only_when_asked() -> None:
    seen: list[bool] = []
    for collect in (False, True):
        names = {"seen": seen}
        statement("import gc; seen.append(gc.isenabled())", names, collect=collect, seconds=0)()
        assert set(seen) == {collect}
        seen.clear()


def test_the_table_is_aligned() -> None:
    table = Table(
        [Figure("add", "44 ns", "1.2 us", "0.037", "<= 0.12", True), Figure("kept", "0.4", goal=">= 0.5", met=False)]
    )
    assert table.lines("torch") == [
        "      perflab   torch  ratio     goal",
        "add     44 ns  1.2 us  0.037  <= 0.12     met",
        "kept      0.4                  >= 0.5  missed",
    ]
    assert str(Times((3e-6, 1e-6, 2e-6))) == "1 us / 2 us"


def test_what_is_recorded_reads_as_a_run(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest, types\n"
        "from perflab.benchmarks.beside import Clock, Measure, Table\n"
        "CLOCK = Clock()\n"
        "@pytest.mark.benchmark(timer=CLOCK)\n"
        "def test_it(benchmark):\n"
        "    measure = Measure(benchmark, CLOCK, Table(), types.ModuleType('ours'), None)\n"
        "    measure.in_turn({'ours': lambda: 0.25}, rounds=2)\n"
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--benchmark-json",
        "out.json",
        "test_it.py",
    ]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert formats.read(tmp_path / "out.json").results[0].samples == (0.25, 0.25)
    assert json.loads((tmp_path / "out.json").read_text())["benchmarks"][0]["options"]["timer"] == "sampled"
