"""Devices on the timeline: launches, kernels on the tracks of their streams, arrows, copies, and modelled time."""

import gc
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import perflab.runtime as rt
from perflab.profiler import Trace, profile
from perflab.profiler.analysis.devices import device_use
from perflab.profiler.importers import read
from perflab.runtime import sim

SIM = "sim:3"


def names(trace: Trace, category: str, pid: int | None = None) -> list[str]:
    rows = [i for i, c in enumerate(trace.slices.category) if trace.strings[c] == category]
    rows = [i for i in rows if pid is None or trace.tracks[trace.slices.track[i]].pid == pid]
    return [trace.strings[trace.slices.name[i]] for i in rows]


def test_launches_lead_to_kernels_on_the_tracks_of_their_streams() -> None:
    x, stream = rt.ones(64, 64, device=SIM), sim.Stream(SIM)
    stream.wait_stream(sim.current_stream(SIM))
    sim.synchronize(SIM)
    with profile() as prof:
        y = x @ x
        with sim.stream(stream):
            z = x + 1
        rt.rand(3, device=SIM)
        y.sum().item()
        stream.synchronize()
    assert z[0, 0].item() == 2
    trace, number = prof.trace, rt.device(SIM).number
    assert trace.metadata["simulated"]["clock"] == "real" and SIM in trace.metadata["simulated"]["devices"]  # type: ignore[index, call-overload]
    assert sorted(names(trace, "kernel", number)) == [
        "add_native_float32 (sim)",
        "matmul_native_float32 (sim)",
        "random_uniform (sim)",
        "sum_native_float32 (sim)",
    ]
    assert names(trace, "gpu_memcpy", number) == ["Memcpy DtoH (sim)"]
    launches = names(trace, "cuda_runtime")
    assert launches.count("simLaunchKernel") == 4 and launches.count("simMemcpyAsync") == 1
    assert launches.count("simStreamSynchronize") == 2  # of item(), and ours
    of_track = {
        trace.strings[n].split("_")[0]: trace.tracks[t]
        for n, t, c in zip(trace.slices.name, trace.slices.track, trace.slices.category, strict=True)
        if trace.strings[c] == "kernel" and trace.tracks[t].pid == number
    }
    assert (of_track["matmul"].tid, of_track["matmul"].name, of_track["matmul"].process) == (0, "stream 0", SIM)
    assert of_track["add"].tid == stream.stream_id != 0
    flows = [i for i, n in enumerate(trace.flows.name) if trace.strings[n] == "ac2g"]
    ends = {
        (trace.strings[trace.slices.name[a]], trace.strings[trace.slices.name[b]])
        for a, b in zip(trace.flows.source[flows], trace.flows.target[flows], strict=True)
    }
    assert len(flows) == 5 and ("simMemcpyAsync", "Memcpy DtoH (sim)") in ends
    assert ("simLaunchKernel", "matmul_native_float32 (sim)") in ends
    starts, targets = trace.slices.start[trace.flows.source[flows]], trace.slices.start[trace.flows.target[flows]]
    assert np.all(starts <= targets)
    (use,) = [use for use in device_use(trace) if use.name == SIM]
    assert 0 < use.busy_ns <= use.span_ns and use.copy_ns > 0


def test_memory_of_a_device_is_told_apart_from_the_process_s() -> None:
    gc.collect()  # of tensors of other tests
    held = rt.ones(1000, device=SIM)
    before = rt.memory.memory_allocated(SIM)
    with profile() as prof:
        made = held * 2
        del held
        made.sum().item()
    trace, number = prof.trace, rt.device(SIM).number
    args = {key: dict(column) for key, column in trace.instant_args.items()}
    rows = [row for row, kind in args["Device Type"].items() if kind == 20]
    changes = [(args["Asked Bytes"][row], args["Bytes"][row], args["Total Allocated"][row]) for row in rows]
    assert changes == [  # the product, the operand, the sum, which goes
        (4000, 4096, before + 4096),
        (-4000, -4096, before),
        (4, 512, before + 512),
        (-4, -512, before),
    ]
    assert {args["Device Id"][row] for row in rows} == {3} and {args["Stream"][row] for row in rows} == {0}
    (track,) = [i for i, t in enumerate(trace.tracks) if (t.pid, t.tid) == (number, 0)]
    counted = np.flatnonzero(trace.counters.name == trace.string_id(f"Allocated {SIM}"))
    assert set(trace.counters.track[counted].tolist()) == {track}
    assert trace.counters.value[counted].tolist() == [total for _, _, total in changes]


def test_what_is_written_is_read_as_it_was(tmp_path: Path) -> None:
    x = rt.ones(8, device=SIM)
    with profile() as prof:
        (x * 2).sum().item()
    prof.export_chrome_trace(tmp_path / "trace.json.gz")
    back = read(tmp_path / "trace.json.gz").trace
    number = rt.device(SIM).number
    assert sorted(names(back, "kernel", number)) == ["mul_native_float32 (sim)", "sum_native_float32 (sim)"]
    assert sum(back.strings[n] == "ac2g" for n in back.flows.name) == 3


PROGRAM = """
import sys
import perflab.runtime as rt
from perflab.profiler import profile, record_function
from perflab.runtime import nn, optim, sim
rt.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Dropout(0.1), nn.Linear(256, 8)).to("sim:0")
optimizer = optim.AdamW(model.parameters())
x, y = rt.randn(128, 64).to("sim:0"), rt.randint(0, 8, (128,)).to("sim:0")
side = sim.Stream()
def step():
    with record_function("forward"):
        loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    side.wait_stream(sim.current_stream())
    with sim.stream(side):
        rt.cumsum(x, 0)
    return loss.item()
for _ in range(3):
    step()
with sim.modelled("A100"), profile() as prof:
    for _ in range(3):
        step()
        prof.step()
prof.export_chrome_trace(sys.argv[1])
"""


def test_traces_in_modelled_time_are_equal_in_every_run(tmp_path: Path) -> None:
    files = [tmp_path / f"{n}.json" for n in range(2)]
    for file in files:
        done = subprocess.run([sys.executable, "-c", PROGRAM, file], capture_output=True, text=True, timeout=240)
        assert (done.returncode, done.stderr) == (0, "")
    assert files[0].read_bytes() == files[1].read_bytes()
    trace = read(files[0]).trace
    assert trace.metadata["simulated"] == {"devices": ["sim:0"], "clock": "modelled", "model": "A100 SXM 80GB"}
    assert names(trace, "user_annotation").count("forward") == 3 and not names(trace, "gil")
    starts: dict[str, list[tuple[int, int]]] = {}
    for name, start, duration in zip(trace.slices.name, trace.slices.start, trace.slices.duration, strict=True):
        starts.setdefault(trace.strings[name], []).append((int(start), int(duration)))
    kernels = starts["matmul_native_float32 (sim)"]
    flops, moved = 2 * 128 * 64 * 256, 4 * (128 * 64 + 64 * 256 + 128 * 256)
    assert kernels[0][1] == pytest.approx(max(flops / 19.5e12, moved / 2.039e12) * 1e9, abs=1)
    launches = sorted(starts["simLaunchKernel"])
    assert {duration for _, duration in launches} == {4000}
    assert all(b[0] - a[0] >= 4000 for a, b in pairwise(launches))
