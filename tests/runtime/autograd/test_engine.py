"""The backward pass: order, long chains, passes within passes, threads, exceptions, signals, fork."""

import math
import os
import subprocess
import sys
import threading
import traceback
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import Function, Tensor


def leaf(values: Any) -> Tensor:
    return rt.tensor(values, dtype=rt.float64, requires_grad=True)


def test_a_chain_of_a_million_nodes() -> None:
    x = rt.ones(1, requires_grad=True)
    y = x
    for _ in range(1_000_000):
        y = -y
    y.backward()
    assert x.grad is not None and x.grad.item() == 1.0
    del y


def test_a_long_chain_is_released_without_backward() -> None:
    nodes = rt.memory.live_stats()["live_nodes"]
    y = rt.ones(1, requires_grad=True)
    for _ in range(300_000):
        y = -y
    del y
    assert rt.memory.live_stats()["live_nodes"] == nodes


def test_threads_share_leaves_and_a_graph() -> None:
    x = leaf(np.ones(64))
    shared = (x * 2.0).exp().sum()
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(200):
                (x * 3.0).sum().backward()
                shared.backward(retain_graph=True)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    expected = 4 * 200 * (3.0 + 2.0 * math.exp(2.0))
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-9)  # type: ignore[union-attr]


def test_nodes_run_in_the_reverse_order_of_their_making() -> None:
    x = leaf(1.0)
    order: list[str] = []

    def named(t: Tensor, name: str) -> Tensor:
        t.register_hook(lambda g: order.append(name))
        return t

    a = named(x * 1.0, "a")
    b = named(a * 2.0, "b")
    c = named(a * 3.0, "c")
    d = named(c * 4.0, "d")
    e = named(b * 5.0, "e")
    (e + d).backward()
    assert order == ["e", "d", "c", "b", "a"]


def test_a_node_waits_for_all_gradients_also_in_a_wide_front() -> None:
    x = leaf(1.0)
    y = x * 1.0
    calls: list[float] = []
    y.register_hook(lambda g: calls.append(g.item()))
    rt.stack([y * float(i) for i in range(100)]).sum().backward()
    assert calls == [4950.0] and x.grad is not None and x.grad.item() == 4950.0


class Nested(Function):
    """Its gradient comes out of a backward pass of its own, `depth` levels deep."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, depth: int) -> Tensor:
        ctx.depth = depth
        ctx.save_for_backward(a)
        return a * 2.0

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
        (a,) = ctx.saved_tensors
        inner = a.detach().requires_grad_()
        with rt.enable_grad():
            y = Nested.apply(inner, ctx.depth - 1) if ctx.depth else inner * 3.0
        y.backward()
        assert inner.grad is not None
        return g * inner.grad + 1.0, None


@pytest.mark.parametrize("depth", [1, 100, 500])
def test_passes_within_passes(depth: int) -> None:
    x = leaf(1.0)
    Nested.apply(x * 1.0, depth).backward()
    assert x.grad is not None and x.grad.item() == 3.0 + depth + 1.0


def test_passes_far_within_passes_keep_the_modes() -> None:
    """They run on threads of their own."""
    seen: list[tuple[int, str]] = []
    depths: list[int] = []

    class Watching(rt.DispatchMode):
        def __dispatch__(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            seen.append((len(depths), op.record.name))
            return op(*args, **kwargs)

    class Down(Function):
        @staticmethod
        def forward(ctx: Any, a: Tensor, depth: int) -> Tensor:
            ctx.depth = depth
            ctx.save_for_backward(a)
            return a * 2.0

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
            depths.append(ctx.depth)
            (a,) = ctx.saved_tensors
            assert (rt.is_autocast_enabled(), rt.is_grad_enabled()) == (False, False)
            with rt.enable_grad():
                y = Down.apply(leaf(1.0), ctx.depth - 1) if ctx.depth else leaf(1.0).exp()
            y.backward()
            return g * a, None

    packed: list[int] = []
    hooks = rt.autograd.graph.saved_tensors_hooks(lambda t: packed.append(len(depths)) or t, lambda t: t)
    with hooks, Watching():
        Down.apply(leaf(1.0), 130).backward()
    assert depths == list(range(130, -1, -1))
    assert (131, "exp") in seen
    assert set(range(131)) <= {depth for depth, _ in seen}
    assert packed == list(range(132))


class Failing(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, fails: list[bool]) -> Tensor:
        ctx.fails = fails
        return a * 1.0

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
        if ctx.fails.pop():
            raise LookupError("on purpose")
        return g, None


def test_an_exception_keeps_its_traceback_and_leaves_the_graph_usable() -> None:
    x = leaf(2.0)
    y = (Failing.apply(x * x, [False, True]) * 3.0).exp()
    with pytest.raises(LookupError, match="on purpose") as caught:
        y.backward(retain_graph=True)
    frames = [f.name for f in traceback.extract_tb(caught.tb)]
    assert frames[-1] == "backward" and frames[0] == "test_an_exception_keeps_its_traceback_and_leaves_the_graph_usable"
    assert x.grad is None
    y.backward()
    assert x.grad is not None and x.grad.item() == pytest.approx(math.exp(12.0) * 12.0)


def test_an_exception_from_deep_within_comes_out() -> None:
    class Deep(Function):
        @staticmethod
        def forward(ctx: Any, a: Tensor, depth: int) -> Tensor:
            ctx.depth = depth
            return a * 1.0

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
            if not ctx.depth:
                raise LookupError("at the bottom")
            with rt.enable_grad():
                Deep.apply(leaf(1.0), ctx.depth - 1).backward()
            return g, None

    with pytest.raises(LookupError, match="at the bottom"):
        Deep.apply(leaf(1.0), 150).backward()


def test_threads_with_hooks_and_python_functions_share_leaves() -> None:
    x = leaf(np.ones(8))
    calls: list[int] = []
    x.register_hook(lambda g: calls.append(1))
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(50):
                Failing.apply(x * 2.0, [False]).sum().backward()
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors and len(calls) == 200
    assert x.grad is not None and x.grad.tolist() == [400.0] * 8


def test_ctrl_c_stops_a_long_pass() -> None:
    code = """if True:
        import os, signal, threading
        from perflab import runtime as rt
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is started without
        x = rt.ones(3000, requires_grad=True)
        y = x
        for _ in range(300_000):
            y = y * 1.0
        begun = threading.Event()
        def press():
            begun.wait()
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=press).start()
        handle = y.register_hook(lambda g: begun.set())
        try:
            y.sum().backward(retain_graph=True)
        except KeyboardInterrupt:
            print("stopped", x.grad)
        handle.remove()
        y.sum().backward()
        print("again", x.grad[0].item())
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "stopped None\nagain 1.0\n"), done.stderr


def test_fork_after_a_pass() -> None:
    x = leaf(np.ones(1000))
    (x * 2.0).sum().backward()
    child = os.fork()
    if not child:
        status = 1
        try:
            (x * 3.0).exp().sum().backward()
            status = int(x.grad is None or not np.allclose(x.grad.numpy(), 2.0 + 3.0 * np.exp(3.0)))
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    (x * 3.0).sum().backward()
    assert x.grad is not None and x.grad[0].item() == 5.0
