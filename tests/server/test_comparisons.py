"""What can be compared: commits, runs, machines and traces, each with its like."""

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from perflab.benchmarks.machine import Machine
from perflab.dashboards.views import Fact
from perflab.server.errors import NotFound, Refused
from perflab.server.glances import Glances
from perflab.server.lab import LocalLab
from perflab.server.routes.compare_views import choices, comparison
from perflab.server.schema import Label, Origin
from perflab.server.settings import Settings
from tests.dashboards import history

OTHER = Machine.of(name="laptop", cpu="Another CPU", cores=8, os="Linux x86_64", python="CPython 3.12")
TRACE = '{"traceEvents": [{"ph": "X", "name": "add", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 0, "dur": %d}]%s}'


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[LocalLab]:
    """Three commits on one machine, the second on another, too, twice as slow there; and two traces of no commit."""
    lab = LocalLab.open(Settings(lab=tmp_path / "lab"), create=True)
    for number, run in enumerate(history.runs(3, 2)):
        run = replace(run, environment={"numpy": f"2.{number}.0"})
        runs = [run]
        if number == 1:
            slower = [replace(it, samples=tuple(2 * value for value in it.samples)) for it in run.results]
            runs.append(replace(run, machine=OTHER, created=run.created + timedelta(minutes=1), results=tuple(slower)))
        for one in runs:
            lab.upload_stream(io.BytesIO(one.to_json().encode()), Label(name="run.json"))
    for device, count, duration in (("A100", 1, 5), ("H100", 8, 3)):
        told = f', "deviceProperties": {json.dumps([{"name": device}] * count)}'
        label = Label(name=f"{device}.json", said=Origin(project="traces", commit="0" * 40))
        lab.upload_stream(io.BytesIO((TRACE % (duration, told)).encode()), label)
    yield lab
    lab.close()


def test_machines_are_compared_at_the_newest_commit_of_both(lab: LocalLab) -> None:
    view = comparison(
        lab, Glances(lab), f"machine:{history.MACHINE.fingerprint}", f"machine:{OTHER.fingerprint}", "trainer"
    )
    assert view.head.commit == history.sha(1)
    assert (view.base.name, view.head.name) == (str(history.MACHINE), str(OTHER))
    assert [row.verdict for row in view.verdicts] == ["not judged"] * 2
    assert [row.ratio for row in view.verdicts] == [pytest.approx(2)] * 2
    assert Fact(name="cores", base="4", head="8") in view.facts
    assert "Nothing is judged" in view.warnings[0]
    assert view.swapped.startswith(f"/compare?base=machine%3A{OTHER.fingerprint}&head=machine%3A")


def test_machines_without_a_commit_in_common(lab: LocalLab) -> None:
    with pytest.raises(NotFound, match="no commit of trainer was measured on both machines"):
        comparison(lab, Glances(lab), f"machine:{OTHER.fingerprint}", "machine:0123456789abcdef", "trainer")


def test_runs_are_compared_alone(lab: LocalLab) -> None:
    view = comparison(lab, Glances(lab), "run:1", "run:2", None)
    assert (view.base.title, view.head.title) == ("run #1", "run #2")
    assert [(len(row.base_values), len(row.head_values)) for row in view.verdicts] == [(1, 1)] * 2
    assert {row.verdict for row in view.verdicts} == {"not enough samples"}
    assert Fact(name="numpy", base="2.0.0", head="2.1.0") in view.facts


def test_traces_of_no_commit_are_named_by_their_files(lab: LocalLab) -> None:
    view = comparison(lab, Glances(lab), "trace:1", "trace:2", None)
    assert (view.base.title, view.head.title) == ("A100.json", "H100.json")
    assert view.diff is not None and view.diff.step_ns == -2_000
    assert view.warnings == ["The traces are of different devices (8 H100; A100): no change of the code."]


@pytest.mark.parametrize(("base", "head"), [("run:1", "trace:1"), ("abcdef0", "run:1"), ("run:1", "")])
def test_a_comparison_is_of_one_kind(lab: LocalLab, base: str, head: str) -> None:
    with pytest.raises(Refused, match="two commits, runs, machines or traces"):
        comparison(lab, Glances(lab), base, head, None)


def test_what_there_is_to_compare(lab: LocalLab) -> None:
    found = {choice.name: choice for choice in choices(lab, Glances(lab), "trainer")}
    assert {name: len(choice.options) for name, choice in found.items()} == {
        "commits": 3,
        "traces": 0,
        "runs": 4,
        "machines": 2,
    }
    assert found["commits"].options[0][0] == history.sha(2)
    of_all = {choice.name: choice for choice in choices(lab, Glances(lab), "")}
    assert [text for _, text in of_all["traces"].options] == [
        "#2 H100.json (traces no commit)",
        "#1 A100.json (traces no commit)",
    ]
