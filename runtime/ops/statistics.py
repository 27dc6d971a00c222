"""Means and spreads. Composites: the native sum and few passes over memory are faster than kernels of numpy's."""

import math
from typing import Any

from ..op import sample
from ..registry import composite
from ..spec import Axes
from .compare import isnan
from .pointwise import sqrt, where
from .reduce import sum

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
