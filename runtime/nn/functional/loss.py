"""Losses of classes and probabilities. `reduction` is "mean" or "sum" over all losses, or "none" to have each."""

import math
import warnings

import numpy as np

from ... import creation
from ..._core import Tensor, from_numpy
from ...errors import ArgumentError, IndexOutOfRange, ShapeError
from ...op import sample
from ...ops import nll, rectifier, reduce
from ...ops.binary import binary_nll
from ...ops.compare import gt, ne
from ...ops.index import take, take_along
from ...ops.pointwise import exp, log, where
from ...ops.shape import reshape, squeeze, unsqueeze
from ...ops.softmax import log_softmax
from ...ops.statistics import mean
from ...registry import composite

_CLASSES = np.array([2, 0, -100])


def reduced(name: str, losses: Tensor, reduction: str) -> Tensor:
    """The losses' mean or sum, or themselves. Raises ArgumentError for a reduction that is not there."""
    if reduction == "mean":
        out: Tensor = mean(losses)
    elif reduction == "sum":
        out = reduce.sum(losses)
    elif reduction == "none":
        out = losses
    else:
        raise ArgumentError(f"{name}: reduction is mean, sum or none, not {reduction!r}")
    return out


def warn_of_shapes(name: str, input: Tensor, target: Tensor) -> None:
    """Broadcasting inside a loss is rarely meant, and never where the input of one column meets a target of none."""
    if input.shape != target.shape:
        warnings.warn(f"{name}: input {input.shape} and target {target.shape} are broadcast", UserWarning, stacklevel=4)


def _weighted_mean(name: str, losses: Tensor, factors: Tensor, reduction: str) -> Tensor:
    """The losses' sum over that of the factors which they contain, for the mean."""
    if reduction != "mean":
        return reduced(name, losses, reduction)
    mean: Tensor = reduce.sum(losses) / reduce.sum(factors)
    return mean


def _class_weights(name: str, weight: Tensor | None, classes: int) -> None:
    if weight is not None and weight.shape != (classes,):
        raise ShapeError(f"{name}: weight has one number for each of {classes} classes, not {weight.shape}")


