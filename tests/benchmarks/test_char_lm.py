"""The demo's training."""

import json
import math
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.benchmarks import formats
from perflab.benchmarks.char_lm import CONTEXT, HIDDEN, RECORDED, WARM_UP, WIDTH, main, text, train
from perflab.profiler import chrome
from perflab.profiler.analysis.blocks import CATEGORIES, blocks
from perflab.profiler.analysis.memory import memory_peak
from perflab.profiler.analysis.steps import steps

from ..profiler.same import told

STEPS = 80
DEVICE = "sim:4"


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


def test_too_few_steps_are_refused_before_the_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    steps = str(WARM_UP + RECORDED)
    monkeypatch.setattr(sys, "argv", ["char_lm", "--out", str(tmp_path / "new"), "--steps", steps])
    with pytest.raises(SystemExit):
        main()
    assert "--steps 26: 20 warm up and 6 are recorded, so give more than both" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


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


def test_the_model_learns_the_same_on_the_simulated_device(tmp_path: Path) -> None:
    n = WARM_UP + RECORDED + 4
    here, _ = train("base", n, None)
    there, _ = train("base", n, tmp_path / "trace.json.gz", DEVICE)
    assert here == there and len(here) == n and there[-1] < there[0]
    trace = chrome.read(tmp_path / "trace.json.gz")
    number = rt.device(DEVICE).number
    streams = [row for row, track in enumerate(trace.tracks) if track.pid == number]
    assert [(trace.tracks[row].process, trace.tracks[row].name) for row in streams] == [(DEVICE, "stream 0")]

    # the kernels are on the stream's track, and an arrow leads to each from its launch
    slices, flows = trace.slices, trace.flows
    work = np.flatnonzero(np.isin(slices.track, streams))
    names = Counter(trace.name_of(work))
    assert names["matmul_native_float32 (sim)"] == 6 * (RECORDED - 1)  # two forward, and the gradients of their inputs
    assert names["Memcpy HtoD (sim)"] == 2 * (RECORDED - 1) and names["Memcpy DtoH (sim)"] == RECORDED - 1
    arrows = flows.name == trace.string_id("ac2g")
    assert sorted(flows.target[arrows].tolist()) == work.tolist()
    assert set(trace.name_of(flows.source[arrows])) == {"simLaunchKernel", "simMemcpyAsync"}

    # memory by category adds up to all of it, and is what the model and the optimizer hold
    parameters = sum(_blocks_of(text()[1]))
    _, total = trace.counter(f"Allocated {DEVICE}")
    curves = {word: trace.counter(f"Allocated {DEVICE}: {word}") for word in CATEGORIES}
    held = {word: int(value[-1]) for word, (_, value) in curves.items() if len(value)}
    assert sum(held.values()) == total[-1]
    assert (held["parameter"], held["optimizer_state"], held["gradient"]) == (parameters, 2 * parameters, parameters)
    assert {"activation", "input", "temporary"} <= set(held)
    assert blocks(trace).total.tolist() == total.astype(int).tolist()
    peak = memory_peak(trace)
    assert peak is not None and sum(peak.by_category.values()) == total.max()


def _blocks_of(characters: int) -> list[int]:
    """Bytes of the blocks in which the parameters lie."""
    sizes = [characters * WIDTH, HIDDEN * CONTEXT * WIDTH, HIDDEN, characters * HIDDEN, characters]
    return [-(-4 * size // 512) * 512 for size in sizes]


MODELLED = """
import sys
from pathlib import Path
from perflab.benchmarks.char_lm import RECORDED, WARM_UP, train
from perflab.runtime import sim
with sim.modelled("H100"):
    train("base", WARM_UP + RECORDED + 1, Path(sys.argv[1]), "sim:0")
"""


def test_its_traces_in_modelled_time_are_equal_in_every_run(tmp_path: Path) -> None:
    files = [tmp_path / f"{run}.json" for run in range(2)]
    for file in files:
        done = subprocess.run([sys.executable, "-c", MODELLED, file], capture_output=True, text=True, timeout=240)
        assert (done.returncode, done.stderr) == (0, "")
    assert files[0].read_bytes() == files[1].read_bytes()
    trace = chrome.read(files[0])
    places = set(trace.instant_args["Addr"].dense(len(trace.instants)).tolist())
    assert max(places) < 200  # numbers, not addresses
    _, value = trace.counter("Allocated sim:0: parameter")
    assert value[-1] == sum(_blocks_of(text()[1]))
