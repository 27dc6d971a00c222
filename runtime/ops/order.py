"""Order: sorting, the k largest, medians and quantiles. Indices are computed, values are taken by them."""

from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..errors import ArgumentError, ShapeError
from ..op import sample
from ..registry import composite, primitive
from ..spec import Spec, int64
from .axes import movedim
from .index import take, take_along
from .part import place, window
from .pointwise import maximum, minimum, where
from .reduce import amax, amin, argmax, argmin
from .shape import reshape, select, squeeze, unsqueeze


class Ordered(NamedTuple):
    """Chosen or ordered elements, and their indices along the axis."""

    values: Any
    indices: Any


def _axis(a: Any, axis: int, name: str) -> int:
    return place(axis, a.ndim or 1, name)


def _log2(n: int) -> int:
    return n.bit_length() or 1


@primitive(
    rule="same_axis",
    dtype="index",
    kinds="bif",
    flops=lambda a, out, **_: a.size * _log2(a.size),
    samples=(
        sample((5,)),
        sample((2, 3, 4), axis=1, descending=True),
        sample((4, 3), axis=0, stable=False),
        sample((0, 3)),
        sample(()),
    ),
)
def argsort(xp, a, *, axis: int = -1, descending: bool = False, stable: bool = True):
    """The indices that put the elements of an axis in order. NaN counts as the largest.

    stable: equal elements stay in their order; without it sorting is faster.

    >>> argsort(tensor([2.0, 1.0, 3.0])).tolist()
    [1, 0, 2]
    """
    kind = "stable" if stable else None
    if not descending:
        return xp.argsort(a, axis, kind=kind)
    return a.shape[axis] - 1 - xp.flip(xp.argsort(xp.flip(a, axis), axis, kind=kind), axis)


@composite(
    samples=(sample((5,)), sample((2, 3, 4), axis=1, descending=True), sample((2, 3), dim=1, stable=True)),
    method=False,
)
def sort(a, dim=None, descending=False, *, axis=-1, stable=None):
    """The elements of an axis in order; NaN counts as the largest.

    `sort(a, axis=-1, descending=False, stable=True)` is the array API's and gives the values. With `dim`, and as a
    method of Tensor, it is PyTorch's and gives values and indices.

    >>> sort(tensor([2.0, 1.0, 3.0])).tolist()
    [1.0, 2.0, 3.0]
    """
    if dim is not None:
        return ordered(a, dim, descending, stable=bool(stable))
    return take_along(a, argsort(a, axis, descending, stable is not False), axis)


