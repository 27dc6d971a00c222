"""What memory is for: against bytes computed by hand, and events in any cut."""

import json
import subprocess
import sys
from collections.abc import Iterator
from threading import get_native_id
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.profiler import profile, stretches
from perflab.profiler.analysis.blocks import CATEGORIES, blocks
from perflab.profiler.analysis.memory import category_curves, memory_snapshot
from perflab.profiler.conversion import to_trace
from perflab.profiler.events import (
    ALLOC,
    ANNOTATION,
    EVENT,
    FREE,
    LEAF,
    OP,
    OUTPUT_ALLOCATED,
    USE,
    USE_GRADIENT,
    USE_INPUT,
    USE_PARAMETER,
    USE_SAVED,
    USE_STATE,
)
from perflab.profiler.recording import Clock, Recording
from perflab.profiler.trace import Trace

# Nothing else may allocate in the process while it is counted.
MLP = """
import json
import numpy as np
from perflab import runtime as rt
from perflab.profiler import profile
from perflab.profiler.analysis.memory import category_curves, memory_peak, memory_snapshot
from perflab.runtime import nn, optim
from perflab.runtime.data import DataLoader, TensorDataset

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
optimizer = optim.Adam(model.parameters())
batch = np.ones((32, 8), dtype=np.float32)

def step():
    x = rt.tensor(batch)
    optimizer.zero_grad()
    out = model(x)
    loss = (out * out).sum()
    del out
    loss.backward()
    optimizer.step()

{before}
with profile(record_stacks={stacks}) as prof:
    for _ in range({steps}):
        step()
        prof.step()
trace = prof.trace
trace.check()
curves = category_curves(trace)
most = dict(zip(curves.categories, curves.bytes.max(axis=1).tolist()))
last = dict(zip(curves.categories, curves.bytes[:, -1].tolist()))
peak = memory_peak(trace)
snapshot = memory_snapshot(trace)
print(json.dumps({{
    "most": most, "last": last, "peak": peak.by_category, "modules": peak.by_module, "bytes": peak.bytes,
    "sum": int((curves.bytes.sum(axis=0) - curves.bytes.sum(axis=0)[0]).max()),
    "counters": {{word: float(trace.counter("Allocated: " + word)[1].max()) for word in most}},
    "snapshot": [[block.bytes, block.category, block.op, block.module, block.stack] for block in snapshot],
}}))
"""

PARAMETERS = 4 * (8 * 16 + 16 + 16 * 4 + 4)
INPUT = 4 * 32 * 8
ACTIVATIONS = 4 * 32 * 16 + 4 * 32 * 4  # what relu gave, kept for itself and the second matmul, and the square's factor


def trained(before: str = "", steps: int = 3, stacks: bool = False) -> Any:
    code = MLP.format(before=before, steps=steps, stacks=stacks)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300)
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("before", ["", "step()"])
def test_the_bytes_of_an_mlp_are_those_computed_by_hand(before: str) -> None:
    found = trained(before)
    most = found["most"]
    assert most["parameter"] == found["last"]["parameter"] == PARAMETERS
    assert most["gradient"] == PARAMETERS
    assert most["optimizer_state"] == found["last"]["optimizer_state"] == 2 * PARAMETERS
    assert most["input"] == INPUT
    assert most["activation"] == ACTIVATIONS
    assert found["last"]["activation"] == 0
    assert found["counters"] == most, "the counters say the same"


def test_the_peak_names_the_modules_of_parameters_and_activations() -> None:
    found = trained("step()")
    assert found["peak"]["parameter"] == PARAMETERS
    assert sum(found["peak"].values()) == sum(found["modules"].values()) == found["bytes"]
    assert found["modules"]["Sequential.0"] >= 4 * (8 * 16 + 16)
    assert found["modules"]["Sequential.1"] >= 4 * 32 * 16, "relu's output"
    assert [4 * 32 * 16, "activation", "relu", "Sequential.1"] in [block[:4] for block in found["snapshot"]]
    assert sum(block[0] for block in found["snapshot"]) <= found["bytes"]


