"""Measuring in turn: the order, what fails meanwhile, and what the order itself does."""

import math
import sys
from pathlib import Path

import pytest

from perflab.benchmarks.errors import MeasuringFailed
from perflab.benchmarks.folder import judge_measured, read
from perflab.benchmarks.gate import Exit, GateOptions, GateReport, judge
from perflab.benchmarks.interleave import Plan, measure, order, order_effect
from perflab.benchmarks.result import Run
from perflab.benchmarks.stats import Verdict
from perflab.benchmarks.suspects import settled, suspects

from .conftest import make

# Writes a run whose one sample is what the folder's file `seconds` says, times what `count` says of the calls so far.
SCRIPT = """
import json, os, pathlib, sys
seconds = float(pathlib.Path("seconds").read_text())
only = json.loads(os.environ.get("PERFLAB_ONLY", '["add", "mul"]'))
log = pathlib.Path("../log")
calls = log.read_text() if log.exists() else ""
log.write_text(calls + pathlib.Path.cwd().name[0])
times = {"add": seconds, "mul": 1.0}
exec(pathlib.Path("then").read_text())
results = [{"name": name, "samples": [times[name] * (1 + len(calls) / 1000)]} for name in only]
pathlib.Path(sys.argv[1]).write_text(json.dumps({"format": "perflab.run", "version": 1, "results": results}))
sys.exit(code)
"""


