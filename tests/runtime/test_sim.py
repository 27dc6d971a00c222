"""The simulated accelerator: order, events, copies, capacity, errors that come later, forks, and the model's time."""

import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import perflab.runtime as rt
from perflab.runtime import nn, optim, sim
from perflab.runtime.spec import Spec

SIM = "sim:2"  # of this file: what other tests left on a device shows neither in its memory nor in its failures
GATES: dict[int, threading.Event] = {}


@rt.library.custom_op("simtest::behind")
def behind(a: rt.Tensor, *, gate: int) -> rt.Tensor:
    """A copy of a, once its gate is open."""
    GATES[gate].wait()
    return a.copy()


@behind.register_fake
def _(a: Spec, *, gate: int) -> Spec:
    return a


@contextmanager
def shut() -> Iterator[int]:
    """A gate that is open when the block is left."""
    number = len(GATES)
    GATES[number] = threading.Event()
    try:
        yield number
    finally:
        GATES[number].set()


@pytest.fixture(autouse=True)
def settled() -> Iterator[None]:
    yield
    gc.collect()  # tensors in cycles
    sim.synchronize(SIM)
    rt.memory.empty_cache(SIM)
    sim.set_capacity(16 << 30, SIM)


def test_calls_return_before_the_work_is_done() -> None:
    x, stream = rt.ones(4, device=SIM), sim.Stream(SIM)
    stream.wait_stream(sim.current_stream(SIM))
    with shut() as gate, sim.stream(stream):
        assert sim.current_stream(SIM) == stream != sim.default_stream(SIM)
        y = behind(x, gate=gate) * 3
        event = stream.record_event()
        assert not stream.query() and not event.query()
        assert sim.current_stream() == stream and sim.current_stream("sim:1").stream_id == 0
        GATES[gate].set()
        event.synchronize()
        assert event.query() and y.tolist() == [3.0] * 4
    assert sim.current_stream(SIM) == sim.default_stream(SIM)


def test_streams_run_beside_each_other_and_wait_where_they_are_told() -> None:
    one, two, x = sim.Stream(SIM), sim.Stream(SIM), rt.ones(4, device=SIM)
    sim.synchronize(SIM)
    with shut() as gate:
        with sim.stream(one):
            slow = behind(x, gate=gate) + 1
        with sim.stream(two):
            assert (x + 1).tolist() == [2.0] * 4  # while the other is held
            two.wait_stream(one)
            slow.record_stream(two)
            after = slow * 2
            assert not two.query()
        GATES[gate].set()
        assert after.device == SIM
        two.synchronize()
        with sim.stream(two):
            assert after.tolist() == [4.0] * 4


def test_memory_goes_back_to_its_stream_and_waits_for_the_streams_that_use_it() -> None:
    one, two, n = sim.Stream(SIM), sim.Stream(SIM), 1 << 20
    with sim.stream(one):
        x = rt.ones(n, device=SIM)
    place = x.data_ptr()
    two.wait_stream(one)
    with shut() as gate, sim.stream(two):
        y = behind(x, gate=gate)
        x.record_stream(two)
        del x
        with sim.stream(one):
            other = rt.zeros(n, device=SIM)  # not where x was: it is still read
            assert other.data_ptr() != place
        GATES[gate].set()
        two.synchronize()
        assert y.sum().item() == n
        with sim.stream(one):
            assert rt.zeros(n, device=SIM).data_ptr() == place
    with sim.stream(one):
        fresh = rt.zeros(n, device=SIM)
        at = fresh.data_ptr()
        del fresh
    with sim.stream(two):
        assert rt.zeros(n, device=SIM).data_ptr() != at  # it belongs to the other stream


def test_streams_that_memory_does_not_know_are_refused() -> None:
    x = rt.ones(2, device=SIM)
    for wrong in (None, 3):
        with pytest.raises(rt.ArgumentError, match=f"give a Stream of the tensor's device, not {wrong}"):
            x.record_stream(wrong)
    with pytest.raises(rt.DeviceError, match="the stream is of sim:3, and the tensor is on sim:2"):
        x.record_stream(sim.Stream("sim:3"))
    with pytest.raises(rt.DeviceError, match="and the tensor is on cpu"):
        rt.ones(2).record_stream(sim.Stream(SIM))


