"""The demo's training."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np

from perflab.benchmarks import formats
from perflab.benchmarks.char_lm import RECORDED, WARM_UP, text, train
from perflab.profiler import chrome
from perflab.profiler.analysis.steps import steps

STEPS = 80


def test_the_text_is_long_and_its_characters_few() -> None:
    indices, characters = text()
    assert len(indices) > 100_000
    assert 60 < characters < 300
    assert (indices.min(), indices.max()) == (0, characters - 1)


def test_both_variants_learn_the_same(tmp_path: Path) -> None:
    base, seconds = train("base", STEPS, tmp_path / "trace.json.gz")
    onehot, _ = train("onehot", STEPS, None)
    np.testing.assert_allclose(onehot, base, rtol=1e-3)
    assert len(base) == STEPS
    assert len(seconds) == STEPS - WARM_UP - RECORDED
    assert abs(base[0] - math.log(text()[1])) < 0.5
    assert base[-1] < 0.75 * base[0]
    trace = chrome.read(tmp_path / "trace.json.gz")
    assert len(steps(trace)) == RECORDED - 1
    assert {"take", "matmul", "tanh"} <= set(trace.name_of(trace.select("cpu_op")))


def test_the_command_writes_a_run(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "perflab.benchmarks.char_lm", "--out", str(tmp_path / "new"), "--steps", "40"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("loss 4.")
    run = formats.read(tmp_path / "new" / "run.json")
    assert [result.benchmark.name for result in run.results] == ["char_lm training step"]
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["run.json"]