@composite(
    samples=(
        sample((3, 4), target=_CLASSES),
        sample((3, 4, 2), target=np.array([[1, 3], [0, 0], [2, 1]]), label_smoothing=0.2, reduction="sum"),
        sample((2, 3), (2, 3), label_smoothing=0.1),
    ),
    public=False,
)
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The negative logarithm of the probability that softmax(input) gives to the target.

    input: logits, (classes,), (N, classes) or (N, classes, ...). target: the classes' indices, in the shape of input
    without its axis of classes; those that are ignore_index do not count. Or probabilities, in the shape of input.
    weight: (classes,), factors of the classes, by which the mean is weighted. label_smoothing: how much of each target
    is spread evenly over all classes.
    Raises ShapeError, DTypeError, ArgumentError, and IndexOutOfRange for a class that is not there.

    >>> cross_entropy(tensor([[0.0, 0.0]]), tensor([1])).tolist()
    0.6931471824645996
    """
    axis = 1 if input.ndim > 1 else 0
    classes = input.shape[axis] if input.ndim else 0
    if not classes:
        raise ShapeError(f"cross_entropy: an input of shape {input.shape} has no classes")
    _class_weights("cross_entropy", weight, classes)
    if not 0 <= label_smoothing <= 1:
        raise ArgumentError(f"cross_entropy: label_smoothing is from 0 to 1, not {label_smoothing}")
    column = None if weight is None else reshape(weight, (-1, *[1] * (input.ndim - 1 - axis)))
    if target.dtype.kind == "f" and target.shape == input.shape:
        return _of_probabilities(input, target, column, axis, label_smoothing, reduction)
    losses: Tensor = nll.softmax_nll(input, target, axis=axis, ignore_index=ignore_index)
    counts = ne(target, ignore_index)
    if weight is None and not label_smoothing:
        return _weighted_mean("cross_entropy", losses, counts, reduction)
    factors = counts.astype(input.dtype)
    if weight is not None:
        factors = factors * take(weight, where(counts, target, 0))
        losses = losses * factors
    if label_smoothing:
        spread = log_softmax(input, axis) if column is None else log_softmax(input, axis) * column
        even = where(counts, reduce.sum(spread, axis=axis), 0)
        losses = (1 - label_smoothing) * losses - label_smoothing / classes * even
    return _weighted_mean("cross_entropy", losses, factors, reduction)


def _of_probabilities(
    input: Tensor, target: Tensor, column: Tensor | None, axis: int, smoothing: float, reduction: str
) -> Tensor:
    if smoothing:
        target = target * (1 - smoothing) + smoothing / input.shape[axis]
    terms = log_softmax(input, axis) * target
    losses: Tensor = -reduce.sum(terms if column is None else terms * column, axis=axis)
    return reduced("cross_entropy", losses, reduction)


@composite(samples=(sample((3, 4), target=_CLASSES), sample((4,), target=np.array(1))), public=False)
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """cross_entropy of logarithms of probabilities, such as log_softmax gives, and of classes' indices.

    >>> nll_loss(tensor([[-0.5, -1.5]]), tensor([1])).tolist()
    1.5
    """
    axis = 1 if input.ndim > 1 else 0
    wanted = input.shape[:axis] + input.shape[axis + 1 :]
    if input.ndim == 0 or target.shape != wanted:
        raise ShapeError(f"nll_loss: input {input.shape} needs a target of shape {wanted}, not {target.shape}")
    classes = input.shape[axis]
    _class_weights("nll_loss", weight, classes)
    counts = ne(target, ignore_index)
    safe = where(counts, target, 0)
    chosen = safe.numpy()
    if chosen.size and not 0 <= chosen.min() <= chosen.max() < classes:
        raise IndexOutOfRange(
            f"nll_loss: targets go from {chosen.min()} to {chosen.max()}, but there are classes 0 to {classes - 1}"
        )
    factors = counts.astype(input.dtype) if weight is None else where(counts, take(weight, safe), 0)
    losses = -squeeze(take_along(input, unsqueeze(safe, axis), axis), axis) * factors
    return _weighted_mean("nll_loss", losses, factors, reduction)


@composite(
    samples=(
        sample(np.array([[0.2, 0.7], [0.5, 0.9]]), np.array([[0.0, 1.0], [0.3, 1.0]])),
        sample(np.array([0.2, 0.7]), np.array([0.0, 1.0]), np.array([2.0, 0.5]), reduction="sum"),
    ),
    public=False,
)
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean"
) -> Tensor:
    """-(target * log(input) + (1 - target) * log(1 - input)), the logarithms no less than -100.

    input: probabilities; target: in its shape, from 0 to 1. weight: factors that broadcast. Raises ShapeError, and
    ArgumentError for an input that is no probability.

    >>> binary_cross_entropy(tensor([0.5]), tensor([1.0])).tolist()
    0.6931471824645996
    """
    if input.shape != target.shape:
        raise ShapeError(f"binary_cross_entropy: input {input.shape} needs a target of its shape, not {target.shape}")
    values = input.detach().numpy()
    if values.size and not 0 <= values.min() <= values.max() <= 1:
        raise ArgumentError(
            f"binary_cross_entropy: the input goes from {values.min()} to {values.max()}, but probabilities from 0 to "
            "1: binary_cross_entropy_with_logits takes other numbers"
        )
    losses: Tensor = binary_nll(input, target)
    return reduced("binary_cross_entropy", losses if weight is None else losses * weight, reduction)


@composite(samples=(sample((2, 3), (2, 3)), sample((2, 3), (2, 3), (3,), (1,), reduction="sum")), public=False)
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    *,
    reduction: str = "mean",
) -> Tensor:
    """binary_cross_entropy of sigmoid(input), accurate for large inputs too.

    target: in the shape of input. weight: factors that broadcast; pos_weight: of the targets' part alone.

    >>> binary_cross_entropy_with_logits(tensor([0.0]), tensor([1.0])).tolist()
    0.6931471824645996
    """
    if input.shape != target.shape:
        raise ShapeError(
            f"binary_cross_entropy_with_logits: input {input.shape} needs a target of its shape, not {target.shape}"
        )
    ours = rectifier.log_sigmoid(input)
    if pos_weight is not None:
        ours = ours * (1 + (pos_weight - 1) * target)
    losses: Tensor = (1 - target) * input - ours
    return reduced("binary_cross_entropy_with_logits", losses if weight is None else losses * weight, reduction)


@composite(samples=(sample((2, 3), (2, 3), log_target=True),), public=False)
def kl_div(input: Tensor, target: Tensor, *, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """The divergence of Kullback and Leibler, target * (log(target) - input); input: logarithms of probabilities.

    log_target: target holds logarithms too. reduction: also "batchmean", the sum over the first axis' size: that alone
    is the divergence's mean.

    >>> kl_div(log(tensor([[0.5, 0.5]])), tensor([[0.5, 0.5]])).tolist()
    0.0
    """
    if log_target:
        losses: Tensor = exp(target) * (target - input)
    else:
        some = gt(target, 0)
        losses = where(some, target * log(where(some, target, 1)), 0) - target * input
    if reduction == "batchmean":
        return reduced("kl_div", losses, "sum") / input.shape[0]
    return reduced("kl_div", losses, reduction)


@composite(samples=(sample((2, 3), (2, 3), np.array([[0.5], [2.0]]), full=True),), public=False)
def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """The negative logarithm of a normal distribution's density, input being its mean and var its variance.

    var: in the shape of input, or without its last axis or with that 1. eps: what the variance counts at least; it does
    not change the gradient. full: with the constant part, log(2 pi) / 2.

    >>> gaussian_nll_loss(tensor([1.0]), tensor([3.0]), tensor([1.0])).tolist()
    2.0
    """
    spread = var if isinstance(var, Tensor) else creation.full(input.shape, var, dtype=input.dtype, device=input.device)
    if spread.shape == input.shape[:-1]:
        spread = unsqueeze(spread, -1)
    elif spread.shape not in (input.shape, (*input.shape[:-1], 1)):
        raise ShapeError(f"gaussian_nll_loss: input {input.shape} needs a variance of its shape, not {spread.shape}")
    values = spread.detach().numpy()
    if np.any(values < 0):
        raise ArgumentError(f"gaussian_nll_loss: a variance is not negative, but there is {values.min()}")
    spread = spread + from_numpy(np.maximum(eps - values, 0), spread)
    losses: Tensor = 0.5 * (log(spread) + (input - target) ** 2 / spread)
    return reduced("gaussian_nll_loss", losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction)


@composite(samples=(sample((2, 3), target=np.array([[1.0, 0.5, 2.0]]), full=True),), public=False)
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    *,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Tensor:
    """The negative logarithm of a Poisson distribution's probability, but for the factorial of the target.

    input: the logarithm of its rate, or with log_input=False the rate, to which eps is added. full: with Stirling's
    approximation of the factorial's logarithm, of targets above 1.

    >>> poisson_nll_loss(tensor([0.0]), tensor([2.0])).tolist()
    1.0
    """
    losses = exp(input) - target * input if log_input else input - target * log(input + eps)
    if full:
        safe = where(gt(target, 1), target, 1.0)
        stirling = safe * log(safe) - safe + 0.5 * log(2 * math.pi * safe)
        losses = losses + where(gt(target, 1), stirling, 0.0)
    return reduced("poisson_nll_loss", losses, reduction)