def test_events_tell_the_time_between_them() -> None:
    begin, end = sim.Event(enable_timing=True), sim.Event(enable_timing=True)
    with pytest.raises(rt.DeviceError, match="must be recorded and have passed"):
        begin.elapsed_time(end)
    with sim.stream(sim.Stream(SIM)):
        begin.record()
        rt.ones(4, device=SIM)
        end.record()
        end.synchronize()
    assert begin.elapsed_time(end) >= 0 >= end.elapsed_time(begin)
    with pytest.raises(rt.DeviceError, match="enable_timing=True"):
        sim.Event().elapsed_time(end)
    assert sim.Event().query()


def test_copies_may_go_on_behind_the_call() -> None:
    source, stream = rt.arange(1000.0), sim.Stream(SIM)
    with shut() as gate, sim.stream(stream):
        behind(rt.ones(1, device=SIM), gate=gate)
        there = source.to(SIM, non_blocking=True)
        back = there.to("cpu", non_blocking=True)
        assert not stream.query()
        GATES[gate].set()
        stream.synchronize()
        assert back.tolist() == source.tolist()


def test_what_fails_on_the_device_is_raised_by_the_next_call_that_waits() -> None:
    x, index = rt.ones(3, device=SIM), rt.tensor([7], device=SIM)
    for wait in (lambda: sim.synchronize(SIM), lambda: x.sum().item(), lambda: bool((x > 0).all()), lambda: print(x)):
        y = rt.take(x, index, 0)
        assert y.shape == (1,)
        with pytest.raises(rt.IndexOutOfRange, match="take: index 7 is out of range"):
            wait()
        wait()  # it is told once

    @rt.library.custom_op("simtest::fails")
    def fails(a: rt.Tensor) -> rt.Tensor:
        """Does not work."""
        raise KeyError("of our own")

    fails.register_fake(lambda a: a)
    fails(x)
    with pytest.raises(KeyError, match="of our own") as raised:
        sim.default_stream(SIM).synchronize()
    assert [frame.name for frame in raised.traceback][-1] == "fails"


def test_what_does_not_fit_is_refused_and_work_goes_on() -> None:
    sim.set_capacity(64 << 20, SIM)
    held = rt.ones(10 << 20, device=SIM)  # 40 MiB
    with pytest.raises(rt.OutOfMemoryError, match="sim:2"):
        rt.ones(10 << 20, device=SIM)
    assert held.sum().item() == 10 << 20
    del held
    assert rt.ones(10 << 20, device=SIM).sum().item() == 10 << 20
    with pytest.raises(rt.ArgumentError, match="bytes of the device are used or cached"):
        sim.set_capacity(1 << 20, SIM)
    for wrong in (-5, 1 << 63, "1GiB"):
        with pytest.raises(rt.ArgumentError, match="give a number of bytes from 0, not"):
            sim.set_capacity(wrong, SIM)  # type: ignore[arg-type]


def test_a_batch_that_does_not_fit_is_halved() -> None:
    model = nn.Sequential(nn.Linear(64, 1024), nn.GELU(), nn.Linear(1024, 1)).to(SIM)
    optimizer = optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    x, batch, done = rt.randn(8192, 64).to(SIM), 8192, 0
    sim.set_capacity(rt.memory.memory_reserved(SIM) + (56 << 20), SIM)
    sizes = []
    while done < len(x):
        part = x[done : done + batch]
        try:
            model(part).square().mean().backward()
        except rt.OutOfMemoryError:
            batch //= 2
            optimizer.zero_grad()
            continue
        optimizer.step()
        optimizer.zero_grad()
        sizes.append(len(part))
        done += len(part)
    assert sum(sizes) == 8192 and batch < 8192 and set(sizes) == {batch}


def test_a_training_loop_in_steady_state_asks_the_device_for_nothing() -> None:
    model = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 8)).to(SIM)
    optimizer = optim.Adam(model.parameters())
    counts = []
    for _ in range(8):
        x, y = rt.randn(128, 32).to(SIM), rt.randint(0, 8, (128,)).to(SIM)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
        stats = rt.memory.memory_stats(SIM)
        counts.append((stats["num_device_alloc"], stats["reserved_bytes.all.current"]))
    assert len(set(counts[2:])) == 1


