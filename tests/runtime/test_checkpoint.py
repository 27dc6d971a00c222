"""Checkpointing: parts of forward are run again in backward."""

import gc
import weakref
from typing import Any

import pytest

from perflab import runtime as rt
from perflab.runtime import AutogradError, Tensor
from perflab.runtime.utils.checkpoint import checkpoint

BOTH = pytest.mark.parametrize("use_reentrant", [False, True])


def leaf(values: Any) -> Tensor:
    return rt.tensor(values, dtype=rt.float64, requires_grad=True)


@BOTH
def test_gradients_are_those_without_it(use_reentrant: bool) -> None:
    calls: list[int] = []

    def block(x: Tensor, w: Tensor, n: int) -> Tensor:
        calls.append(n)
        return (x * w).exp() * x

    grads = []
    for run in (block, lambda *args: checkpoint(block, *args, use_reentrant=use_reentrant)):
        x, w = leaf([0.5, 1.0]), leaf([2.0, 3.0])
        y = run(x, w, 3)
        calls.clear()
        y.sum().backward()
        assert x.grad is not None and w.grad is not None
        grads.append((x.grad.tolist(), w.grad.tolist()))
    assert grads[0] == grads[1] and calls == [3]


@BOTH
def test_random_numbers_are_drawn_again(use_reentrant: bool) -> None:
    drawn: list[list[float]] = []

    def block(x: Tensor) -> Tensor:
        noise = rt.rand(3)
        drawn.append(noise.tolist())
        return (x * noise).exp()

    rt.manual_seed(3)
    y = checkpoint(block, rt.ones(3, requires_grad=True), use_reentrant=use_reentrant)
    after = rt.get_rng_state().tolist()
    rt.rand(5)
    y.sum().backward()
    assert drawn[0] == drawn[1]
    drawn.clear()
    rt.manual_seed(3)
    y = checkpoint(block, rt.ones(3, requires_grad=True), use_reentrant=use_reentrant, preserve_rng_state=False)
    assert rt.get_rng_state().tolist() == after
    y.sum().backward()
    assert drawn[0] != drawn[1]


def test_the_intermediate_values_are_not_kept() -> None:
    def block(x: Tensor) -> Tensor:
        for _ in range(10):
            x = x.exp().log()
        return x

    x = rt.ones(1000, requires_grad=True)
    held = []
    for run in (block, lambda x: checkpoint(block, x)):
        gc.collect()  # what other tests left in cycles
        before = rt.memory.live_stats()["allocated_bytes"]
        y = run(x)
        held.append(rt.memory.live_stats()["allocated_bytes"] - before)
        del y
    assert held == [11 * 4000, 4000]  # each exp keeps its output


def test_values_of_the_second_run_are_let_go_when_used() -> None:
    live = rt.memory.live_stats()["live_nodes"]
    x = leaf([1.0])
    y = checkpoint(lambda x: x.exp().exp().exp(), x)
    y.backward()
    del y
    gc.collect()
    assert rt.memory.live_stats()["live_nodes"] == live


def test_keywords_and_several_outputs() -> None:
    def block(x: Tensor, *, factor: float, other: Tensor) -> tuple[Tensor, Tensor]:
        return x.exp() * factor, x * other

    x, other = leaf([0.0]), leaf([5.0])
    first, second = checkpoint(block, x, factor=3.0, other=other)
    (first.sum() + second.sum()).backward()
    assert x.grad is not None and other.grad is not None
    assert (x.grad.tolist(), other.grad.tolist()) == ([8.0], [0.0])
    with pytest.raises(TypeError, match="with use_reentrant=True keywords are not taken: factor, other"):
        checkpoint(block, x, use_reentrant=True, factor=3.0, other=other)


def test_a_second_pass_runs_it_again() -> None:
    calls: list[int] = []
    x = leaf([2.0])
    y = checkpoint(lambda x: calls.append(1) or (x * x).exp(), x)
    y.backward(retain_graph=True)
    y.backward()
    assert len(calls) == 3
    with pytest.raises(AutogradError, match="second time"):
        y.backward()


def test_nested() -> None:
    calls: list[str] = []

    def inner(x: Tensor) -> Tensor:
        calls.append("inner")
        return (x * x).exp()

    def outer(x: Tensor) -> Tensor:
        calls.append("outer")
        return checkpoint(inner, x * 2.0) * x

    plain = leaf([0.5])
    (((plain * 2.0) * (plain * 2.0)).exp() * plain).backward()
    x = leaf([0.5])
    y = checkpoint(outer, x)
    assert calls == ["outer", "inner"]
    y.backward()
    assert x.grad is not None and plain.grad is not None and x.grad.tolist() == pytest.approx(plain.grad.tolist())
    assert calls[2] == "outer" and calls.count("inner") >= 3


def test_gradients_of_gradients() -> None:
    x = leaf([2.0])
    y = checkpoint(lambda x: x * x * x, x)
    (first,) = rt.autograd.grad(y, x, create_graph=True)
    (second,) = rt.autograd.grad(first, x)  # type: ignore[arg-type]
    assert first is not None and second is not None and (first.item(), second.item()) == (12.0, 12.0)


def test_without_recording_it_is_the_function() -> None:
    with rt.no_grad():
        assert checkpoint(lambda x: x * 2.0, leaf([1.0])).tolist() == [2.0]


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (lambda x: x.exp().exp(), lambda x: x.exp(), "saved 2 tensors in forward and 1 when it ran again"),
        (
            lambda x: x.exp(),
            lambda x: x[:1].exp(),
            r"saved tensor 0 was float64 \(2,\) in forward and is float64 \(1,\)",
        ),
    ],
)
def test_a_function_that_does_something_else_is_refused(first: Any, second: Any, message: str) -> None:
    runs = [first, second]
    y = checkpoint(lambda x: runs.pop(0)(x), leaf([1.0, 2.0]))
    with pytest.raises(AutogradError, match=message):
        y.sum().backward()


def test_an_argument_changed_in_place_is_refused() -> None:
    x = leaf([1.0]) * 1.0
    y = checkpoint(lambda x: x.exp(), x)
    with rt.no_grad():
        x.add_(1.0)
    with pytest.raises(AutogradError, match="modified by an inplace operation"):
        y.backward()


def test_reentrant_needs_an_output_that_requires_grad() -> None:
    y = checkpoint(lambda x: x.detach() * 1.0, leaf([1.0]), use_reentrant=True)
    with pytest.raises(AutogradError, match="none of its outputs requires grad"):
        y.backward()


def test_the_arguments_are_let_go() -> None:
    class Marked(Tensor):
        pass

    x = Marked(rt.ones(2)).requires_grad_()
    alive = weakref.ref(x)
    y = checkpoint(lambda a: a.exp(), x)
    y.sum().backward()
    del x, y
    gc.collect()
    assert alive() is None