class Trees:
    """A folder for each side, with the script that measures it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.script = folder / "script.py"
        self.script.write_text(SCRIPT)
        for name in ("base", "head"):
            self.set(name)

    def set(self, name: str, seconds: float = 1.0, then: str = "code = 0") -> None:
        (self.folder / name).mkdir(exist_ok=True)
        (self.folder / name / "seconds").write_text(str(seconds))
        (self.folder / name / "then").write_text(then)

    def measure(self, processes: int = 5, limit: float = 60) -> list[str]:
        plan = Plan([sys.executable, "-IS", str(self.script), "{file}"], processes, limit)
        trees = {name: self.folder / name for name in ("base", "head")}
        return measure(
            plan, trees, self.folder / "out", lambda *sides: suspects(*sides, GateOptions()), lambda what: None
        )

    def report(self) -> GateReport:
        base, head = (read(self.folder / "out" / name) for name in ("base", "head"))
        return settled(judge_measured(base, head, GateOptions()))


@pytest.fixture
def trees(tmp_path: Path) -> Trees:
    return Trees(tmp_path)


@pytest.mark.parametrize("processes", [1, 2, 5, 10, 11])
def test_both_sides_run_as_often_and_never_three_times_in_a_row(processes: int) -> None:
    turns = order(processes, seed=processes)
    assert turns.count("A") == turns.count("B") == processes
    assert "AAA" not in turns and "BBB" not in turns


def test_blocks_are_by_chance_and_a_seed_repeats_them() -> None:
    assert order(40, seed=1) == order(40, seed=1)
    assert len({order(40, seed=seed) for seed in range(10)}) > 5
    blocks = {order(40, seed=3)[at : at + 4] for at in range(0, 80, 4)}
    assert blocks == {"ABBA", "BAAB"}


def test_a_steady_drift_of_the_machine_cancels() -> None:
    turns = order(10, seed=0)
    places = {side: sum(at for at, turn in enumerate(turns) if turn == side) for side in "AB"}
    assert places["A"] == places["B"]


def test_a_slower_head_is_found_and_itself_is_not(trees: Trees) -> None:
    trees.set("head", 1.2)
    assert trees.measure() == []
    assert trees.report().exit_code == Exit.REGRESSION
    assert (trees.folder / "log").read_text() == order(5).replace("A", "b").replace("B", "h")


def test_only_what_may_have_changed_is_measured_on(trees: Trees) -> None:
    trees.set("head", 1.2)
    assert trees.measure(10) == []
    verdicts = {it.benchmark.name: (it.verdict, it.comparison) for it in trees.report().findings}
    add, mul = verdicts["add"], verdicts["mul"]
    assert add[1] is not None and mul[1] is not None
    assert (add[0], add[1].n_base, add[1].n_head) == (Verdict.REGRESSION, 10, 10)
    assert (mul[0], mul[1].n_base, mul[1].n_head) == (Verdict.NO_CHANGE, 4, 4)


def test_a_renamed_suspect_is_measured_on_under_both_names() -> None:
    base = make({"old": [1.0, 1.01, 1.02, 1.03], "same": [1.0, 1.01, 1.02, 1.03]})
    head = make({"new": [1.2, 1.21, 1.22, 1.23], "same": [1.0, 1.01, 1.02, 1.03]})
    assert set(suspects(base, head, GateOptions(renamed={"old": "new"}))) == {"old", "new"}


def test_nothing_is_measured_on_where_nothing_may_have_changed(trees: Trees) -> None:
    assert trees.measure(10) == []
    assert trees.report().exit_code == Exit.PASS
    assert (trees.folder / "log").read_text() == order(4).replace("A", "b").replace("B", "h")


def test_what_looked_slower_by_chance_is_measured_until_it_does_not(trees: Trees) -> None:
    # 4 processes of head are slow, all after them are not
    trees.set("head", then="code = 0\ntimes['add'] *= 1.1 if calls.count('h') < 4 else 1")
    assert trees.measure(16) == []
    assert trees.report().exit_code == Exit.PASS
    assert len((trees.folder / "log").read_text()) == 24


def test_what_stays_open_is_said(trees: Trees) -> None:
    # two of three processes of head are slow: a median that tells no level
    trees.set("head", then="code = 0\ntimes['add'] *= 1.1 if calls.count('h') % 3 else 0.98")
    trees.measure(8)
    report = trees.report()
    assert report.exit_code == Exit.PASS
    [note] = report.notes
    assert note == (
        "add may be slower, by +9.5 %: its processes did not agree; give more of them (--processes) to know."
    )


def test_identical_sides_pass_on_a_machine_that_slows_down(trees: Trees) -> None:
    trees.measure()
    assert trees.report().exit_code == Exit.PASS


def test_a_process_that_fails_is_said_and_its_results_count(trees: Trees) -> None:
    trees.set("head", 1.2, then="code = 1 if calls.count('h') == 1 else 0")
    assert trees.measure() == ["1 of 5 processes of head failed: it ended with 1."]
    assert trees.report().exit_code == Exit.REGRESSION


def test_a_process_that_leaves_nothing_is_said(trees: Trees) -> None:
    trees.set("base", then="code = 0\nif calls.count('b') == 1: sys.exit('no such dtype')")
    trees.set("head", then="code = 0\nif calls.count('h') == 2: sys.exit(0)")
    assert trees.measure(5) == [
        "1 of 4 processes of base failed: it ended with 1, saying 'no such dtype'.",
        "1 of 4 processes of head failed: it wrote no 005.json.",
    ]
    assert len(list((trees.folder / "out" / "base").iterdir())) == 3


def test_a_process_that_hangs_is_given_up(trees: Trees) -> None:
    trees.set("head", then="import time\nif 'h' in calls: time.sleep(600)\ncode = 0")
    assert trees.measure(2, limit=3) == ["1 of 2 processes of head failed: it took more than 3 s."]


def test_a_side_without_any_results_measures_nothing(trees: Trees) -> None:
    trees.set("head", then="sys.exit('boom')")
    with pytest.raises(MeasuringFailed) as caught:
        trees.measure(2)
    assert str(caught.value) == ("no process of head left results: it ended with 1, saying 'boom'; mend that first")


def test_a_command_that_cannot_be_run_is_said(trees: Trees) -> None:
    plan = Plan(["no-such-program", "{file}"], 1)
    with pytest.raises(MeasuringFailed, match="no-such-program cannot be run"):
        measure(
            plan,
            {"base": trees.folder, "head": trees.folder},
            trees.folder / "out",
            lambda *sides: [],
            lambda what: None,
        )


@pytest.mark.parametrize(
    ("command", "processes", "sentence"),
    [
        (["pytest"], 5, "the command names no {file}"),
        (["pytest", "{file}"], 0, "0 processes measure nothing"),
    ],
)
def test_a_plan_that_measures_nothing_is_refused(command: list[str], processes: int, sentence: str) -> None:
    with pytest.raises(MeasuringFailed, match=sentence):
        Plan(command, processes)


def in_order(second: float, head: float, turns: str) -> list[tuple[str, Run]]:
    """Runs in that order: head's take `head` times as long, and each second of a pair `second` times."""
    names = {"A": "base", "B": "head"}
    values = [(head if turn == "B" else 1.0) * (second if at % 2 else 1.0) for at, turn in enumerate(turns)]
    return [(names[turn], make({"add": [value]})[0]) for turn, value in zip(turns, values, strict=True)]


@pytest.mark.parametrize("head", [1.0, 1.5])
@pytest.mark.parametrize("second", [1.0, 1.1, 0.8])
def test_the_effect_of_the_order_is_told_from_that_of_the_code(second: float, head: float) -> None:
    assert order_effect(in_order(second, head, "ABBAABBA")) == pytest.approx(math.log(second), abs=1e-12)


def test_an_order_bias_does_not_make_a_verdict() -> None:
    runs = in_order(1.3, 1.0, order(10, seed=1))
    base, head = ([run for side, run in runs if side == name] for name in ("base", "head"))
    assert judge(base, head).exit_code == Exit.PASS


def test_an_effect_of_the_order_is_said(trees: Trees) -> None:
    # every second process takes a tenth longer
    for name in ("base", "head"):
        trees.set(name, then="code = 0\ntimes = {name: 1.1 if len(calls) % 2 else 1.0 for name in times}")
    assert trees.measure() == [
        "The second of two neighbouring processes took 10.1 % more time; the order was by chance, so the verdicts hold."
    ]
    assert trees.report().exit_code == Exit.PASS