def test_blocks_have_pythons_stack_where_that_is_asked_for() -> None:
    found = trained(steps=1, stacks=True)
    stacks = {block[2]: block[4] for block in found["snapshot"] if block[1] in ("input", "activation")}
    assert any(frame.endswith(": step") for frame in stacks["relu"])
    assert stacks["relu"][-1].startswith("<string>(") and stacks["relu"][-1].endswith(": <module>")
    assert stacks[""][-2].startswith("<string>(") and stacks[""][-2].endswith(": step"), "tensor() is no op"
    assert not any(block[4] for block in trained(steps=1)["snapshot"])


def event(kind: int, t0: int, t2: int | None = None, **more: int) -> dict[str, int]:
    return {"kind": kind, "t0": t0, "t1": more.pop("t1", 0), "t2": t0 if t2 is None else t2, **more}


def packed(*events: dict[str, int]) -> Any:
    array = np.zeros(len(events), dtype=EVENT)
    for row, fields in zip(array, events, strict=True):
        for name, value in fields.items():
            row[name] = value
    return array


def told(*threads: list[dict[str, int]], **more: Any) -> Trace:
    recording = Recording(
        events=[(40 + number, packed(*events)) for number, events in enumerate(threads)],
        clock=Clock(0, 10**18, 1.0),
        pid=40,
        ops=["add"],
        dtypes=["float32"],
        strings=["", "Net.fc", "enumerate(DataLoader)#DataLoader.__next__"],
        shapes=[()],
        **more,
    )
    trace = to_trace(recording)
    trace.check()
    return trace


def categories(trace: Trace) -> list[tuple[int, str]]:
    found = blocks(trace)
    return [(size, CATEGORIES[code]) for size, code in zip(found.bytes.tolist(), found.category.tolist(), strict=True)]


def new(t0: int, address: int, size: int) -> dict[str, int]:
    return event(ALLOC, t0, address=address, bytes=size)


def gone(t0: int, address: int, size: int) -> dict[str, int]:
    return event(FREE, t0, address=address, bytes=size)


def use(t0: int, address: int, size: int, what: int, scope: int = 0) -> dict[str, int]:
    return event(USE, t0, address=address, bytes=size, flags=what, scope=scope)


def output(t0: int, t1: int, t2: int, address: int, size: int, sequence: int = 0) -> dict[str, int]:
    return event(OP, t0, t2, t1=t1, address=address, bytes=size, flags=OUTPUT_ALLOCATED | 1, sequence=sequence)


