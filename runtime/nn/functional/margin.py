"""Losses that are 0 beyond a margin."""

import numpy as np

from ..._core import Tensor
from ...errors import ArgumentError, ShapeError
from ...op import sample
from ...ops.compare import eq
from ...ops.exponential import log1p
from ...ops.index import take, take_along
from ...ops.pad import one_hot
from ...ops.pointwise import exp, relu, where
from ...ops.reduce import sum
from ...ops.shape import unsqueeze
from ...registry import composite
from .loss import reduced

_SIGNS = np.array([[1.0, -1.0, 1.0], [-1.0, 1.0, 1.0]], np.float32)


@composite(samples=(sample((2, 3), target=_SIGNS), sample((2, 3), target=_SIGNS, margin=0.5)), public=False)
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, *, reduction: str = "mean") -> Tensor:
    """input, a distance, where target is 1; how much it is below the margin where it is -1.

    >>> hinge_embedding_loss(tensor([0.5, 0.25]), tensor([1.0, -1.0])).tolist()
    0.625
    """
    losses: Tensor = where(eq(target, 1), input, where(eq(target, -1), relu(margin - input), 0))
    return reduced("hinge_embedding_loss", losses, reduction)


@composite(samples=(sample((2, 3), target=_SIGNS),), public=False)
def soft_margin_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target * input)), of targets 1 and -1.

    >>> soft_margin_loss(tensor([0.0]), tensor([1.0])).tolist()
    0.6931471824645996
    """
    if input.shape != target.shape:
        raise ShapeError(f"soft_margin_loss: input {input.shape} and target {target.shape} differ")
    off = -target * input
    losses: Tensor = relu(off) + log1p(exp(-off.abs()))
    return reduced("soft_margin_loss", losses, reduction)


@composite(
    samples=(sample((2, 3), target=np.array([2, 0])), sample((3,), target=np.array(1), p=2, margin=0.5)), public=False
)
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    *,
    reduction: str = "mean",
) -> Tensor:
    """How much each other class's score is not below the target's by the margin, to the power p, over the classes.

    input: (N, classes) or (classes,); target: (N,) or (), indices of classes; weight: (classes,), factors by target.

    >>> multi_margin_loss(tensor([0.5, 0.0]), tensor(0)).tolist()
    0.25
    """
    if p not in (1, 2):
        raise ArgumentError(f"multi_margin_loss: p is 1 or 2, not {p}")
    if input.ndim not in (1, 2) or target.shape != input.shape[:-1]:
        raise ShapeError(
            f"multi_margin_loss: input {input.shape} needs a target {input.shape[:-1]}, not {target.shape}"
        )
    classes = input.shape[-1]
    own = take_along(input, unsqueeze(target, -1), axis=-1)
    off = relu(margin - own + input) ** p
    others: Tensor = where(eq(one_hot(target, classes), 1), 0, off)
    losses = sum(others, axis=-1) / classes
    return reduced("multi_margin_loss", losses if weight is None else losses * take(weight, target), reduction)
