"""Reductions: fewer elements along some axes."""

from typing import Any

import numpy as np

from ..op import sample
from ..registry import primitive
from ..spec import Axes, DType, Spec
from .grads import reshape_like
from .pointwise import where


@primitive(
    rule="reduce",
    dtype="sum",
    kinds="bifc",
    flops=lambda a, out, axis, keepdims, dtype: a.size,
    samples=(
        sample((2, 3)),
        sample((2, 3), axis=1),
        sample((2, 3, 4), axis=(0, -1), keepdims=True),
        sample((), axis=None),
        sample((0, 3), axis=0),
    ),
    autocast="float32",
)
def sum(xp, a, *, axis: Axes = None, keepdims: bool = False, dtype: DType | None = None):
    """The sum over the axes, of all elements by default, in `dtype`.

    Without one floats keep theirs; ints and bools add up to int64, unsigned ones to uint64.

    >>> sum(tensor([[1.0, 2.0], [3.0, 4.0]]), axis=0).tolist()
    [4.0, 6.0]
    """
    return xp.sum(a, axis=axis, keepdims=keepdims)


@sum.vjp
def _(ct, a: Spec, *, axis, keepdims):
    return expand_reduced(ct, a, axis=axis, keepdims=keepdims)


@primitive(
    rule="expand_reduced",
    dtype="first",
    samples=(
        sample((2,), (2, 3), axis=1, keepdims=False),
        sample((2, 1), (2, 3), axis=(-1,), keepdims=True),
        sample((), (2, 3), axis=None, keepdims=False),
        sample((3,), (2, 3, 4), axis=(0, -1), keepdims=False),
    ),
    public=False,
    view=True,
)
def expand_reduced(xp, a, like: Spec, *, axis: Axes, keepdims: bool):
    """Undo the shape of a reduction: a, repeated along the axes of `like` that were reduced, as a view.

    >>> expand_reduced(tensor([1.0, 2.0]), tensor([[0.0, 0.0], [0.0, 0.0]]), axis=1, keepdims=False).tolist()
    [[1.0, 1.0], [2.0, 2.0]]
    """
    if not keepdims:
        axes = range(like.ndim) if axis is None else np.atleast_1d(np.asarray(axis))
        a = xp.expand_dims(a, tuple(i % like.ndim for i in axes))
    return xp.broadcast_to(a, like.shape)


@expand_reduced.vjp
def _(ct, a: Spec, *, axis, keepdims):
    return reshape_like(sum(ct, axis=axis, keepdims=keepdims), a), None


def _each_once(a: Spec, out: Spec, **_: Any) -> int:
    return a.size


_AXES = (sample((2, 3)), sample((2, 3), axis=1), sample((2, 3, 4), axis=(0, -1), keepdims=True), sample((), axis=None))
_extremum = primitive(rule="extremum", dtype="first", flops=_each_once, samples=_AXES)
_place_of_extremum = primitive(
    rule="place_of_extremum",
    dtype="index",
    flops=_each_once,
    samples=(sample((2, 3)), sample((2, 3), axis=1), sample((2, 3, 4), axis=-2, keepdims=True), sample((), axis=None)),
)
_truth = primitive(rule="reduce", dtype="bool", flops=_each_once, samples=(*_AXES, sample((0, 3), axis=0)))


@_extremum
def amax(xp, a, *, axis: Axes = None, keepdims: bool = False):
    """The largest element over the axes, of all elements by default; NaN where there is one.

    Equal ones share the gradient.

    >>> amax(tensor([[1.0, 2.0], [3.0, 0.0]]), axis=1).tolist()
    [2.0, 3.0]
    """
    return xp.max(a, axis=axis, keepdims=keepdims)


def shared(ct: Any, a: Any, out: Any, axis: Any, keepdims: Any) -> Any:
    """The gradient of an extremum: among the elements that are equal to it, in equal parts."""
    winners = a == expand_reduced(out, a, axis=axis, keepdims=keepdims)
    share = ct / sum(winners, axis=axis, keepdims=keepdims)
    return where(winners, expand_reduced(share, a, axis=axis, keepdims=keepdims), 0)


@amax.vjp
def _(ct, a, out, *, axis, keepdims):
    return shared(ct, a, out, axis, keepdims)


@_extremum
def amin(xp, a, *, axis: Axes = None, keepdims: bool = False):
    """The smallest element over the axes, of all elements by default; NaN where there is one.

    Equal ones share the gradient.

    >>> amin(tensor([[1.0, 2.0], [3.0, 0.0]]), axis=1).tolist()
    [1.0, 0.0]
    """
    return xp.min(a, axis=axis, keepdims=keepdims)


@amin.vjp
def _(ct, a, out, *, axis, keepdims):
    return shared(ct, a, out, axis, keepdims)


@_place_of_extremum
def argmax(xp, a, *, axis: Axes = None, keepdims: bool = False):
    """Where along the axis the largest element is, the first of equal ones; without an axis, in the flattened tensor.

    >>> argmax(tensor([[1.0, 2.0], [3.0, 0.0]]), axis=1).tolist()
    [1, 0]
    """
    one = None if axis is None else int(np.reshape(np.asarray(axis), ()))
    return xp.argmax(a, axis=one, keepdims=keepdims)


@_place_of_extremum
def argmin(xp, a, *, axis: Axes = None, keepdims: bool = False):
    """Where along the axis the smallest element is, the first of equal ones; without an axis, in the flattened tensor.

    >>> argmin(tensor([[1.0, 2.0], [3.0, 0.0]]), axis=1).tolist()
    [0, 1]
    """
    one = None if axis is None else int(np.reshape(np.asarray(axis), ()))
    return xp.argmin(a, axis=one, keepdims=keepdims)


@_truth
def all(xp, a, *, axis: Axes = None, keepdims: bool = False):
    """Whether all elements along the axes differ from 0, all of the tensor by default; of none, True.

    >>> all(tensor([[True, False], [True, True]]), axis=1).tolist()
    [False, True]
    """
    return xp.all(a, axis=axis, keepdims=keepdims)


@_truth
def any(xp, a, *, axis: Axes = None, keepdims: bool = False):
    """Whether at least one element along the axes differs from 0, of the whole tensor by default; of none, False.

    >>> any(tensor([[True, False], [False, False]]), axis=1).tolist()
    [True, False]
    """
    return xp.any(a, axis=axis, keepdims=keepdims)
