"""Losses."""

from ..._core import Tensor
from ...errors import ArgumentError
from ...ops import nll
from ...ops.compare import ne
from ...ops.reduce import sum
from ...registry import composite


def check_reduction(name: str, reduction: str) -> None:
    """Raises ArgumentError for a reduction that is not there."""
    if reduction not in ("mean", "sum", "none"):
        raise ArgumentError(f"{name}: reduction is mean, sum or none, not {reduction!r}")


@composite(samples=(), public=False)
def cross_entropy(input: Tensor, target: Tensor, *, ignore_index: int = -100, reduction: str = "mean") -> Tensor:
    """The negative logarithm of the probability that softmax(input) gives the target class.

    input: logits, (classes,), (N, classes) or (N, classes, ...); target: the classes' indices, the shape of input
    without its axis of classes; those that are ignore_index do not count. reduction: "mean" or "sum" over all targets,
    or "none".
    Raises ShapeError, DTypeError, ArgumentError, and IndexOutOfRange for a class that is not there.
    """
    check_reduction("cross_entropy", reduction)
    losses: Tensor = nll.softmax_nll(input, target, axis=1 if input.ndim > 1 else 0, ignore_index=ignore_index)
    if reduction == "none":
        return losses
    total: Tensor = sum(losses)
    return total if reduction == "sum" else total / sum(ne(target, ignore_index))
