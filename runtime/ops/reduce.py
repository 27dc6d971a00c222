"""Reductions: fewer elements along some axes."""

import math

import numpy as np

from ..op import sample
from ..registry import composite, primitive
from ..spec import Axes, Spec
from .grads import reshape_like
from .pointwise import where


@primitive(
    rule="reduce",
    dtype="sum",
    flops=lambda a, out, axis, keepdims: a.size,
    samples=(
        sample((2, 3)),
        sample((2, 3), axis=1),
        sample((2, 3, 4), axis=(0, -1), keepdims=True),
        sample((), axis=None),
        sample((0, 3), axis=0),
    ),
)
def sum(xp, a, *, axis: Axes = None, keepdims: bool = False):
    """The sum over the axes, of all elements by default; ints and bools add up to int64.

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


# A composite, since the native sum and one division are faster than a kernel of numpy's and its gradient is theirs.
@composite(samples=(sample((2, 3)), sample((2, 3), axis=1), sample((2, 3, 4), axis=(0, -1), keepdims=True)))
def mean(a, axis=None, keepdims=False, *, dim=None, keepdim=False):
    """The mean over the axes, of all elements by default; of ints, as floats.

    >>> mean(tensor([[1.0, 2.0], [3.0, 6.0]]), axis=1).tolist()
    [1.5, 4.5]
    """
    axis = dim if axis is None else axis
    shape = a.shape
    if axis is None:
        count = math.prod(shape)
    elif isinstance(axis, int):
        count = shape[axis] if shape else 1
    else:
        count = math.prod([shape[i] for i in axis])
    return sum(a, axis=axis, keepdims=keepdims or keepdim) / count


@primitive(
    rule="reduce",
    dtype="first",
    flops=lambda a, out, axis, keepdims: a.size,
    samples=(
        sample((2, 3)),
        sample((2, 3), axis=1),
        sample((2, 3, 4), axis=(0, -1), keepdims=True),
        sample((), axis=None),
    ),
    aliases=("amax",),
)
def max(xp, a, *, axis: Axes = None, keepdims: bool = False):
    """The largest element over the axes, of all elements by default; NaN where there is one.

    Equal ones share the gradient.

    >>> max(tensor([[1.0, 2.0], [3.0, 0.0]]), axis=1).tolist()
    [2.0, 3.0]
    """
    return xp.max(a, axis=axis, keepdims=keepdims)


@max.vjp
def _(ct, a, out, *, axis, keepdims):
    winners = a == expand_reduced(out, a, axis=axis, keepdims=keepdims)
    share = ct / sum(winners, axis=axis, keepdims=keepdims)
    return where(winners, expand_reduced(share, a, axis=axis, keepdims=keepdims), 0)


@primitive(
    rule="reduce",
    dtype="index",
    flops=lambda a, out, axis, keepdims: a.size,
    samples=(sample((2, 3)), sample((2, 3), axis=1), sample((2, 3, 4), axis=-2, keepdims=True), sample((), axis=None)),
)
def argmax(xp, a, *, axis: Axes = None, keepdims: bool = False):
    """Where along the axis the largest element is, the first of equal ones; without an axis, in the flattened tensor.

    >>> argmax(tensor([[1.0, 2.0], [3.0, 0.0]]), axis=1).tolist()
    [1, 0]
    """
    one = None if axis is None else int(np.reshape(np.asarray(axis), ()))
    return xp.argmax(a, axis=one, keepdims=keepdims)
