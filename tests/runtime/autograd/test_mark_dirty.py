"""Functions that change their inputs in place."""

from typing import Any

import pytest

from perflab import runtime as rt
from perflab.runtime import AutogradError, Function, Tensor


def leaf(value: Any) -> Tensor:
    return rt.tensor(value, dtype=rt.float64, requires_grad=True)


class Doubled(Function):
    """In place."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        a.mul_(2.0).add_(b)
        ctx.mark_dirty(a)
        return a

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor]:
        return g * 2.0, g


def test_mark_dirty_changes_the_input_and_its_history() -> None:
    x, b = leaf([1.0, 2.0]), leaf([10.0, 20.0])
    y = x * 3.0
    z = Doubled.apply(y, b)
    assert z is y and y.tolist() == [16.0, 32.0] and y._version == 2
    assert y.grad_fn is not None and y.grad_fn.name() == "DoubledBackward"
    assert y.grad_fn.next_functions[0][0].name() == "MulBackward0"
    (z * z).sum().backward()
    assert x.grad is not None and b.grad is not None
    assert (x.grad.tolist(), b.grad.tolist()) == ([192.0, 384.0], [32.0, 64.0])


def test_mark_dirty_of_a_view_gives_its_base_the_history() -> None:
    x, b = leaf([1.0, 2.0]), leaf(10.0)
    y = x * 3.0
    Doubled.apply(y[1], b)
    assert y.tolist() == [3.0, 22.0]
    y.sum().backward()
    assert x.grad is not None and b.grad is not None
    assert (x.grad.tolist(), b.grad.item()) == ([3.0, 6.0], 1.0)


def test_mark_dirty_makes_a_constant_require_grad() -> None:
    x, b = rt.ones(2, dtype=rt.float64), leaf([10.0, 20.0])
    Doubled.apply(x, b)
    assert x.requires_grad
    x.sum().backward()
    assert b.grad is not None and b.grad.tolist() == [1.0, 1.0]


def test_mark_dirty_of_a_leaf_is_refused() -> None:
    with pytest.raises(AutogradError, match="a leaf that requires grad is changed in place"):
        Doubled.apply(leaf([1.0]), leaf([1.0]))


@pytest.mark.parametrize(("returns", "message"), [(False, "not returned"), (True, "not an input")])
def test_mark_dirty_takes_inputs_that_are_returned(returns: bool, message: str) -> None:
    class Misused(Function):
        @staticmethod
        def forward(ctx: Any, a: Tensor) -> Any:
            other = a * 2.0
            ctx.mark_dirty(other if returns else a)
            return other

    with pytest.raises(AutogradError, match=rf"Misused: a tensor of shape \(1,\) was given to mark_dirty, .*{message}"):
        Misused.apply(leaf([1.0]))
