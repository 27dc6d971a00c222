"""`perflab run`: programs under the profiler, as they are."""

import subprocess
import sys
from pathlib import Path

import pytest

from perflab.profiler import Trace, chrome
from perflab.profiler.analysis.functions import python_functions
from perflab.profiler.analysis.garbage import garbage
from perflab.profiler.analysis.steps import steps
from perflab.profiler.analysis.tasks import coroutines

PROGRAMS = Path(__file__).parent.parent / "data" / "programs"
NUMPY = """
import sys, threading, hashlib
import numpy as np

def product(n):
    return np.ones((n, n)) @ np.ones((n, n))

def work():
    for _ in range(20):
        hashlib.sha256(b"x" * 1_000_000).digest()

other = threading.Thread(target=work, name="hashing")
other.start()
for _ in range(3):
    total = product(200).sum()
other.join()
print(sys.argv[1:], total, __name__)
"""
TRAINING = """
from perflab import runtime as rt
from perflab.runtime import nn, optim

class Trainer:
    def __init__(self):
        self.model = nn.Linear(4, 2)
        self.optimizer = optim.SGD(self.model.parameters(), lr=0.1)

    def train_step(self, x):
        loss = self.model(x).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

def main():
    trainer = Trainer()
    for _ in range(5):
        trainer.train_step(rt.ones(8, 4))

if __name__ == "__main__":
    main()
"""
ASYNC = """
import asyncio

async def load(n):
    await asyncio.sleep(0.001)
    return await asyncio.to_thread(sum, range(n))

async def main():
    print(sum(await asyncio.gather(*(load(1000) for _ in range(4)))))

asyncio.run(main())
"""


def run(folder: Path, *arguments: str, **files: str) -> subprocess.CompletedProcess[str]:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    perflab = Path(sys.executable).with_name("perflab")
    return subprocess.run([perflab, "run", *arguments], cwd=folder, capture_output=True, text=True)


def trace_of(folder: Path, name: str = "trace.json.gz") -> Trace:
    trace = chrome.read(folder / name)
    trace.check()
    return trace


def test_a_program_runs_as_it_is(tmp_path: Path) -> None:
    done = run(tmp_path, "work.py", "--lr", "0.1", work=NUMPY)
    assert (done.returncode, done.stdout) == (0, "['--lr', '0.1'] 8000000.0 __main__\n"), done.stderr
    assert done.stderr.splitlines()[-1].startswith("perflab: trace.json.gz is written")
    trace = trace_of(tmp_path)
    assert trace.metadata["command"] == ["work.py", "--lr", "0.1"]
    assert any("hashing" in track.name for track in trace.tracks) or trace.metadata["gil"] != "exact"


def test_calls_of_a_named_function_are_steps(tmp_path: Path) -> None:
    done = run(tmp_path, "--step", "Trainer.train_step", "-o", "steps.json", "train.py", train=TRAINING)
    assert done.returncode == 0, done.stderr
    trace = trace_of(tmp_path, "steps.json")
    found = steps(trace)
    assert [step.number for step in found] == [0, 1, 2, 3, 4]  # what comes before the first call is in none
    names = trace.name_of(trace.select("cpu_op"))
    starts = trace.slices.start[trace.select("cpu_op")]
    products = [int(start) for start, name in zip(starts, names, strict=True) if name == "square"]
    assert len(products) == 5
    for step, at in zip(found, products, strict=True):
        assert step.start <= at < step.start + step.duration


def test_a_module_and_what_asyncio_runs(tmp_path: Path) -> None:
    (tmp_path / "tool").mkdir()
    (tmp_path / "tool" / "__init__.py").write_text("")
    (tmp_path / "tool" / "__main__.py").write_text(ASYNC + "\nprint(__package__, __spec__.name)\n")
    done = run(tmp_path, "-m", "tool")
    assert (done.returncode, done.stdout) == (0, "1998000\ntool tool.__main__\n"), done.stderr
    assert {each.coroutine: each.tasks for each in coroutines(trace_of(tmp_path))}["load"] == 4


def test_an_asyncio_program_is_told_by_its_tasks(tmp_path: Path) -> None:
    done = run(tmp_path, str(PROGRAMS / "pages.py"))
    assert (done.returncode, done.stdout) == (0, "48 words of 24 pages\n"), done.stderr
    trace = trace_of(tmp_path)
    found = {each.coroutine: each for each in coroutines(trace)}
    assert (found["read"].tasks, found["main"].tasks) == (4, 1)
    assert {"Queue.get", "to_thread"} <= {name for name, _ in found["read"].waits}
    assert found["read"].steps >= 24  # each of the pages wakes a reader, as does each thread
    assert {f"MainThread: reader {number}" for number in range(4)} <= {track.name for track in trace.tracks}
    text = report(tmp_path)
    for told in ("## Tasks", "The loop of MainThread ran tasks for", "read in Queue.get", "## Python"):
        assert told in text


def report(folder: Path) -> str:
    perflab = Path(sys.executable).with_name("perflab")
    found = subprocess.run(
        [perflab, "report", "trace.json.gz", "--format", "markdown"], cwd=folder, capture_output=True
    )
    assert found.returncode == 0, found.stderr
    return found.stdout.decode()


def test_a_numpy_program_is_told_by_its_functions(tmp_path: Path) -> None:
    done = run(tmp_path, str(PROGRAMS / "clusters.py"))
    assert (done.returncode, done.stdout) == (0, "12 clusters of 20000 points\n"), done.stderr
    trace = trace_of(tmp_path)
    functions = {each.name: each for each in python_functions(trace)}
    assert Path(functions["new_centers"].file) == PROGRAMS / "clusters.py"
    assert functions["main"].total_ns >= functions["new_centers"].total_ns > 0
    outermost = trace.slices.parent[trace.select(category="python_function")] < 0
    assert not {"_ended", "run"} & set(trace.name_of(trace.select(category="python_function")[outermost]))
    assert sum(each.count for each in garbage(trace)) > 8  # of 16,000 objects in cycles
    times, resident = trace.counter("RSS")
    assert len(times) >= 2 and resident.min() > 2**20
    text = report(tmp_path)
    for told in ("new_centers (clusters.py:22)", "## The GIL", "MainThread held it for", "The process had"):
        assert told in text


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("import sys\nsys.exit(3)", 3, ""),
        ("raise SystemExit('no data')", 1, "no data\n"),
        ("def f():\n    return 1 / 0\n\nf()", 1, 'File "fails.py", line 4, in <module>'),
        ("raise KeyboardInterrupt", 130, ""),
    ],
)
def test_a_program_that_fails_leaves_its_trace(tmp_path: Path, text: str, code: int, said: str) -> None:
    done = run(tmp_path, "fails.py", fails=text)
    assert done.returncode == code and said in done.stderr
    assert "program.py" not in done.stderr
    trace_of(tmp_path)


def test_what_cannot_be_run_is_refused_in_words(tmp_path: Path) -> None:
    cases = {
        ("missing.py",): "missing.py: No such file or directory",
        ("-m", "no_such_module"): "there is no module no_such_module",
        ("wrong.py",): "wrong.py is no Python program",
        ("--step", "train", "good.py"): "good.py defines no function train",
        ("--step", "Model", "good.py"): "is a class: name a method of it, as --step Model.step",
    }
    for arguments, sentence in cases.items():
        done = run(tmp_path, *arguments, wrong="def", good="class Model:\n    pass\n")
        assert done.returncode == 3 and sentence in done.stderr, done.stderr
    assert not (tmp_path / "trace.json.gz").exists()
