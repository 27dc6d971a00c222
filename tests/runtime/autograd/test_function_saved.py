"""What a Function saves for its backward."""

from typing import Any

import pytest

from perflab import runtime as rt
from perflab.runtime import AutogradError, Function, Tensor

from .square import Square, leaf


def test_a_saved_tensor_changed_in_place_is_refused() -> None:
    x = leaf([1.0])
    y = x * 1.0
    z = Square.apply(y)
    with rt.no_grad():
        y.add_(1.0)
    with pytest.raises(AutogradError, match="SquareBackward, is at version 1; expected version 0"):
        z.sum().backward()


def test_saved_tensors_through_grad_fn_and_after_the_graph_was_freed() -> None:
    x = leaf([3.0])
    y = Square.apply(x)
    assert y.grad_fn.saved_tensors[0] is x
    y.backward(retain_graph=True)
    assert y.grad_fn.saved_tensors[0] is x
    y.backward()
    with pytest.raises(AutogradError, match=r"SquareBackward: its saved tensors were freed.*retain_graph=True"):
        y.grad_fn.saved_tensors  # noqa: B018
    with pytest.raises(AutogradError, match="second time"):
        y.backward()


def test_saved_tensors_outside_of_backward() -> None:
    contexts: list[Any] = []

    class Leaky(Function):
        @staticmethod
        def forward(ctx: Any, a: Tensor) -> Tensor:
            contexts.append(ctx)
            ctx.save_for_backward(a)
            return a * 1.0

    Leaky.apply(leaf([1.0]))
    with pytest.raises(AutogradError, match="Leaky: saved_tensors are there in backward alone"):
        contexts[0].saved_tensors  # noqa: B018


def test_only_tensors_are_saved() -> None:
    class Number(Function):
        @staticmethod
        def forward(ctx: Any, a: Tensor) -> Tensor:
            ctx.save_for_backward(a, 3.0)
            return a

    with pytest.raises(TypeError, match="save_for_backward takes Tensors and None, argument 1 is a float"):
        Number.apply(leaf(1.0))


def test_an_intermediate_that_changes_is_refused() -> None:
    kept: list[Tensor] = []

    class Keeps(Function):
        @staticmethod
        def forward(ctx: Any, a: Tensor) -> Tensor:
            kept.append(a * 2.0)
            ctx.save_for_backward(kept[0])
            return a * a

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Tensor:
            return g * ctx.saved_tensors[0]

    y = Keeps.apply(leaf([1.0]))
    kept[0].add_(1.0)
    with pytest.raises(AutogradError, match="an intermediate value of KeepsBackward, is at version 1; expected"):
        y.backward()
