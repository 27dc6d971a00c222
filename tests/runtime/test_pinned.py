"""Pinned memory of the CPU: its pool, copies that go on behind the call, and what they leave alone until then."""

import subprocess
import sys
from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import pytest

import perflab.runtime as rt
from perflab.runtime import sim
from perflab.runtime.data import DataLoader
from perflab.runtime.pinned import pin_batch

from .test_sim import behind, shut

SIM = "sim:7"  # of this file
N = 1 << 20


@pytest.fixture(autouse=True)
def settled() -> Iterator[None]:
    sim.synchronize(SIM)
    yield
    sim.synchronize(SIM)


def test_a_pinned_copy_is_a_tensor_of_the_cpu() -> None:
    x = rt.arange(6.0).reshape(2, 3).mT.requires_grad_(True)
    pinned = x.pin_memory(SIM)
    assert pinned.device == "cpu" and pinned.tolist() == x.tolist() and not pinned.requires_grad
    assert (pinned.is_pinned(), pinned.is_pinned(SIM), pinned.is_pinned("sim:6")) == (True, True, False)
    assert pinned[1:].is_pinned() and not (pinned + 1).is_pinned() and not x.is_pinned()
    assert pinned.pin_memory(SIM) is pinned
    assert (pinned * 2).sum().item() == 30.0
    with pytest.raises(rt.DeviceError, match=f"this tensor is on {SIM}"):
        rt.ones(2, device=SIM).pin_memory(SIM)
    with pytest.raises(rt.DeviceError, match="for another device, not for the CPU itself"):
        x.pin_memory("cpu")


def test_a_freed_block_serves_again_but_not_while_a_copy_reads_it() -> None:
    stream = sim.Stream(SIM)
    source = rt.full((N,), 1.0).pin_memory(SIM)
    place = source.data_ptr()
    with shut() as gate, sim.stream(stream):
        behind(rt.ones(1, device=SIM), gate=gate)
        there = source.to(SIM, non_blocking=True)
        del source  # the copy has not begun
        other = rt.full((N,), 2.0).pin_memory(SIM)
        assert other.data_ptr() != place and not stream.query()
    stream.synchronize()
    assert there.cpu().sum().item() == N
    again = rt.full((N,), 3.0).pin_memory(SIM)
    assert again.data_ptr() == place


def test_pinned_memory_is_read_when_the_copy_comes_to_it_and_other_memory_at_once() -> None:
    stream = sim.Stream(SIM)
    pinned, plain = rt.zeros(4).pin_memory(SIM), rt.zeros(4)
    with shut() as gate, sim.stream(stream):
        behind(rt.ones(1, device=SIM), gate=gate)
        of_pinned, of_plain = pinned.to(SIM, non_blocking=True), plain.to(SIM, non_blocking=True)
        pinned.fill_(1)
        plain.fill_(1)
    stream.synchronize()
    assert of_pinned.tolist() == [1.0] * 4 and of_plain.tolist() == [0.0] * 4


def test_a_copy_to_the_cpu_that_is_not_waited_for_goes_into_pinned_memory() -> None:
    stream = sim.Stream(SIM)
    with sim.stream(stream):
        x = rt.arange(N, dtype=rt.float32, device=SIM)
    with shut() as gate, sim.stream(stream):
        behind(rt.ones(1, device=SIM), gate=gate)
        back = x.to("cpu", non_blocking=True)
        place = back.data_ptr()
        assert back.is_pinned(SIM) and not stream.query()
        del back
        other = x.to("cpu", non_blocking=True)
        assert other.data_ptr() != place  # the first copy will still write there
    stream.synchronize()
    assert other[-1].item() == N - 1 and not x.cpu().is_pinned()


def test_memory_that_another_device_pinned_is_waited_for() -> None:
    pinned, stream = rt.zeros(4).pin_memory("sim:6"), sim.Stream(SIM)
    with sim.stream(stream):
        there = pinned.to(SIM, non_blocking=True)
        assert stream.query()
    assert there.tolist() == [0.0] * 4


Pair = namedtuple("Pair", "x y")


def test_batches_are_pinned_with_their_structure() -> None:
    batch = {"a": [rt.ones(2), "text"], "b": Pair(rt.zeros(1), 3), "c": (rt.ones(1),)}
    found = pin_batch(batch, rt.device(SIM))
    assert found["a"][0].is_pinned(SIM) and found["a"][1] == "text" and found["a"][0].tolist() == [1.0, 1.0]
    assert isinstance(found["b"], Pair) and found["b"].x.is_pinned(SIM) and found["b"].y == 3
    assert isinstance(found["c"], tuple) and found["c"][0].is_pinned(SIM)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_loader_pins_its_batches(workers: int) -> None:
    loader: Any = DataLoader(rt.arange(6.0), batch_size=4, num_workers=workers, pin_memory=True, pin_memory_device=SIM)
    batches = list(loader)
    assert [batch.tolist() for batch in batches] == [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0]]
    assert all(batch.is_pinned(SIM) for batch in batches)


def test_without_an_accelerator_it_is_refused_as_in_pytorch_and_a_loader_warns() -> None:
    program = """
import warnings
import perflab.runtime as rt
from perflab.runtime.data import DataLoader
for call in (lambda: rt.empty(2, pin_memory=True), lambda: rt.ones(2).pin_memory()):
    try: call()
    except rt.DeviceError as error: print(error)
print(rt.ones(2).is_pinned())
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    print([batch.tolist() for batch in DataLoader(rt.arange(3), batch_size=3, pin_memory=True)])
print(told[0].message)
rt.ones(1, device="sim:0")
print(rt.empty(2, pin_memory=True).is_pinned("sim:0"))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stderr) == (0, "")
    refused, again, *rest = done.stdout.splitlines()
    assert refused == again and "nor is a simulated one in use" in refused
    warned = "DataLoader: pin_memory is set, but there is no accelerator to pin memory for"
    assert rest == ["False", "[[0, 1, 2]]", warned, "True"]
