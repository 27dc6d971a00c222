"""The GIL: kept for short work, given away once by long work, taken back to enter Python."""

import os
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np

from perflab import runtime as rt
from perflab.runtime import Function, Tensor, _core

GIL = 5  # the recorder's kind for it


def gil_events(work: Any) -> list[tuple[str, int, int, int]]:
    """(reason, asked, got, gave back) of each acquisition while work runs."""
    _core.recorder_start(1_000_000)
    try:
        work()
    finally:
        _core.recorder_stop()
    names = _core.interned()
    found = []
    for _, events in _core.recorder_drain():
        for e in events[events["kind"] == GIL]:
            found.append((names[e["name"]], int(e["t0"]), int(e["t1"]), int(e["t2"])))
    return found


class Half(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        return a * 0.5

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return g * 0.5


def test_short_work_never_gives_it_away() -> None:
    w = rt.randn(8, 8).requires_grad_()
    assert gil_events(lambda: rt.relu(w @ w).sum().backward()) == []


def test_a_long_backward_gives_it_away_once_and_each_return_to_python_is_recorded() -> None:
    x = rt.randn(400, 400).requires_grad_()
    y = Half.apply(rt.tanh(Half.apply(rt.tanh(x)))).sum()
    events = gil_events(y.backward)
    assert [reason for reason, *_ in events] == ["HalfBackward", "HalfBackward", "return to Python"]
    stamps = [stamp for _, *three in events for stamp in three]
    assert stamps == sorted(stamps)


def test_another_thread_runs_during_a_long_backward() -> None:
    x = rt.randn(256, 256).requires_grad_()
    y = x
    for _ in range(200):
        y = rt.tanh(y @ x * 0.01)
    loss = y.sum()
    turns = 0
    inside: list[int] = []

    def spin() -> None:
        nonlocal turns
        while not stop.is_set():
            turns += 1

    stop = threading.Event()
    thread = threading.Thread(target=spin)
    thread.start()
    try:
        before = turns
        loss.backward()
        inside.append(turns - before)
    finally:
        stop.set()
        thread.join()
    assert inside[0] > 1000


def test_another_thread_runs_during_a_long_kernel() -> None:
    a = rt.randn(1500, 1500)
    went_on = threading.Event()
    started = threading.Event()

    def other() -> None:
        started.wait()
        went_on.set()

    thread = threading.Thread(target=other)
    thread.start()
    events = gil_events(lambda: (started.set(), a @ a))
    thread.join()
    assert went_on.is_set() and [reason for reason, *_ in events] == ["return to Python"]


def test_a_gradient_traced_at_a_long_kernel_beside_another_thread() -> None:
    """The first recording of an op enters Python; the kernel may have given the GIL away."""
    program = """if True:
        import threading
        from perflab import runtime as rt
        stop = []
        def spin():
            while not stop: rt.ones(2) + 1.0
        thread = threading.Thread(target=spin)
        thread.start()
        w = rt.full((512, 512), 0.001).requires_grad_()
        h = w
        for op in (rt.exp, rt.tanh, rt.relu, rt.sigmoid, rt.sqrt, rt.abs):
            h = op(h @ w) * rt.maximum(h, w) / (w + 1.0) - rt.minimum(h, w)
        h.sum().backward()
        stop.append(1)
        thread.join()
    """
    for _ in range(3):
        subprocess.run([sys.executable, "-X", "faulthandler", "-c", program], check=True, timeout=120)


def test_backward_works_in_a_forked_child() -> None:
    x = rt.ones(300, 300).requires_grad_()
    (x @ x).sum().backward()
    pid = os.fork()
    if pid == 0:
        x.grad = None
        (x @ x).sum().backward()
        os._exit(0 if x.grad is not None and x.grad[0, 0].item() == 600.0 else 1)
    deadline = time.monotonic() + 60
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        assert time.monotonic() < deadline, "the child hangs"
        time.sleep(0.01)
    assert os.waitstatus_to_exitcode(status) == 0


def test_a_numpy_kernel_inside_a_long_backward_takes_it() -> None:
    x = rt.randn(300, 300).requires_grad_()
    with rt.no_grad():
        plain = np.asarray(rt.randn(300, 300))

    class Numpy(Function):
        @staticmethod
        def forward(ctx: Any, a: Tensor) -> Tensor:
            return a * 1.0

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Tensor:
            return rt.from_numpy(np.asarray(g) * plain)

    rt.exp(Numpy.apply(rt.tanh(x) * 1.0)).sum().backward()
    assert x.grad is not None and np.isfinite(np.asarray(x.grad)).all()
