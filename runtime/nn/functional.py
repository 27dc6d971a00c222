"""Layers and losses as functions."""

from .._core import Tensor
from ..errors import ArgumentError, DTypeError, ShapeError
from ..ops.index import take, take_along
from ..ops.pointwise import relu, sigmoid, tanh
from ..ops.reduce import sum
from ..ops.shape import squeeze, transpose, unsqueeze
from ..ops.softmax import log_softmax, softmax
from ..registry import composite

__all__ = ["cross_entropy", "embedding", "linear", "log_softmax", "relu", "sigmoid", "softmax", "tanh"]


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.mT + bias. input: (..., in), weight: (out, in), bias: (out,); the result is (..., out)."""
    out: Tensor = input @ transpose(weight, -2, -1)
    return out if bias is None else out + bias


def embedding(input: Tensor, weight: Tensor) -> Tensor:
    """The rows of weight, (n, features), at the indices in input, of any shape: (*input.shape, features)."""
    rows: Tensor = take(weight, input, 0)
    return rows


@composite(samples=(), public=False)
def cross_entropy(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """The negative logarithm of the probability that softmax(input) gives the target class.

    input: logits, (classes,), (N, classes) or (N, classes, ...); target: the classes' indices, the shape of input
    without its axis of classes. reduction: "mean" or "sum" over all targets, or "none".
    Raises ShapeError, DTypeError, ArgumentError, and IndexOutOfRange for a class that is not there.
    """
    axis = 1 if input.ndim > 1 else 0
    wanted = input.shape[:axis] + input.shape[axis + 1 :]
    if wanted != target.shape:
        raise ShapeError(f"cross_entropy: input {input.shape} needs a target of shape {wanted}, not {target.shape}")
    if target.dtype.kind != "i":
        raise DTypeError(f"cross_entropy: target holds {target.dtype.name}, but class indices are int64 or int32")
    picked = take_along(log_softmax(input, axis), unsqueeze(target, axis), axis)
    if reduction == "mean":
        loss: Tensor = sum(picked) / -target.numel()
    elif reduction == "sum":
        loss = -sum(picked)
    elif reduction == "none":
        loss = -squeeze(picked, axis)
    else:
        raise ArgumentError(f"cross_entropy: reduction is mean, sum or none, not {reduction!r}")
    return loss