@pytest.fixture(params=[1 << 14, 3, 1])
def cut_into(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(stretches, "_PIECE", request.param)
    yield request.param


@pytest.mark.usefixtures("cut_into")
def test_each_use_makes_its_category_wherever_the_events_are_cut() -> None:
    trace = told(
        [
            new(10, 64, 1), use(11, 64, 1, USE_PARAMETER, scope=1), use(12, 64, 1, USE_SAVED),
            new(20, 128, 2), use(21, 128, 2, USE_STATE),
            new(30, 192, 3), use(31, 192, 3, USE_GRADIENT), gone(90, 192, 3),
            new(40, 256, 4), use(41, 256, 4, USE_SAVED), use(42, 256, 4, USE_INPUT), gone(91, 256, 4),
            output(50, 51, 55, 320, 5, sequence=3), use(56, 320, 5, USE_SAVED), gone(92, 320, 5),
            output(60, 61, 65, 384, 6), gone(66, 384, 6),
            output(67, 68, 69, 384, 7), gone(93, 384, 7),
            new(70, 448, 8),
            output(80, 81, 85, 512, 9, sequence=4),
            new(86, 576, 10), event(LEAF, 85, 88, address=5, bytes=576),
            new(94, 640, 11), use(95, 640, 11, USE_SAVED),
        ]
    )  # fmt: skip
    assert categories(trace) == [
        (1, "parameter"), (2, "optimizer_state"), (3, "gradient"), (4, "input"), (5, "activation"), (6, "temporary"),
        (7, "temporary"), (8, "other"), (9, "activation"), (10, "gradient"), (11, "activation"),
    ]  # fmt: skip
    curves = category_curves(trace)
    assert curves.bytes.sum(axis=0).tolist() == blocks(trace).total.tolist()
    for word, row in zip(curves.categories, curves.bytes, strict=True):
        time, value = trace.counter(f"Allocated: {word}")
        assert value[-1] == row[-1]
        assert value.max() == row.max(), word
        assert set(time.tolist()) <= set(trace.instants.time.tolist())


@pytest.mark.usefixtures("cut_into")
def test_what_is_made_while_data_is_loaded_is_input() -> None:
    loading = event(ANNOTATION, 5, 20, name=2)
    trace = told(
        [
            new(3, 320, 5), new(10, 64, 1), output(12, 13, 14, 128, 2), loading, new(21, 192, 3),
            gone(30, 64, 1), gone(31, 192, 3), gone(32, 320, 5),
        ],
        [new(15, 256, 4), gone(16, 256, 4)],
    )  # fmt: skip
    assert categories(trace) == [(5, "temporary"), (1, "input"), (2, "input"), (4, "temporary"), (3, "temporary")]


@pytest.mark.usefixtures("cut_into")
def test_what_was_there_before_is_known_by_its_use() -> None:
    trace = told(
        [
            use(10, 64, 100, USE_PARAMETER, scope=1),
            gone(20, 128, 30),
            use(25, 192, 40, USE_SAVED), gone(30, 192, 40),
            use(40, 256, 50, USE_STATE), new(41, 320, 1), gone(60, 256, 50), new(70, 256, 7), gone(71, 256, 7),
        ],
        allocated_bytes=300,
    )  # fmt: skip
    assert trace.metadata["memoryBefore"] == [
        [192, 40, "activation", "", "cpu"], [256, 50, "optimizer_state", "", "cpu"],
        [64, 100, "parameter", "Net.fc", "cpu"],
    ]  # fmt: skip
    found = blocks(trace)
    assert categories(trace) == [
        (1, "other"), (7, "temporary"), (40, "activation"), (50, "optimizer_state"), (100, "parameter"), (30, "before"),
    ]  # fmt: skip
    assert [found.modules[number] for number in found.module.tolist() if number >= 0] == ["Net.fc"]
    curves = category_curves(trace)
    at_first = dict(zip(curves.categories, curves.bytes[:, 0].tolist(), strict=True))
    assert at_first == {
        "parameter": 100, "optimizer_state": 50, "activation": 40, "temporary": 0, "other": 0, "before": 80
    }  # fmt: skip
    largest = memory_snapshot(trace, int(trace.instants.time[0]))[0]
    assert (largest.bytes, largest.category, largest.module, largest.allocated) == (100, "parameter", "Net.fc", None)


def test_a_free_that_was_not_recorded_ends_with_the_next_block_there() -> None:
    trace = told([new(10, 64, 1), use(11, 64, 1, USE_GRADIENT), new(20, 64, 2), gone(30, 64, 2)])
    assert sorted(categories(trace)) == [(1, "gradient"), (2, "temporary")]


def test_a_block_is_told_once_in_a_recording_that_nodes_keep_it() -> None:
    x = rt.exp(rt.ones((8, 8)).requires_grad_())
    for _ in range(2):
        with profile() as prof:
            _products = [x * x for _ in range(3)]  # each keeps it twice
        assert prof._recording is not None
        events = np.concatenate([events for thread, events in prof._recording.events if thread == get_native_id()])
        told = events[(events["kind"] == USE) & (events["flags"] == USE_SAVED)]
        assert told["bytes"].tolist() == [256]
