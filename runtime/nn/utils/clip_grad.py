"""Gradients are kept from growing too large."""

import math
from collections.abc import Iterable

from ..._core import Tensor
from ...autograd import no_grad
from ...creation import zeros
from ...errors import ArgumentError, AutogradError
from ...ops.pointwise import abs, maximum, minimum
from ...ops.reduce import amax, sum
from ...ops.shape import stack

Tensors = Tensor | Iterable[Tensor]


@no_grad()
def get_total_norm(tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Tensor:
    """The norm of all elements of these tensors together, 0-d; norm_type: its order, a number or math.inf."""
    parts = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not parts:
        return zeros(())
    total = _norm(stack([_norm(part, norm_type) for part in parts]), norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise AutogradError(
            f"the total norm of order {norm_type} is {total.item()}, so gradients cannot be clipped; "
            "error_if_nonfinite=False scales them all the same"
        )
    return total


@no_grad()
def clip_grads_with_norm_(parameters: Tensors, max_norm: float, total_norm: Tensor) -> None:
    """Scale the gradients by max_norm / total_norm where that is below 1."""
    factor = minimum(max_norm / (total_norm + 1e-6), 1.0)
    for gradient in _gradients(parameters):
        gradient.mul_(factor.astype(gradient.dtype))


def clip_grad_norm_(
    parameters: Tensors, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Scale the gradients so that their total norm is at most max_norm; gives the norm that it was.

    Raises AutogradError with error_if_nonfinite when that is no finite number.
    """
    held = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    total = get_total_norm(_gradients(held), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(held, max_norm, total)
    return total


@no_grad()
def clip_grad_value_(parameters: Tensors, clip_value: float) -> None:
    """Move each element of the gradients into [-clip_value, clip_value]."""
    for gradient in _gradients(parameters):
        gradient.copy_(maximum(minimum(gradient, clip_value), -clip_value))


def _gradients(parameters: Tensors) -> list[Tensor]:
    held = [parameters] if isinstance(parameters, Tensor) else parameters
    return [p.grad for p in held if p.grad is not None]


def _norm(a: Tensor, order: float) -> Tensor:
    if order == math.inf:
        return amax(abs(a))  # type: ignore[no-any-return]
    if not order > 0:
        raise ArgumentError(f"norm_type is a number above 0 or inf, not {order}")
    powers: Tensor = sum(a * a) if order == 2 else sum(abs(a) ** order)
    return powers ** (1 / order)
