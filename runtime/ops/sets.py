"""Different elements, and how often each is there. Gradients reach the first of equal ones."""

from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..errors import ArgumentError
from ..op import sample
from ..registry import composite
from .index import take
from .part import place
from .shape import reshape


class UniqueAll(NamedTuple):
    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    values: Any
    inverse_indices: Any


def _unique(a: Any, axis: int | None = None) -> UniqueAll:
    """np.unique; NaNs are all different, and the inverse has a's shape."""
    axis = None if axis is None else place(axis, a.ndim, "unique")
    flat = reshape(a, (-1,)) if axis is None else a
    _, first, inverse, counts = np.unique(
        np.asarray(a.detach()), True, True, True, axis=axis, equal_nan=axis is not None
    )
    indices = _core.from_numpy(first, a)
    shape = a.shape if axis is None else (-1,)
    where_each, how_often = _core.from_numpy(inverse.reshape(shape), a), _core.from_numpy(counts, a)
    return UniqueAll(take(flat, indices, axis or 0), indices, where_each, how_often)


@composite(samples=(sample((6,)), sample((2, 3))), method=False)
def unique_all(a):
    """The different elements in order, where each is first, where each of a's is among them, and how often each is.

    >>> unique_all(tensor([3, 1, 3])).inverse_indices.tolist()
    [1, 0, 1]
    """
    return _unique(a)


@composite(samples=(sample((6,)),), method=False)
def unique_counts(a):
    """The different elements in order, and how often each is there.

    >>> unique_counts(tensor([3, 1, 3])).counts.tolist()
    [1, 2]
    """
    found = _unique(a)
    return UniqueCounts(found.values, found.counts)


@composite(samples=(sample((2, 3)),), method=False)
def unique_inverse(a):
    """The different elements in order, and where each of a's is among them.

    >>> unique_inverse(tensor([3, 1, 3])).inverse_indices.tolist()
    [1, 0, 1]
    """
    found = _unique(a)
    return UniqueInverse(found.values, found.inverse_indices)


@composite(samples=(sample((6,)),), method=False)
def unique_values(a):
    """The different elements in order.

    >>> unique_values(tensor([3, 1, 3])).tolist()
    [1, 3]
    """
    return _unique(a).values


@composite(samples=(sample((6,)), sample((3, 2), axis=0)))
def unique(a, sorted=True, return_inverse=False, return_counts=False, axis=None):
    """The different elements in order, or the different parts along an axis; with the inverse and counts on demand.

    They are sorted whatever `sorted` says.

    >>> unique(tensor([3, 1, 3]), return_counts=True)[1].tolist()
    [1, 2]
    """
    found = _unique(a, axis)
    asked = [found.values]
    if return_inverse:
        asked.append(found.inverse_indices)
    if return_counts:
        asked.append(found.counts)
    return tuple(asked) if len(asked) > 1 else found.values


@composite(samples=(sample((4,)), sample((2, 3)), sample((3, 2), axis=0)))
def unique_consecutive(a, return_inverse=False, return_counts=False, axis=None):
    """a flattened, or its parts along an axis, without those that equal the one before; with inverse and counts.

    >>> unique_consecutive(tensor([1, 1, 2, 1]), return_counts=True)[1].tolist()
    [2, 1, 1]
    """
    at = 0 if axis is None else place(axis, a.ndim, "unique_consecutive")
    flat = reshape(a, (-1,)) if axis is None else a
    rows = np.moveaxis(np.asarray(flat.detach()), at, 0)
    new = np.ones(rows.shape[0], bool)
    new[1:] = (rows[1:] != rows[:-1]).reshape(rows.shape[0] - 1, -1).any(1) if rows.shape[0] > 1 else new[1:]
    places = np.flatnonzero(new)
    asked = [take(flat, _core.from_numpy(places, a), at)]
    if return_inverse:
        asked.append(_core.from_numpy((np.cumsum(new) - 1).reshape(a.shape if axis is None else -1), a))
    if return_counts:
        asked.append(_core.from_numpy(np.diff(places, append=rows.shape[0]), a))
    return tuple(asked) if len(asked) > 1 else asked[0]


@composite(samples=(sample(np.array([1, 3, 1])), sample(np.array([0, 2]), weights=np.array([0.5, 2.0]), minlength=4)))
def bincount(a, weights=None, minlength=0):
    """How often each of 0, 1, 2, ... is in a, or the sum of their weights; a has one axis of ints from 0.

    >>> bincount(tensor([1, 3, 1])).tolist()
    [0, 2, 0, 1]
    """
    values = np.asarray(a)
    if a.dtype.kind != "i" or a.ndim != 1 or (values < 0).any():
        raise ArgumentError(f"bincount: it counts ints from 0 in one axis, not {a.dtype.name} of shape {a.shape}")
    given = None if weights is None else np.asarray(weights.detach())
    counts = np.bincount(values, given, minlength)
    wanted = np.int64 if given is None else given.dtype if given.dtype.kind == "f" else np.float64
    return _core.from_numpy(counts.astype(wanted), a)


@composite(samples=(sample((20,), bins=4, min=-2, max=2),))
def histc(a, bins=100, min=0, max=0):
    """How many elements lie in each of `bins` equal parts from min to max; if both are 0, of the whole range.

    >>> histc(tensor([1.0, 2.0, 1.0]), bins=2, min=0, max=3).tolist()
    [2.0, 1.0]
    """
    values = np.asarray(a.detach())
    low, high = (values.min(), values.max()) if min == max == 0 and values.size else (min, max)
    if low == high:
        low, high = low - 1, high + 1
    if bins < 1 or low > high:
        raise ArgumentError(f"histc: {bins} bins from {low} to {high}: it takes at least one, from the lesser on")
    return _core.from_numpy(np.histogram(values, bins, (low, high))[0].astype(a.dtype.numpy), a)
