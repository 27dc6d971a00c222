"""The demo's training."""

import json
import math
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path

import numpy as np

from perflab.benchmarks import formats
from perflab.benchmarks.char_lm import RECORDED, WARM_UP, text, train
from perflab.profiler import chrome
from perflab.profiler.analysis.steps import steps

from ..profiler.same import told

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


def test_the_loss_falls_below_two_and_a_half_nats() -> None:
    losses, _ = train("base", 400, None)
    assert np.mean(losses[-20:]) < 2.5


def test_its_trace_is_strict_sorted_balanced_and_comes_back_the_same(tmp_path: Path) -> None:
    train("base", STEPS, tmp_path / "trace.json")

    def refuse(token: str) -> None:
        raise AssertionError(f"{token} is no JSON")

    events = json.loads((tmp_path / "trace.json").read_text("utf-8"), parse_constant=refuse, parse_float=Decimal)[
        "traceEvents"
    ]
    times = [round(event["ts"] * 1000) for event in events if event["ph"] != "M"]  # of one ns, any may come first
    assert times == sorted(times)
    assert {event["ph"] for event in events} <= set("MXCisf")  # whole slices alone: each begin has its end
    starts, ends = (Counter(event["id"] for event in events if event["ph"] == phase) for phase in "sf")
    assert starts and set(ends) <= set(starts)

    trace = chrome.read(tmp_path / "trace.json")
    trace.check()
    slices = [event for event in events if event["ph"] == "X"]
    written = sorted((round(e["ts"] * 1000), round(e["dur"] * 1000), e["name"]) for e in slices)
    names = trace.name_of(range(len(trace.slices.start)))
    assert sorted(zip(trace.slices.start.tolist(), trace.slices.duration.tolist(), names, strict=True)) == written
    chrome.write(trace, tmp_path / "again.json")
    assert told(chrome.read(tmp_path / "again.json")) == told(trace)


def test_the_model_learns_the_same_on_the_simulated_device() -> None:
    n = WARM_UP + RECORDED + 4
    here, _ = train("base", n, None)
    there, _ = train("base", n, None, "sim:4")
    assert here == there and len(here) == n and there[-1] < there[0]
