"""Choosing elements by integer tensors."""

import math

import numpy as np

from ..op import sample
from ..registry import composite, primitive
from ..spec import Indices, Spec

_ROWS = np.array([2, 0, 0, -1])


def _bytes_moved(a: Spec, indices: Spec, out: Spec, axis: int) -> int:
    return out.nbytes + indices.nbytes


def _bytes_added(a: Spec, like: Spec, indices: Spec, out: Spec, axis: int) -> int:
    return a.nbytes + indices.nbytes


@primitive(
    rule="take",
    dtype="first",
    flops=lambda a, indices, out, axis: 0,
    read=_bytes_moved,
    samples=(
        sample((4, 3), _ROWS),
        sample((2, 4, 3), np.array([[1, 1], [3, 0]]), axis=1),
        sample((3, 4), np.array(2), axis=-1),
        sample((4, 3), np.zeros((0,), np.int64)),
    ),
)
def take(xp, a, indices: Indices, *, axis: int = 0):
    """The elements of a at these places along an axis, negative ones from the end. Their shape replaces that axis.

    >>> take(tensor([1.0, 2.0, 3.0]), tensor([2, 0])).tolist()
    [3.0, 1.0]
    """
    return xp.take(a, indices, axis=axis)


@take.vjp
def _(ct, a: Spec, indices, *, axis):
    return take_grad(ct, a, indices, axis=axis), None


@primitive(
    rule="like_second",
    dtype="first",
    flops=lambda a, like, indices, out, axis: a.size,
    read=_bytes_added,
    samples=(
        sample((4, 3), (4, 3), _ROWS, axis=0),
        sample((2, 2, 2, 3), (2, 4, 3), np.array([[1, 1], [3, 0]]), axis=1),
        sample((3,), (3, 4), np.array(2), axis=-1),
    ),
    public=False,
)
def take_grad(xp, a, like: Spec, indices: Indices, *, axis: int):
    """Zeros in the shape of `like`, plus each element of a at the place that take found it.

    >>> take_grad(tensor([1.0, 2.0]), tensor([0.0, 0.0]), tensor([1, 1]), axis=0).tolist()
    [0.0, 3.0]
    """
    out = xp.zeros(like.shape, a.dtype)
    axis %= like.ndim
    flat = a.reshape(*like.shape[:axis], math.prod(indices.shape), *like.shape[axis + 1 :])
    xp.add.at(xp.moveaxis(out, axis, 0), indices.reshape(-1), xp.moveaxis(flat, axis, 0))
    return out


@take_grad.vjp
def _(ct, indices, *, axis):
    return take(ct, indices, axis=axis), None, None


@primitive(
    rule="take_along",
    dtype="first",
    flops=lambda a, indices, out, axis: 0,
    read=_bytes_moved,
    samples=(
        sample((2, 3), np.array([[2, 2], [0, -1]]), axis=1),
        sample((3, 2), np.array([[1, 0]]), axis=0),
        sample((2, 3), np.zeros((2, 0), np.int64), axis=-1),
    ),
    aliases=("take_along_axis", "take_along_dim"),
)
def take_along(xp, a, indices: Indices, *, axis: int = -1):
    """For each row along an axis, the elements at that row's own indices. The other axes of a and indices are equal.

    >>> take_along(tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([[1], [0]])).tolist()
    [[2.0], [3.0]]
    """
    return xp.take_along_axis(a, indices, axis=axis)


@take_along.vjp
def _(ct, a: Spec, indices, *, axis):
    return take_along_grad(ct, a, indices, axis=axis), None


@primitive(
    rule="like_second",
    dtype="first",
    flops=lambda a, like, indices, out, axis: a.size,
    read=_bytes_added,
    samples=(
        sample((2, 2), (2, 3), np.array([[2, 2], [0, -1]]), axis=1),
        sample((1, 2), (3, 2), np.array([[1, 0]]), axis=0),
    ),
    public=False,
)
def take_along_grad(xp, a, like: Spec, indices: Indices, *, axis: int):
    """Zeros in the shape of `like`, plus each element of a at the place that take_along found it.

    >>> take_along_grad(tensor([[2.0]]), tensor([[0.0, 0.0]]), tensor([[1]]), axis=1).tolist()
    [[0.0, 2.0]]
    """
    out = xp.zeros(like.shape, a.dtype)
    places = list(np.indices(indices.shape, sparse=True))
    places[axis] = indices
    xp.add.at(out, tuple(places), a)
    return out


@take_along_grad.vjp
def _(ct, indices, *, axis):
    return take_along(ct, indices, axis=axis), None, None


@composite(samples=(sample((2, 3), index=np.array([[2], [0]]), dim=1),))
def gather(a, dim, index):
    """PyTorch's spelling of take_along: a's elements at `index` along `dim`.

    >>> gather(tensor([[1.0, 2.0]]), 1, tensor([[1, 1]])).tolist()
    [[2.0, 2.0]]
    """
    return take_along(a, index, axis=dim)