def ordered(a: Any, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Ordered:
    """Values and indices of the elements along dim in order; NaN counts as the largest."""
    indices = argsort(a, dim, descending, stable)
    return Ordered(take_along(a, indices, dim), indices)


def _extremum(whole: Any, place_of: Any, pairs: Any, a: Any, other: Any, axis: Any, keepdims: bool, dim: Any) -> Any:
    if dim is None and other is not None and not isinstance(other, int):
        return pairs(a, other)
    dim = other if dim is None else dim
    if dim is None:
        return whole(a, axis, keepdims)
    return _chosen(a, place_of(a, dim, True), _axis(a, dim, "max"), keepdims)


@composite(samples=(sample((2, 3)), sample((2, 3), axis=1), sample((2, 3), dim=0, keepdim=True), sample((2, 3), (3,))))
def max(a, other=None, *, axis=None, keepdims=False, dim=None, keepdim=False):
    """The largest element over the axes, of all by default; NaN where there is one.

    `max(a, axis=..., keepdims=...)` is the array API's and gives the values. `max(a, dim)` and `max(a, dim=...)` are
    PyTorch's and give values and indices; `max(a, b)` of two tensors is maximum(a, b).

    >>> max(tensor([[1.0, 2.0], [3.0, 0.0]]), axis=1).tolist()
    [2.0, 3.0]
    >>> max(tensor([[1.0, 2.0], [3.0, 0.0]]), dim=1).indices.tolist()
    [1, 0]
    """
    return _extremum(amax, argmax, maximum, a, other, axis, keepdims or keepdim, dim)


@composite(samples=(sample((2, 3)), sample((2, 3), axis=1), sample((2, 3), dim=0, keepdim=True), sample((2, 3), (3,))))
def min(a, other=None, *, axis=None, keepdims=False, dim=None, keepdim=False):
    """The smallest element over the axes, of all by default; NaN where there is one.

    `min(a, axis=..., keepdims=...)` is the array API's and gives the values. `min(a, dim)` and `min(a, dim=...)` are
    PyTorch's and give values and indices; `min(a, b)` of two tensors is minimum(a, b).

    >>> min(tensor([[1.0, 2.0], [3.0, 0.0]]), axis=1).tolist()
    [1.0, 0.0]
    """
    return _extremum(amin, argmin, minimum, a, other, axis, keepdims or keepdim, dim)


@composite(samples=(sample((3, 2)),))
def msort(a):
    """The elements of the first axis in order.

    >>> msort(tensor([[2.0], [1.0]])).tolist()
    [[1.0], [2.0]]
    """
    return sort(a, axis=0)


def _topk_spec(a: Spec, *, k: int, axis: int, largest: bool, sorted: bool) -> Spec:
    at = _axis(a, axis, "topk")
    n = a.shape[at] if a.ndim else 1
    if not 0 <= k <= n:
        raise ShapeError(f"topk: k {k} does not lie between 0 and {n}, the size of axis {axis}")
    return Spec((*a.shape[:at], k, *a.shape[at + 1 :]) if a.ndim else (), int64)


@primitive(
    infer=_topk_spec,
    kinds="bif",
    flops=lambda a, out, **_: a.size,
    samples=(sample((5,), k=2), sample((2, 4, 3), k=3, axis=1, largest=False), sample((3,), k=0)),
    public=False,
    differentiable=False,
)
def topk_places(xp, a, *, k: int, axis: int = -1, largest: bool = True, sorted: bool = True):
    """The indices of the k largest or smallest elements of an axis, in order.

    >>> topk_places(tensor([2.0, 1.0, 3.0]), k=2).tolist()
    [2, 0]
    """
    if a.ndim == 0:
        return xp.zeros((), np.int64)
    front = xp.moveaxis(a, axis, -1)
    if largest:  # from the end of ascending order, where NaN is
        chosen = xp.argpartition(front, -k, -1)[..., -k:] if 0 < k < front.shape[-1] else xp.argsort(front, -1)
        chosen = chosen[..., chosen.shape[-1] - k :]
    else:
        chosen = (
            xp.argpartition(front, k - 1, -1)[..., :k] if 0 < k < front.shape[-1] else xp.argsort(front, -1)[..., :k]
        )
    order = xp.argsort(xp.take_along_axis(front, chosen, -1), -1, kind="stable")
    chosen = xp.take_along_axis(chosen, xp.flip(order, -1) if largest else order, -1)
    return xp.moveaxis(chosen, -1, axis)


@composite(samples=(sample((5,), k=2), sample((2, 4, 3), k=3, axis=1, largest=False)))
def topk(a, k, axis=-1, largest=True, sorted=True):
    """The k largest elements of an axis, or smallest, in order, and their indices. NaN counts as the largest.

    >>> topk(tensor([2.0, 1.0, 3.0]), 2).values.tolist()
    [3.0, 2.0]
    """
    indices = topk_places(a, k=k, axis=axis, largest=largest, sorted=sorted)
    return Ordered(take_along(a, indices, axis), indices)


def _chosen(a: Any, indices: Any, axis: int, keepdims: bool) -> Ordered:
    """The elements at indices that kept the axis."""
    values = take_along(a, indices, axis)
    if keepdims or a.ndim == 0:
        return Ordered(values, indices)
    return Ordered(squeeze(values, axis), squeeze(indices, axis))


@composite(samples=(sample((5,), k=2), sample((2, 4), k=1, axis=0, keepdims=True)))
def kthvalue(a, k, axis=-1, keepdims=False):
    """The k-th smallest element of an axis, counting from 1, and its index.

    >>> kthvalue(tensor([2.0, 1.0, 3.0]), 2).values.item()
    2.0
    """
    axis = _axis(a, axis, "kthvalue")
    n = a.shape[axis] if a.ndim else 1
    if not 1 <= k <= n:
        raise ArgumentError(f"kthvalue: k {k} does not lie between 1 and {n}, the size of axis {axis}")
    order = argsort(a, axis=axis)
    return _chosen(a, window(order, axis, k - 1, 1) if a.ndim else order, axis, keepdims)


@composite(samples=(sample((5,)), sample((2, 4)), sample((2, 4), axis=1)))
def median(a, axis=None, keepdims=False):
    """The median of all elements; or along an axis, with its index. Of two in the middle, the lower; a NaN wins.

    >>> median(tensor([2.0, 1.0, 3.0, 4.0])).item()
    2.0
    """
    if axis is None:
        return median(reshape(a, (-1,)), 0).values
    axis = _axis(a, axis, "median")
    if a.ndim == 0:
        return _chosen(a, argsort(a), 0, keepdims)
    n = a.shape[axis]
    if n == 0:
        raise ShapeError(f"median: axis {axis} of shape {a.shape} has no elements")
    order = argsort(a, axis=axis)
    middle, last = window(order, axis, (n - 1) // 2, 1), window(order, axis, n - 1, 1)
    largest = take_along(a, last, axis)
    return _chosen(a, where(largest != largest, last, middle), axis, keepdims)


@composite(samples=(sample((5,), q=0.3), sample((2, 4), q=0.5, axis=1), sample((3, 2), q=0.9, axis=0, keepdims=True)))
def quantile(a, q, axis=None, keepdims=False, *, interpolation="linear"):
    """The q-th quantile, 0 to 1, of all elements or along an axis; q may be a number or a tensor with one axis.

    Between two elements: linear, lower, higher, midpoint or nearest.

    >>> quantile(tensor([1.0, 2.0, 4.0]), 0.75).item()
    3.0
    """
    fractions = np.atleast_1d(np.asarray(q, np.float64))
    if fractions.ndim > 1 or (fractions < 0).any() or (fractions > 1).any():
        raise ArgumentError("quantile: q must be a number from 0 to 1, or one axis of them")
    if axis is None:
        shape = (1,) * a.ndim
        a, at = reshape(a, (-1,)), 0
    else:
        at = _axis(a, axis, "quantile")
        shape = (*a.shape[:at], 1, *a.shape[at + 1 :])
        a = reshape(a, (1,)) if a.ndim == 0 else a
    if a.shape[at] == 0:
        raise ShapeError("quantile: there are no elements")
    values = sort(a, axis=at)
    where_at = fractions * (a.shape[at] - 1)
    low, high = np.floor(where_at), np.ceil(where_at)
    steps = {
        "linear": where_at - low,
        "lower": 0 * low,
        "higher": (high > low) * 1.0,
        "midpoint": (high > low) * 0.5,
        "nearest": np.round(where_at) - low,
    }
    if interpolation not in steps:
        raise ArgumentError(f"quantile: interpolation must be one of {', '.join(steps)}, not {interpolation!r}")
    step = _core.from_numpy(steps[interpolation].astype(a.dtype.numpy), a)
    below, above = (take(values, _core.from_numpy(i.astype(np.int64), a), at) for i in (low, high))
    step = reshape(step, tuple(-1 if i == at else 1 for i in range(a.ndim)))
    last = take(values, _core.from_numpy(np.array([a.shape[at] - 1]), a), at)
    found = below + (above - below) * step
    found = where(last != last, last, found)
    found = movedim(found, at, 0)
    if axis is None:
        found = reshape(found, (-1, *shape)) if keepdims else found
    elif keepdims:
        found = unsqueeze(found, at + 1)
    return select(found, 0, 0) if np.ndim(q) == 0 else found


def _mode_spec(a: Spec, *, axis: int) -> Spec:
    at = _axis(a, axis, "mode")
    if a.shape[at : at + 1] == (0,):
        raise ShapeError(f"mode: there is no element to choose along axis {axis} of {a.shape}")
    return Spec((*a.shape[:at], 1, *a.shape[at + 1 :]) if a.ndim else (), int64)


@primitive(
    infer=_mode_spec,
    kinds="bif",
    flops=lambda a, out, axis: a.size * _log2(a.size),
    samples=(sample((5,), axis=0), sample((2, 4), axis=0)),
    public=False,
    differentiable=False,
)
def mode_places(xp, a, *, axis: int):
    """Where the commonest element of an axis is, the smallest of equally common ones: its last place.

    >>> mode_places(tensor([2.0, 1.0, 2.0]), axis=0).tolist()
    [2]
    """
    if a.ndim == 0:
        return xp.zeros((), np.int64)
    front = xp.moveaxis(a, axis, -1)
    out = xp.zeros((*front.shape[:-1], 1), np.int64)
    for at in np.ndindex(*front.shape[:-1]):
        found, counts = xp.unique(front[at], return_counts=True)
        out[at] = xp.nonzero(front[at] == found[counts.argmax()])[0][-1]
    return xp.moveaxis(out, -1, axis)


@composite(samples=(sample((5,)), sample((2, 4), axis=0, keepdims=True)))
def mode(a, axis=-1, keepdims=False):
    """The commonest element of an axis, the smallest of equally common ones, and its last index.

    >>> mode(tensor([2.0, 1.0, 2.0])).values.item()
    2.0
    """
    axis = _axis(a, axis, "mode")
    return _chosen(a, mode_places(a, axis=axis), axis, keepdims)
