"""Means and spreads. Composites: the native sum and few passes over memory are faster than kernels of numpy's."""

import builtins
import math
from collections import namedtuple
from typing import Any

from ..errors import ShapeError
from ..op import sample
from ..registry import composite
from ..spec import Axes
from .bounds import clip
from .compare import isnan
from .part import diagonal
from .pointwise import sqrt, where
from .reduce import amax, amin, sum
from .shape import unsqueeze

_SAMPLES = (sample((2, 3)), sample((2, 3), axis=1), sample((2, 3, 4), axis=(0, -1), keepdims=True))


def _count(shape: tuple[int, ...], axis: Axes) -> int:
    """How many elements lie along the axes."""
    if axis is None:
        return math.prod(shape)
    if isinstance(axis, int):
        return shape[axis] if shape else 1
    return math.prod([shape[i] for i in axis])


@composite(samples=_SAMPLES)
def mean(a: Any, axis: Axes = None, keepdims: bool = False, *, dim: Axes = None, keepdim: bool = False) -> Any:
    """The mean over the axes, of all elements by default; of ints, as floats.

    >>> mean(tensor([[1.0, 2.0], [3.0, 6.0]]), axis=1).tolist()
    [1.5, 4.5]
    """
    axis = dim if axis is None else axis
    return sum(a, axis=axis, keepdims=keepdims or keepdim) / _count(a.shape, axis)


@composite(samples=(*_SAMPLES, sample((2, 3), axis=1, correction=1)))
def var(
    a: Any,
    axis: Axes = None,
    correction: float = 0.0,
    keepdims: bool = False,
    *,
    unbiased: bool = False,
    dim: Axes = None,
    keepdim: bool = False,
) -> Any:
    """The variance over the axes, of all elements by default: the squared distances from the mean, added up and
    divided by their number less `correction`.

    The correction is 0 by default, as the array API says; PyTorch's default is 1, spelled `unbiased=True` here.

    >>> var(tensor([1.0, 3.0])).tolist()
    1.0
    """
    axis, keepdims = dim if axis is None else axis, keepdims or keepdim
    centred = a - mean(a, axis=axis, keepdims=True)
    degrees = _count(a.shape, axis) - (1 if unbiased else correction)
    return sum(centred * centred, axis=axis, keepdims=keepdims) / (degrees if degrees > 0 else 0)


@composite(samples=(*_SAMPLES, sample((2, 3), axis=1, correction=1)))
def std(
    a: Any,
    axis: Axes = None,
    correction: float = 0.0,
    keepdims: bool = False,
    *,
    unbiased: bool = False,
    dim: Axes = None,
    keepdim: bool = False,
) -> Any:
    """The standard deviation over the axes, of all elements by default: the square root of var, with its arguments.

    Where it is 0 so is its gradient.

    >>> std(tensor([1.0, 3.0])).tolist()
    1.0
    """
    squared = var(a, axis=axis, correction=correction, keepdims=keepdims, unbiased=unbiased, dim=dim, keepdim=keepdim)
    flat = squared == 0  # where sqrt has no slope
    return where(flat, 0, sqrt(where(flat, 1, squared)))


@composite(samples=_SAMPLES)
def var_mean(a: Any, axis: Axes = None, **given: Any) -> Any:
    """The variance and the mean over the axes, with var's arguments.

    >>> [x.item() for x in var_mean(tensor([1.0, 3.0]))]
    [1.0, 2.0]
    """
    return var(a, axis, **given), mean(a, axis, **_of_mean(given))


@composite(samples=_SAMPLES)
def std_mean(a: Any, axis: Axes = None, **given: Any) -> Any:
    """The standard deviation and the mean over the axes, with var's arguments.

    >>> [x.item() for x in std_mean(tensor([1.0, 3.0]))]
    [1.0, 2.0]
    """
    return std(a, axis, **given), mean(a, axis, **_of_mean(given))


def _of_mean(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name not in ("correction", "unbiased")}


@composite(samples=_SAMPLES)
def nansum(a: Any, axis: Axes = None, keepdims: bool = False, *, dim: Axes = None, keepdim: bool = False) -> Any:
    """The sum over the axes of the elements that are not NaN, of all by default.

    >>> nansum(tensor([1.0, float("nan"), 2.0])).tolist()
    3.0
    """
    return sum(where(isnan(a), 0, a), axis=dim if axis is None else axis, keepdims=keepdims or keepdim)


@composite(samples=_SAMPLES)
def nanmean(a: Any, axis: Axes = None, keepdims: bool = False, *, dim: Axes = None, keepdim: bool = False) -> Any:
    """The mean over the axes of the elements that are not NaN, of all by default.

    >>> nanmean(tensor([1.0, float("nan"), 2.0])).tolist()
    1.5
    """
    axis, keepdims = dim if axis is None else axis, keepdims or keepdim
    return nansum(a, axis=axis, keepdims=keepdims) / sum(a == a, axis=axis, keepdims=keepdims)


@composite(samples=(sample((3, 4)), sample((4,)), sample((3, 4), correction=0)))
def cov(a: Any, *, correction: float = 1) -> Any:
    """The covariances of variables, the rows of a, over observations, its columns: (rows, rows); of a vector, its
    variance.

    >>> cov(tensor([[1.0, 3.0], [2.0, 6.0]])).tolist()
    [[2.0, 4.0], [4.0, 8.0]]
    """
    if a.ndim > 2:
        raise ShapeError(f"cov: it takes at most 2 axes, variables and observations, not shape {a.shape}")
    count = a.shape[-1] if a.ndim else 1
    centred = a - mean(a, axis=-1, keepdims=True) if a.ndim else a - a
    degrees = builtins.max(count - correction, 0)
    return sum(centred * centred) / degrees if a.ndim < 2 else centred @ centred.mT / degrees


@composite(samples=(sample((3, 4)), sample((4,))))
def corrcoef(a: Any) -> Any:
    """The correlations (Pearson's) of variables, the rows of a, over observations, its columns; of a vector, 1.

    >>> corrcoef(tensor([[1.0, 3.0], [6.0, 2.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    covariances = cov(a)
    if a.ndim < 2:
        return covariances / covariances
    spreads = sqrt(diagonal(covariances))
    return clip(covariances / (unsqueeze(spreads, 1) * unsqueeze(spreads, 0)), -1, 1)


AminMax = namedtuple("AminMax", ["min", "max"])


@composite(samples=(sample((2, 3)), sample((2, 3), axis=1, keepdims=True)))
def aminmax(a: Any, *, axis: int | None = None, keepdims: bool = False) -> AminMax:
    """The smallest and the largest element, of an axis or of all: (min, max).

    >>> [x.item() for x in aminmax(tensor([3.0, 1.0]))]
    [1.0, 3.0]
    """
    return AminMax(amin(a, axis=axis, keepdims=keepdims), amax(a, axis=axis, keepdims=keepdims))
