"""Running sums, products and extrema along an axis."""

from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..errors import ShapeError
from ..op import sample
from ..registry import composite, primitive
from ..spec import DType
from .compare import eq, gt
from .index import take_along
from .part import place
from .pointwise import exp, log, where
from .shape import concat, expand

_SAMPLES = (
    sample((4,), axis=0),
    sample((2, 3, 2), axis=1),
    sample((2, 3), axis=-1, reverse=True),
    sample((0, 3), axis=0),
    sample((), axis=0),
)


class Extrema(NamedTuple):
    """Running extrema and where they were found."""

    values: Any
    indices: Any


def _running(xp: Any, ufunc: Any, a: Any, axis: int, reverse: bool, exclusive: bool = False, none: int = 0) -> Any:
    """none: what no elements make."""
    if a.ndim == 0:
        return xp.full_like(a, none) if exclusive else a
    if reverse:
        return xp.flip(_running(xp, ufunc, xp.flip(a, axis), axis, False, exclusive, none), axis)
    if exclusive and a.shape[axis]:  # each place holds the element before it
        shifted, along = xp.full_like(a, none), (slice(None),) * (axis % a.ndim)
        shifted[(*along, slice(1, None))] = a[(*along, slice(-1))]
        a = shifted
    return ufunc.accumulate(a, axis, dtype=a.dtype)


@primitive(
    rule="same_axis",
    dtype="sum",
    flops=lambda a, out, axis, reverse, exclusive, dtype: a.size,
    samples=(*_SAMPLES, sample((2, 3), axis=1, exclusive=True)),
    public=False,
    kinds="bifc",
    autocast="float32",
)
def running_sum(xp, a, *, axis: int, reverse: bool = False, exclusive: bool = False, dtype: DType | None = None):
    """The sum of each element and those before it along an axis, or of those after it; in `dtype` as sum has it.
    With `exclusive`, without the element itself.

    >>> running_sum(tensor([1.0, 2.0, 3.0]), axis=0, reverse=True).tolist()
    [6.0, 5.0, 3.0]
    """
    return _running(xp, xp.add, a, axis, reverse, exclusive)


@running_sum.vjp
def _(ct, *, axis: int, reverse: bool, exclusive: bool):
    return running_sum(ct, axis=axis, reverse=not reverse, exclusive=exclusive)


@primitive(
    rule="same_axis",
    dtype="sum",
    flops=lambda a, out, axis, reverse, exclusive, dtype: a.size,
    samples=(
        sample((4,), axis=0),
        sample((2, 3), axis=-1),
        sample((2, 3), axis=1, reverse=True, exclusive=True),
        sample((0, 3), axis=0, exclusive=True),
        sample((), axis=0, exclusive=True),
    ),
    public=False,
    kinds="bifc",
    autocast="float32",
)
def running_product(xp, a, *, axis: int, reverse: bool = False, exclusive: bool = False, dtype: DType | None = None):
    """The product of each element and those before it along an axis, or of those after it; in `dtype` as sum has it.
    With `exclusive`, without the element itself. Beside a 0 its second gradient is that of the other elements alone.

    >>> running_product(tensor([1.0, 2.0, 3.0]), axis=0).tolist()
    [1.0, 2.0, 6.0]
    """
    return _running(xp, xp.multiply, a, axis, reverse, exclusive, none=1)


@running_product.vjp
def _(ct, a, out, *, axis: int, reverse: bool, exclusive: bool):
    # Beyond the first zero of a row only that zero's own gradient is left: from the products without it.
    zero = eq(a, 0)
    first = eq(running_sum(where(zero, 1, 0), axis=axis, reverse=reverse), 1)
    first = where(zero, first, False)
    without = running_product(where(first, 1, a), axis=axis, reverse=reverse, exclusive=exclusive)
    at_first = running_sum(ct * without, axis=axis, reverse=not reverse, exclusive=exclusive)
    sums = running_sum(ct * out, axis=axis, reverse=not reverse, exclusive=exclusive)
    return where(first, at_first, where(zero, 0, sums / where(zero, 1, a)))


@primitive(
    rule="same_axis",
    dtype="float",
    kinds="bif",
    flops=lambda a, out, axis, reverse: 3 * a.size,
    samples=_SAMPLES,
    public=False,
)
def running_logsumexp(xp, a, *, axis: int, reverse: bool = False):
    """The logarithm of the running sum of exp(a), accurate where exp would overflow.

    >>> running_logsumexp(tensor([800.0, -800.0]), axis=0).tolist()
    [800.0, 800.0]
    """
    return _running(xp, xp.logaddexp, a, axis, reverse)


@running_logsumexp.vjp
def _(ct, a, out, *, axis: int, reverse: bool):
    def by(weight: Any) -> Any:  # of a positive weight; other places count as exp(-1e30)
        held = gt(weight, 0)
        logs = where(held, log(where(held, weight, 1)) - out, -1e30)
        return exp(running_logsumexp(logs, axis=axis, reverse=not reverse) + a)

    return by(ct) - by(-ct)


