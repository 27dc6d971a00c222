"""Distances, lengths and angles, and the losses that are made of them."""

import numpy as np

from ..._core import Tensor
from ...errors import ArgumentError, ShapeError
from ...op import sample
from ...ops.compare import eq, lt
from ...ops.pointwise import abs, maximum, minimum, relu, sqrt, where
from ...ops.reduce import amax, sum
from ...registry import composite
from .loss import reduced, warn_of_shapes


@composite(samples=(sample((2, 3), (2, 3)),), public=False)
def mse_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """The squares of the differences.

    >>> mse_loss(tensor([1.0, 2.0]), tensor([1.0, 4.0])).tolist()
    2.0
    """
    warn_of_shapes("mse_loss", input, target)
    off = input - target
    return reduced("mse_loss", off * off, reduction)


@composite(samples=(sample((2, 3), (2, 3), reduction="sum"),), public=False)
def l1_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """The absolute differences.

    >>> l1_loss(tensor([1.0, 2.0]), tensor([1.0, 4.0])).tolist()
    1.0
    """
    warn_of_shapes("l1_loss", input, target)
    return reduced("l1_loss", abs(input - target), reduction)


def _rounded(off: Tensor, bend: float) -> Tensor:
    """Squares / 2 up to the bend, and the straight line from there, of absolute differences."""
    out: Tensor = where(lt(off, bend), 0.5 * off * off, bend * (off - 0.5 * bend))
    return out


@composite(samples=(sample((2, 3), (2, 3)), sample((2, 3), (2, 3), beta=0.5)), public=False)
def smooth_l1_loss(input: Tensor, target: Tensor, *, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """l1_loss, but a parabola where the difference is below beta: d * d / (2 * beta), else d - beta / 2.

    >>> smooth_l1_loss(tensor([1.0, 2.0]), tensor([1.0, 4.0])).tolist()
    0.75
    """
    warn_of_shapes("smooth_l1_loss", input, target)
    if beta < 0:
        raise ArgumentError(f"smooth_l1_loss: beta is at least 0, not {beta}")
    off = abs(input - target)
    return reduced("smooth_l1_loss", _rounded(off, beta) / beta if beta else off, reduction)


@composite(samples=(sample((2, 3), (2, 3)), sample((2, 3), (2, 3), delta=0.5)), public=False)
def huber_loss(input: Tensor, target: Tensor, *, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """smooth_l1_loss times delta (Huber, 1964).

    >>> huber_loss(tensor([1.0, 2.0]), tensor([1.0, 4.0])).tolist()
    0.75
    """
    warn_of_shapes("huber_loss", input, target)
    if delta <= 0:
        raise ArgumentError(f"huber_loss: delta is above 0, not {delta}")
    return reduced("huber_loss", _rounded(abs(input - target), delta), reduction)


def _length(a: Tensor, p: float, axis: int, least: float, keepdims: bool) -> Tensor:
    """The p-norm along the axis, no less than `least`. Where it is 0 its gradient is 0."""
    if p == 2:
        out: Tensor = sqrt(maximum(sum(a * a, axis=axis, keepdims=keepdims), least * least))
    elif p == 1:
        out = maximum(sum(abs(a), axis=axis, keepdims=keepdims), least)
    elif p == float("inf"):
        out = maximum(amax(abs(a), axis=axis, keepdims=keepdims), least)
    else:
        out = maximum(sum(abs(a) ** p, axis=axis, keepdims=keepdims), least**p) ** (1 / p)
    return out


@composite(samples=(sample((2, 3)), sample((2, 3), p=1.0, dim=0)), public=False)
def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """input divided by its p-norm along the axis, or by eps where that is more.

    >>> normalize(tensor([[3.0, 4.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    out: Tensor = input / _length(input, p, dim, eps, True)
    return out


@composite(samples=(sample((2, 3), (2, 3)), sample((2, 3), (3,), dim=-1)), public=False)
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between x1 and x2 along the axis; lengths are no less than eps.

    >>> cosine_similarity(tensor([[1.0, 0.0]]), tensor([[1.0, 1.0]])).tolist()
    [0.7071067690849304]
    """
    lengths = _length(x1, 2, dim, eps, False) * _length(x2, 2, dim, eps, False)
    out: Tensor = sum(x1 * x2, axis=dim) / lengths
    return out


@composite(samples=(sample((2, 3), (2, 3)), sample((2, 3), (2, 3), p=1.0, keepdim=True)), public=False)
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last axis.

    >>> pairwise_distance(tensor([3.0, 0.0]), tensor([0.0, 4.0]), eps=0.0).tolist()
    5.0
    """
    return _length(x1 - x2 + eps, p, -1, 0.0, keepdim)


@composite(samples=(sample((2, 3), (2, 3), target=np.array([1, -1]), margin=-0.9),), public=False)
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, *, reduction: str = "mean"
) -> Tensor:
    """1 - the cosine of the angle between the inputs where target is 1; the cosine above the margin where it is -1.

    input1, input2: (N, features) or (features,); target: (N,) or ().

    >>> cosine_embedding_loss(tensor([1.0, 0.0]), tensor([1.0, 0.0]), tensor(1)).tolist()
    0.0
    """
    if input1.ndim not in (1, 2) or input1.shape != input2.shape or target.shape != input1.shape[:-1]:
        raise ShapeError(
            "cosine_embedding_loss: two inputs (N, features) and a target (N,) are needed, or all without N, not "
            f"{input1.shape}, {input2.shape} and {target.shape}"
        )
    lengths = sqrt((sum(input1 * input1, axis=-1) + 1e-12) * (sum(input2 * input2, axis=-1) + 1e-12))
    cosine = sum(input1 * input2, axis=-1) / lengths
    losses: Tensor = where(eq(target, 1), 1 - cosine, where(eq(target, -1), relu(cosine - margin), 0))
    return reduced("cosine_embedding_loss", losses, reduction)


@composite(samples=(sample((3,), (3,), (3,), margin=0.5),), public=False)
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, *, reduction: str = "mean"
) -> Tensor:
    """How much input1 is not above input2 by the margin, where target is 1; and the other way round where it is -1.

    >>> margin_ranking_loss(tensor([1.0, 1.0]), tensor([3.0, 0.0]), tensor([1, 1])).tolist()
    1.0
    """
    return reduced("margin_ranking_loss", relu(margin - target * (input1 - input2)), reduction)


@composite(samples=(sample((2, 3), (2, 3), (2, 3)), sample((2, 3), (2, 3), (2, 3), swap=True)), public=False)
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    *,
    reduction: str = "mean",
) -> Tensor:
    """How much the anchor is not nearer to the positive than to the negative by the margin (Balntas and others, 2016).

    swap: the negative's distance to the positive counts where it is less than that to the anchor.

    >>> triplet_margin_loss(tensor([[0.0]]), tensor([[3.0]]), tensor([[2.5]]), eps=0.0).tolist()
    1.5
    """
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduced("triplet_margin_loss", relu(margin + near - far), reduction)
