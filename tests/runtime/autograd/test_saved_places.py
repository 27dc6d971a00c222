"""What a Function saves that is neither its input nor its output keeps its place in the graph."""

from typing import Any

import pytest

from perflab import runtime as rt
from perflab.runtime import AutogradError, Function, Tensor


def leaf(value: Any) -> Tensor:
    return rt.tensor(value, dtype=rt.float64, requires_grad=True)


def times(a: Tensor, captured: Tensor) -> Tensor:
    """a * captured, with `captured` no argument of the function."""

    class Times(Function):
        @staticmethod
        def forward(ctx: Any, a: Tensor) -> Tensor:
            ctx.save_for_backward(captured)
            return a * captured

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Tensor:
            (saved,) = ctx.saved_tensors
            assert saved.requires_grad and saved.tolist() == captured.tolist()
            return g * saved

    result: Tensor = Times.apply(a)
    return result


def test_a_captured_leaf_comes_back_and_gets_a_second_gradient() -> None:
    a, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = times(a, w)
    assert y.grad_fn is not None and y.grad_fn.saved_tensors[0] is w
    (first,) = rt.autograd.grad(y.sum(), a, create_graph=True)
    assert first.tolist() == [3.0, 4.0]
    (first * first).sum().backward()
    assert w.grad is not None and w.grad.tolist() == [6.0, 8.0]
    assert a.grad is None


def test_a_captured_intermediate_comes_back_with_its_node() -> None:
    a, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    exp = w.exp()
    y = times(a, exp)
    assert y.grad_fn is not None and y.grad_fn.saved_tensors[0].grad_fn is exp.grad_fn
    (first,) = rt.autograd.grad(y.sum(), a, create_graph=True)
    first.sum().backward()
    assert w.grad is not None and w.grad.tolist() == exp.tolist()


def test_without_create_graph_nothing_flows_there() -> None:
    a, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    times(a, w.exp()).sum().backward()
    assert a.grad is not None and w.grad is None


def test_what_forward_records_itself_comes_back_too() -> None:
    class Cube(Function):
        @staticmethod
        def forward(ctx: Any, a: Tensor) -> Tensor:
            with rt.enable_grad():
                square = a * a
            ctx.save_for_backward(a, square)
            return square.detach() * a

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Tensor:
            _, square = ctx.saved_tensors
            return 3.0 * square * g

    x = leaf(2.0)
    (first,) = rt.autograd.grad(Cube.apply(x), x, create_graph=True)
    assert first.item() == 12.0
    first.backward()
    assert x.grad is not None and x.grad.item() == 12.0


def test_a_packed_one_keeps_its_place() -> None:
    a, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    with rt.autograd.graph.save_on_cpu():
        y = times(a, w.exp())
    (first,) = rt.autograd.grad(y.sum(), a, create_graph=True)
    first.sum().backward()
    assert w.grad is not None and w.grad.tolist() == w.exp().tolist()


def test_one_that_was_changed_in_place_is_refused() -> None:
    a, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = times(a, w)
    with rt.no_grad():
        w.mul_(2.0)
    with pytest.raises(AutogradError, match=r"an intermediate value of TimesBackward, is at version 1; expected"):
        y.sum().backward()