def _only_axis(a: Any, axis: int | None, name: str) -> int:
    if axis is None:
        if a.ndim > 1:
            raise ShapeError(f"{name}: say along which axis of shape {a.shape}")
        return 0
    return place(axis, max(a.ndim, 1), name)


@composite(samples=(sample((2, 3), axis=1), sample((), axis=0)), in_place=True)
def cumsum(a, axis, *, dtype=None):
    """The sum of each element and those before it along an axis; of ints and bools, as int64.

    >>> cumsum(tensor([1.0, 2.0, 3.0]), 0).tolist()
    [1.0, 3.0, 6.0]
    """
    return running_sum(a, axis, dtype=dtype)


@composite(samples=(sample((2, 3), axis=1), sample((), axis=0)), in_place=True)
def cumprod(a, axis, *, dtype=None):
    """The product of each element and those before it along an axis; of ints and bools, as int64.

    >>> cumprod(tensor([1.0, 2.0, 3.0]), 0).tolist()
    [1.0, 2.0, 6.0]
    """
    return running_product(a, axis, dtype=dtype)


def _with_initial(a: Any, axis: int, initial: float) -> Any:
    first = _core.from_numpy(np.full((1,) * a.ndim, initial, a.dtype.numpy), a)
    return concat([expand(first, (*a.shape[:axis], 1, *a.shape[axis + 1 :])), a], axis)


@composite(samples=(sample((3,)), sample((2, 3), axis=1, include_initial=True)), method=False)
def cumulative_sum(a, *, axis=None, dtype=None, include_initial=False):
    """cumsum as the array API has it: the axis may be left out where there is one; 0 comes first on demand.

    >>> cumulative_sum(tensor([1.0, 2.0]), include_initial=True).tolist()
    [0.0, 1.0, 3.0]
    """
    axis = _only_axis(a, axis, "cumulative_sum")
    sums = cumsum(a, axis, dtype=dtype)
    return _with_initial(sums, axis, 0) if include_initial else sums


@composite(samples=(sample((3,)), sample((2, 3), axis=1, include_initial=True)), method=False)
def cumulative_prod(a, *, axis=None, dtype=None, include_initial=False):
    """cumprod as the array API has it: the axis may be left out where there is one; 1 comes first on demand.

    >>> cumulative_prod(tensor([3.0, 2.0]), include_initial=True).tolist()
    [1.0, 3.0, 6.0]
    """
    axis = _only_axis(a, axis, "cumulative_prod")
    products = cumprod(a, axis, dtype=dtype)
    return _with_initial(products, axis, 1) if include_initial else products


@composite(samples=(sample((2, 3), axis=1), sample((3, 2), axis=0)))
def logcumsumexp(a, axis):
    """The logarithm of the running sum of exp(a) along an axis, accurate where exp would overflow.

    >>> logcumsumexp(tensor([800.0, -800.0]), 0).tolist()
    [800.0, 800.0]
    """
    return running_logsumexp(a, axis)


@primitive(
    rule="same_axis",
    dtype="index",
    kinds="bif",
    flops=lambda a, out, axis, largest: a.size,
    samples=(sample((4,), axis=0, largest=True), sample((2, 3), axis=1, largest=False)),
    public=False,
)
def running_extremum(xp, a, *, axis: int, largest: bool):
    """Where the largest or smallest element so far along an axis is: the last of equal ones; a NaN stays.

    >>> running_extremum(tensor([1.0, 3.0, 2.0]), axis=0, largest=True).tolist()
    [0, 1, 1]
    """
    if a.ndim == 0:
        return xp.zeros((), np.int64)
    best = (xp.maximum if largest else xp.minimum).accumulate(a, axis)
    shape = [-1 if i == axis % a.ndim else 1 for i in range(a.ndim)]
    numbers = xp.arange(a.shape[axis]).reshape(shape)
    return xp.maximum.accumulate(xp.where((a == best) | (a != a), numbers, 0), axis)


@composite(samples=(sample((2, 3), axis=1),))
def cummax(a, axis):
    """The largest element so far along an axis, and where it was found: the last of equal ones.

    >>> cummax(tensor([1.0, 3.0, 2.0]), 0).values.tolist()
    [1.0, 3.0, 3.0]
    """
    indices = running_extremum(a, axis=axis, largest=True)
    return Extrema(take_along(a, indices, axis), indices)


@composite(samples=(sample((2, 3), axis=1),))
def cummin(a, axis):
    """The smallest element so far along an axis, and where it was found: the last of equal ones.

    >>> cummin(tensor([1.0, 3.0, 0.0]), 0).values.tolist()
    [1.0, 1.0, 0.0]
    """
    indices = running_extremum(a, axis=axis, largest=False)
    return Extrema(take_along(a, indices, axis), indices)
