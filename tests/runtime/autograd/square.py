"""A Function with a saved tensor, and leaves to call it with."""

from typing import Any

from perflab import runtime as rt
from perflab.runtime import Function, Tensor


class Square(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        ctx.save_for_backward(a)
        return a * a

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (a,) = ctx.saved_tensors
        return 2.0 * a * g


def leaf(value: Any) -> Tensor:
    return rt.tensor(value, dtype=rt.float64, requires_grad=True)
