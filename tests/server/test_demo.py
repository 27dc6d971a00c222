"""The demo with a training that only pretends: the real one runs in `make demo`."""

import shutil
from pathlib import Path

import pytest

from perflab.benchmarks.machine import this_machine
from perflab.server.demo import PROCESSES, demo, demo_commits, train_in_process
from perflab.server.errors import DemoFailed
from perflab.server.lab import LocalLab
from perflab.server.settings import Settings
from perflab.server.sha import whole_sha

from .conftest import Files


@pytest.fixture
def settings(embedded: Settings) -> Settings:
    return embedded


class Trainer:
    """Leaves the files that training would, with times of our choosing."""

    def __init__(self, files: Files, seconds: dict[str, float]) -> None:
        self._files = files
        self._seconds = seconds
        self.trained: list[tuple[str, bool]] = []

    def __call__(self, variant: str, folder: Path, profiled: bool) -> str:
        self.trained.append((variant, profiled))
        seconds = self._seconds[variant] + len(self.trained) / 100
        shutil.move(self._files.run("run.json", seconds, machine=this_machine()), folder)
        if profiled:
            shutil.move(self._files.trace("trace.json", round(self._seconds[variant] * 100)), folder)
        return f"loss 2.{len(self.trained)}"


def test_the_demo_ends_well_when_the_gate_fails(
    files: Files, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    trainer = Trainer(files, {"base": 1.0, "onehot": 2.0})
    assert demo(settings, trainer) == 0
    assert trainer.trained[:3] == [("base", True), ("onehot", True), ("base", False)]
    assert len(trainer.trained) == 2 * PROCESSES
    out = capsys.readouterr().out
    assert f"10/{2 * PROCESSES}  onehot  loss 2.10\n" in out
    assert "perflab gate: failed, 1 of 1 benchmark regressed" in out
    assert "matmul" in out
    assert "The gate failed, as it should" in out
    lab = LocalLab.open(settings, create=False)
    runs = lab.runs("demo", commit=demo_commits()["onehot"])
    lab.close()
    assert len(runs) == PROCESSES
    assert [(len(run.traces), run.results) for run in runs if run.traces] == [(1, 1)]
    assert {run.branch for run in runs} == {"demo-onehot"}


def test_the_demo_ends_badly_when_the_gate_passes(
    files: Files, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert demo(settings, Trainer(files, {"base": 1.0, "onehot": 1.0})) == 1
    assert "The gate did not fail" in capsys.readouterr().out


def test_demo_commits_are_shas_of_their_own() -> None:
    commits = demo_commits()
    assert commits["base"] != commits["onehot"]
    assert commits == {variant: whole_sha(commit) for variant, commit in commits.items()}


def test_a_training_that_fails_is_said(tmp_path: Path) -> None:
    with pytest.raises(
        DemoFailed, match=r"training the variant nonsense ended with \d+, saying .*nonsense.*; mend that first"
    ):
        train_in_process("nonsense", tmp_path, False)
