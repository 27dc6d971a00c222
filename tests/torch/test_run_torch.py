"""`perflab run` on a PyTorch program as it is."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from perflab.profiler import Trace, chrome
from perflab.profiler.analysis.parts import step_parts
from perflab.profiler.analysis.steps import steps
from perflab.profiler.torch_clock import UNCERTAINTY

pytestmark = pytest.mark.torch

PROGRAMS = Path(__file__).parent.parent / "data" / "programs"
PERFLAB = Path(sys.executable).with_name("perflab")


def run(folder: Path, *arguments: str) -> tuple[subprocess.CompletedProcess[str], Trace]:
    pytest.importorskip("torch")
    done = subprocess.run([PERFLAB, "run", *arguments], cwd=folder, capture_output=True, text=True)
    return done, chrome.read(folder / "trace.json.gz")


def test_ops_are_recorded_from_the_import_on_and_the_optimizer_ends_steps(tmp_path: Path) -> None:
    done, trace = run(tmp_path, str(PROGRAMS / "digits.py"))
    assert (done.returncode, done.stdout[:8]) == (0, "20 steps"), done.stderr
    trace.check()
    ops = Counter(trace.name_of(trace.select(category="cpu_op")))
    assert ops["aten::linear"] == 40 and ops["aten::addmm"] == 40
    assert trace.metadata[UNCERTAINTY] > 0 and trace.metadata["gil"] == "exact"
    assert [step.number for step in steps(trace)] == list(range(18))  # two of the 20 pass before step 0
    assert {track.lane for track in trace.tracks} == {0}  # nothing crosses: steps end behind the optimizer's own mark
    for step in step_parts(trace):
        assert step.forward_ns > 0 and step.backward_ns > 0 and step.optimizer_ns > 0 and step.data_wait_ns > 0
    assert "train_step" in trace.name_of(trace.select(category="python_function"))
    found = subprocess.run([PERFLAB, "report", "trace.json.gz"], cwd=tmp_path, capture_output=True, text=True)
    assert "18 steps" in found.stdout and "aten::addmm" in found.stdout and "Python" in found.stdout


def test_a_named_function_makes_the_steps(tmp_path: Path) -> None:
    done, trace = run(tmp_path, "--step", "train_step", str(PROGRAMS / "digits.py"))
    assert done.returncode == 0, done.stderr
    assert [step.number for step in steps(trace)] == list(range(20))
    begins = trace.slices.start[trace.select(name="aten::cross_entropy_loss")]
    for step, begin in zip(steps(trace), begins.tolist(), strict=True):
        assert step.start <= begin < step.start + step.duration


def test_what_else_is_done_with_an_optimizer_works_as_without(tmp_path: Path) -> None:
    (tmp_path / "schedules.py").write_text(
        "import copy, pickle, warnings\n"
        "import torch\n"
        "warnings.simplefilter('error')\n"
        "model = torch.nn.Linear(2, 2)\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.5)\n"
        "before = torch.optim.lr_scheduler.StepLR(optimizer, 2)\n"
        "for number in range(4):\n"
        "    model(torch.ones(1, 2)).sum().backward()\n"
        "    optimizer.step(lambda: None) if number % 2 else optimizer.step()\n"
        "    before.step()\n"
        "    if not number:\n"
        "        after = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)\n"
        "pickle.dumps(optimizer)\n"
        "copy.deepcopy(optimizer).step()\n"
        "print(optimizer.param_groups[0]['lr'])\n"
    )
    plain = subprocess.run([sys.executable, "schedules.py"], cwd=tmp_path, capture_output=True, text=True)
    done, trace = run(tmp_path, "schedules.py")
    assert (done.returncode, done.stdout) == (0, plain.stdout), done.stderr + plain.stderr
    assert [step.number for step in steps(trace)][:2] == [0, 1]


def test_a_program_that_profiles_itself_with_torch_keeps_its_profile(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "import torch\n"
        "torch.relu(torch.ones(2))\n"
        "with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as own:\n"
        "    torch.tanh(torch.ones(2))\n"
        "print([event.name for event in own.events()].count('aten::tanh'))\n"
    )
    done, trace = run(tmp_path, "own.py")
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
    ops = Counter(trace.name_of(trace.select(category="cpu_op")))
    assert (ops["aten::relu"], ops["aten::tanh"]) == (1, 0)
    assert trace.metadata["torchTrouble"].startswith("the program started torch.profiler")
