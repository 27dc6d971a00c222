"""Memory of devices on the timeline."""

from pathlib import Path

import numpy as np

from perflab import runtime as rt
from perflab.profiler import Trace, chrome, profile
from perflab.profiler.analysis.memory import memory_curve, memory_peak
from perflab.profiler.memory_history import history

MIB = 1 << 20
DEVICE = "sim:5"  # nothing else uses it


def mebibytes(count: int) -> rt.Tensor:
    made: rt.Tensor = rt.empty((count * MIB,), dtype=rt.uint8, device=DEVICE)
    return made


def of_the_device(trace: Trace) -> dict[str, list[int]]:
    """The arguments of its instants."""
    args, count = trace.instant_args, len(trace.instants)
    rows = np.flatnonzero((args["Device Type"].dense(count) == 20) & (args["Device Id"].dense(count, -1) == 5))
    return {key: args[key].dense(count)[rows].tolist() for key in ("Addr", "Bytes", "Total Allocated", "Stream")}


def test_allocations_and_frees_with_what_was_there_before(tmp_path: Path) -> None:
    before = mebibytes(4)
    with profile() as prof:
        first = mebibytes(300)
        address = first.data_ptr()
        second = mebibytes(200)
        del first
    chrome.write(prof.trace, tmp_path / "trace.json")
    for trace in (prof.trace, chrome.read(tmp_path / "trace.json")):
        found = of_the_device(trace)
        assert found["Bytes"] == [300 * MIB, 200 * MIB, -300 * MIB]
        assert found["Total Allocated"] == [304 * MIB, 504 * MIB, 204 * MIB]
        assert found["Addr"][0] == found["Addr"][2] == address
        assert found["Stream"] == [0, 0, 0]
    del before, second


def test_the_device_that_holds_most_is_the_one_that_is_asked_about() -> None:
    with profile() as prof:
        x = rt.ones((300 * MIB,), dtype=rt.uint8, device=DEVICE)
        del x
    trace = prof.trace
    assert memory_curve(trace).peak_bytes == 300 * MIB
    peak = memory_peak(trace)
    assert peak is not None and peak.bytes == 300 * MIB
    found = history(trace)
    assert (found.device, found.bytes.tolist()) == (DEVICE, [300 * MIB] * 2)
    assert max(trace.counter(f"Allocated {DEVICE}")[1]) == 300 * MIB


def test_what_is_reserved_is_read_at_each_step() -> None:
    rt.memory.empty_cache(DEVICE)
    before = rt.memory.memory_reserved(DEVICE)
    with profile() as prof:
        x = mebibytes(300)
        del x
        prof.step()
        rt.memory.empty_cache(DEVICE)
    time, value = prof.trace.counter(f"Reserved {DEVICE}")
    assert value.tolist() == [before, before + 300 * MIB, before]
    assert np.all(np.diff(time) > 0) and time[0] >= 0


def test_without_memory_there_is_none() -> None:
    with profile(profile_memory=False) as prof:
        mebibytes(1)
    assert "Device Id" not in prof.trace.instant_args


def test_what_memory_of_a_device_was_for() -> None:
    model = rt.nn.Sequential(rt.nn.Linear(64, 32), rt.nn.Tanh(), rt.nn.Linear(32, 1)).to(DEVICE)
    optimizer = rt.optim.Adam(model.parameters())
    x = rt.randn(128, 64).to(DEVICE)
    with profile() as prof:
        for _ in range(2):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
            prof.step()
    args, count = prof.trace.instant_args, len(prof.trace.instants)
    on_device = np.flatnonzero(args["Device Type"].dense(count) == 20)
    asked = args["Asked Bytes"].dense(count)
    category = dict(args["Category"])
    found: dict[str, list[int]] = {}
    for row in on_device.tolist():
        if asked[row] > 0:
            found.setdefault(category[row], []).append(int(asked[row]))
    sizes = [64 * 32 * 4, 32 * 4, 32 * 4, 4]  # of the parameters
    assert sorted(found["gradient"]) == sorted(2 * sizes)
    assert sorted(found["optimizer_state"]) == sorted(2 * sizes)  # two means, made in the first step
    assert 128 * 32 * 4 in found["activation"] and "temporary" in found
