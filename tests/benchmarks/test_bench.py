"""A function or a command as a run."""

import subprocess
import sys
from pathlib import Path

import pytest

from perflab.benchmarks.bench import bench
from perflab.benchmarks.errors import MeasuringFailed
from perflab.benchmarks.folder import read
from perflab.benchmarks.machine import this_machine
from perflab.benchmarks.result import Run

TEXT = """
count = 0
class Model:
    @staticmethod
    def step():
        global count
        count += 1
number = 3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "its_training.py").write_text(TEXT)
    return tmp_path


def test_a_function_is_called_many_times_a_round(folder: Path) -> None:
    run = bench(["its_training:Model.step"], folder, rounds=3)
    (result,) = run.results
    assert (result.benchmark.name, result.benchmark.unit, len(result.samples)) == ("its_training:Model.step", "s", 3)
    assert all(sample > 0 for sample in result.samples)
    assert sys.modules["its_training"].count > 3
    assert (run.commit, run.dirty, run.machine, run.tool) == (None, False, this_machine(), "perflab bench")
    assert Run.from_json(run.to_json()) == run
    assert str(folder) not in sys.path


def test_a_command_is_a_process_a_round(folder: Path) -> None:
    code = "import pathlib; p = pathlib.Path('log'); p.write_text((p.read_text() if p.exists() else '') + 'x')"
    (result,) = bench([sys.executable, "-c", code], folder, rounds=3).results
    assert (folder / "log").read_text() == "xxx"
    assert len(result.samples) == 3
    assert result.benchmark.name.startswith(f"{sys.executable} -c 'import pathlib;")


def test_the_commit_is_what_git_has_checked_out(folder: Path) -> None:
    author = [word for key in ("user.name", "user.email") for word in ("-c", f"{key}=a@b.c")]
    for command in (["init", "--quiet"], ["add", "."], [*author, "commit", "--quiet", "-m", "a"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True)
    run = bench([sys.executable, "-c", ""], folder, rounds=1)
    assert (run.commit, run.dirty) == (head.stdout.strip(), False)
    (folder / "its_training.py").write_text("")
    assert bench([sys.executable, "-c", ""], folder, rounds=1).dirty


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["no_such:step"], "no_such:step cannot be imported (No module named 'no_such'); name it as module:function"),
        (["its_training:nothing"], "its_training:nothing cannot be imported (module 'its_training' has no attribute"),
        (["its_training:number"], "its_training:number is int, not a function; name one without arguments"),
        (["no-such-program"], "no-such-program cannot be run (No such file or directory)"),
        ([sys.executable, "-c", "raise SystemExit('boom')"], "ended with 1, saying 'boom'; mend that"),
    ],
)
def test_what_cannot_be_measured_is_said(folder: Path, words: list[str], sentence: str) -> None:
    sys.modules.pop("its_training", None)
    with pytest.raises(MeasuringFailed) as caught:
        bench(words, folder, rounds=1)
    assert sentence in str(caught.value)


def test_no_rounds_measure_nothing(folder: Path) -> None:
    with pytest.raises(MeasuringFailed, match="0 rounds measure nothing"):
        bench(["its_training:step"], folder, rounds=0)


def test_a_function_that_runs_ops_leaves_a_trace_where_the_gate_asks(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERFLAB_SUITE_TRACES", str(folder))
    (folder / "ops_of_it.py").write_text(
        "from perflab import runtime as rt\na = rt.ones(4)\ndef step(): return a.copy()\ndef none(): return 1\n"
    )
    for function, left in (("none", {}), ("step", {"ops_of_it:step": folder / "001.json.gz"})):
        bench([f"ops_of_it:{function}"], folder, rounds=1)
        assert read(folder).traces == left
