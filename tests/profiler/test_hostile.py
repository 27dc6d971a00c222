"""Profiles around programs that go wrong, and that start and stop them from anywhere."""

import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from perflab import runtime as rt
from perflab.profiler import Trace, profile
from perflab.runtime import _core


def ops(trace: Trace) -> list[str]:
    return trace.name_of(trace.select(category="cpu_op"))


def test_kernels_that_throw() -> None:
    """What is recorded before and after is there, and nests."""
    a, b = rt.ones((2, 3)), rt.ones((4, 5))
    with profile() as prof:
        a + a
        for _ in range(3):
            with pytest.raises(ValueError, match="matmul"):
                a @ b
        with pytest.raises(rt.linalg.LinAlgError, match="Singular"):
            rt.linalg.inv(rt.zeros((2, 2)))
        a * a
    prof.trace.check()
    names = ops(prof.trace)
    assert (names[0], names[-1], names.count("matmul")) == ("add", "mul", 0)


def test_a_backward_that_throws() -> None:
    class Wrong(rt.Function):
        @staticmethod
        def forward(ctx: Any, a: rt.Tensor) -> rt.Tensor:
            return a * 2.0

        @staticmethod
        def backward(ctx: Any, gradient: rt.Tensor) -> rt.Tensor:
            with profile() as inside:
                gradient * 3.0
                windows.append(inside)
                raise KeyError("wrong")

    windows: list[profile] = []
    x = rt.ones((4,)).requires_grad_()
    with profile() as prof:
        with pytest.raises(KeyError, match="wrong"):
            Wrong.apply(x).sum().backward()
        x - x
    prof.trace.check()
    assert ops(prof.trace)[-1] == "sub"
    assert ops(windows[0].trace) == ["mul"]
    assert windows[0].trace.metadata["reason"] == "KeyError: 'wrong'"


def test_a_generator_that_another_thread_closes() -> None:
    x, found = rt.ones((4,)), []

    def batches() -> Iterator[int]:
        with profile() as prof:
            found.append(prof)
            x + x
            yield 1

    left = batches()
    next(left)
    thread = threading.Thread(target=left.close)
    thread.start()
    thread.join()
    assert ops(found[0].trace) == ["add"] and not _core.is_recording()


def test_a_generator_that_the_garbage_collector_closes() -> None:
    """Also while another profile begins or ends: these allocate, so that a collection may run in them."""
    x, found = rt.ones((4,)), []

    def batches() -> Iterator[int]:
        me = yield 0  # type: ignore[misc]
        with profile() as prof:
            found.append(prof)
            yield 1
        del me

    threshold = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        for _ in range(20):
            left = batches()
            next(left)
            left.send(left)  # it holds itself
            del left
            with profile() as prof:
                x + x
            assert ops(prof.trace) == ["add"]
    finally:
        gc.set_threshold(*threshold)
    gc.collect()
    assert len(found) == 20 and not _core.is_recording()


def test_threads_that_start_and_stop_all_the_time() -> None:
    x = rt.ones((4,))
    wrong: list[object] = []

    def work(number: int) -> None:
        name = f"of {number}"
        for _ in range(25):
            with profile() as prof:
                x + x
                prof.step()
                if number % 2:
                    prof.dump("in the midst")
            own = [
                row
                for row in prof.trace.select(category="cpu_op").tolist()
                if prof.trace.tracks[prof.trace.slices.track[row]].name == name
            ]
            if len(own) != 1:
                wrong.append((name, len(own)))

    threads = [threading.Thread(target=work, args=(number,), name=f"of {number}") for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and not _core.is_recording()


def test_signals_in_the_midst_of_beginning_and_ending() -> None:
    """In a process of its own: its alarm is nobody else's."""
    program = """
import signal, threading
from perflab import runtime as rt
from perflab.profiler import profile

x, inner, outer, own = rt.ones((4,)), set(), set(), threading.Thread.start

def handler(number, frame):
    with profile() as prof:
        x * x
    inner.add(len(prof.trace.select(name="mul")))
    handler.calls += 1
    if handler.calls < 100:  # at another moment each time
        signal.setitimer(signal.ITIMER_REAL, 1e-4 * (1 + handler.calls % 17))

handler.calls = 0
with profile():  # measures what recording costs
    pass
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 1e-4)
while handler.calls < 100:
    prof = profile()
    prof.start()
    x + x
    prof.stop()
    outer.add(len(prof.trace.select(name="add")))
print(inner, outer, threading.Thread.start is own)
"""
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "{1} {1} True\n", "")