def test_backward_runs_on_the_streams_of_forward() -> None:
    one, two = sim.Stream(SIM), sim.Stream(SIM)
    a = rt.arange(256.0, device=SIM, requires_grad=True)
    b = rt.ones(256, device=SIM, requires_grad=True)
    for s in (one, two):
        s.wait_stream(sim.current_stream(SIM))
    with shut() as gate:
        with sim.stream(one):
            first = behind(a.detach(), gate=gate) * a * a
        with sim.stream(two):
            second = (b * 3).exp()
        for s in (one, two):
            sim.current_stream(SIM).wait_stream(s)
        loss = (first + second).sum()
        loss.backward()
        assert sim.current_stream(SIM) == sim.default_stream(SIM)
        GATES[gate].set()
    assert a.grad is not None and b.grad is not None
    np.testing.assert_allclose(a.grad.numpy(), 2.0 * np.arange(256.0) ** 2, rtol=1e-6)
    np.testing.assert_allclose(b.grad.numpy(), np.full(256, 3 * np.exp(3.0)), rtol=1e-5)


def test_threads_share_a_device_each_with_its_own_current_stream() -> None:
    sums: dict[int, float] = {}

    def work(number: int) -> None:
        stream = sim.Stream(SIM)
        with sim.stream(stream):
            total = rt.zeros(64, device=SIM)
            for _ in range(20):
                total = total + rt.full((64,), float(number), device=SIM)
            sums[number] = total.sum().item()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sums == {n: 64.0 * 20 * n for n in range(8)}


def run(program: str) -> str:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program]  # of forks beside threads
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_process_may_end_with_work_under_way() -> None:
    program = """
import perflab.runtime as rt
x = rt.randn(300, 300, device="sim")
for _ in range(50): x = rt.sort(x @ x, axis=0) / 300
print("end")
"""
    assert run(program) == "end\n"


def test_a_forked_child_begins_anew() -> None:
    program = """
import os
import perflab.runtime as rt
x = rt.ones(4, device="sim")
assert (x + 1).tolist() == [2.0] * 4
child = os.fork()
assert (rt.ones(4, device="sim") + 2).tolist() == [3.0] * 4
if child:
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run(program) == "0\n"


# --- modelled time

SPEC = sim.SimSpec(
    flops={"other": 1e12, "float64": 5e11}, bandwidth=1e11, launch_us=2, copy_bandwidth=1e10, capacity=1 << 30
)


def test_modelled_time_is_that_of_flops_bytes_and_launches() -> None:
    a, b = rt.ones(512, 512, device=SIM), rt.ones(512, 512, device=SIM)
    begin, middle, end, last = (sim.Event(enable_timing=True) for _ in range(4))
    with sim.modelled(SPEC, SIM) as spec:
        assert sim.model() is spec is SPEC
        begin.record(sim.current_stream(SIM))
        c = a @ b
        middle.record(sim.current_stream(SIM))
        a + b
        end.record(sim.current_stream(SIM))
        c.cpu()
        last.record(sim.current_stream(SIM))
        last.synchronize()
        assert begin.elapsed_time(middle) == pytest.approx(2e-3 + 2 * 512**3 / 1e12 * 1e3, rel=1e-3)
        assert end.elapsed_time(last) == pytest.approx(4 * 512**2 / 1e10 * 1e3, rel=1e-3)
        assert middle.elapsed_time(end) == pytest.approx(3 * 4 * 512**2 / 1e11 * 1e3, rel=1e-3)
        with pytest.raises(rt.ArgumentError, match="modelled time is kept already"), sim.modelled("H100"):
            pass
    assert sim.model() is None and c[0, 0].item() == 512


def test_specs_are_checked() -> None:
    with pytest.raises(rt.ArgumentError, match="no preset 'P100', only T4, A100"), sim.modelled("P100"):
        pass
    for wrong in ({"flops": {"float32": 1.0}}, {"bandwidth": 0.0}, {"launch_us": -1.0}):
        with pytest.raises(rt.ArgumentError, match="SimSpec"):
            sim.SimSpec(**{**SPEC.__dict__, **wrong})  # type: ignore[arg-type]
    assert sim.PRESETS["H100"].flops_of("bfloat16") == 989.5e12 and sim.PRESETS["A100"].flops_of("float32") == 19.5e12
    assert sim.PRESETS["T4"].flops_of("bfloat16") == 8.1e12  # Turing has tensor cores for float16 alone
    with pytest.raises(rt.DeviceError, match="a simulated device is wanted, as 'sim:0', not cpu"):
        sim.Stream("cpu")
