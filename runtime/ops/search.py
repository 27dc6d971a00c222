"""Places of elements: where they are, where they would be, whether they are among others."""

import numpy as np

from .. import _core
from ..errors import ShapeError
from ..op import sample
from ..registry import composite, primitive
from ..spec import Indices, Spec, int64
from .cast import astype
from .index import take_along
from .reduce import sum


@composite(samples=(sample((2, 3)), sample((4,))), method=False)
def nonzero(a, *, as_tuple=True):
    """Where a is not 0: index arrays, one for each axis; with as_tuple=False one tensor with a row for each place.

    As a method of Tensor as_tuple is False by default, as in PyTorch.

    >>> [i.tolist() for i in nonzero(tensor([[0, 1], [2, 0]]))]
    [[0, 1], [1, 0]]
    """
    if as_tuple and a.ndim == 0:
        raise ShapeError("nonzero: a 0-d tensor has no axes: reshape it to (1,)")
    places = np.nonzero(np.atleast_1d(np.asarray(a.detach())))
    if as_tuple:
        return tuple(_core.from_numpy(i, a) for i in places)
    rows = np.stack(places[: a.ndim], axis=-1) if a.ndim else np.empty((len(places[0]), 0), np.int64)
    return _core.from_numpy(rows, a)


@composite(samples=(sample((2, 3)), sample(())))
def argwhere(a):
    """Where a is not 0: a row of indices for each place.

    >>> argwhere(tensor([[0, 1], [2, 0]])).tolist()
    [[0, 1], [1, 0]]
    """
    return nonzero(a, as_tuple=False)


@composite(samples=(sample((2, 3)), sample((2, 3), axis=1)))
def count_nonzero(a, axis=None, keepdims=False):
    """How many elements over the axes are not 0.

    >>> count_nonzero(tensor([[0.0, 1.0], [2.0, 3.0]]), axis=1).tolist()
    [1, 2]
    """
    return sum(a != 0, axis, keepdims)


def _searchsorted_spec(a: Spec, values: Spec, *, right: bool) -> Spec:
    if a.ndim == 0:
        raise ShapeError("searchsorted: a sorted row has an axis, which a 0-d tensor has not")
    if a.ndim != 1 and a.shape[:-1] != values.shape[:-1]:
        raise ShapeError(f"searchsorted: {a.shape} holds no row for each row of values {values.shape}")
    return Spec(values.shape, int64)


@primitive(
    infer=_searchsorted_spec,
    kinds="bif",
    flops=lambda a, values, out, right: values.size * max(a.shape[-1].bit_length(), 1),
    samples=(
        sample(np.array([1.0, 2.0, 2.0, 3.0]), np.array([[2.0, 0.0], [2.5, 9.0]])),
        sample(np.array([[1, 2], [3, 4]]), np.array([[2], [3]]), right=True),
        sample(np.array([[1, 2], [1, 2]]), np.array([[2], [3]])),
    ),
    public=False,
    differentiable=False,
)
def places_in(xp, a, values: Indices, *, right: bool = False):
    """How many elements of a sorted row are less than each value, or with right=True not greater.

    >>> places_in(tensor([1.0, 2.0, 3.0]), tensor([2.0])).tolist()
    [1]
    """
    side = "right" if right else "left"
    if a.ndim == 1:
        return xp.searchsorted(a, values, side)
    out = xp.empty(values.shape, np.int64)
    for row in np.ndindex(*a.shape[:-1]):
        out[row] = xp.searchsorted(a[row], values[row], side)
    return out


@composite(samples=(sample(np.array([1.0, 2.0, 3.0]), (2, 2)),), method=False)
def searchsorted(a, values, *, side=None, right=False, sorter=None, out_int32=False):
    """Where each value would be inserted into a sorted row to keep its order: before equal ones (side="left") or after.

    A row for each row of values, or one for all. sorter: the indices that sort a.

    >>> searchsorted(tensor([1.0, 2.0, 3.0]), tensor([2.0]), side="right").tolist()
    [2]
    """
    rows = a if sorter is None else take_along(a, sorter, -1)
    if not hasattr(values, "dtype"):
        values = _core.from_numpy(np.asarray(values, np.float64 if isinstance(values, float) else None), a)
    found = places_in(rows, values, right=right if side is None else side == "right")
    return astype(found, "int32") if out_int32 else found


@composite(samples=(sample((2, 2), boundaries=np.array([-1.0, 0.0, 1.0])),))
def bucketize(a, boundaries, *, right=False, out_int32=False):
    """The number of the bucket, between sorted boundaries, of each element; one on a boundary belongs to the lower.

    >>> bucketize(tensor([0.5, 1.0, 2.5]), tensor([1.0, 2.0])).tolist()
    [0, 0, 2]
    """
    return searchsorted(boundaries, a, right=right, out_int32=out_int32)


@primitive(
    rule="same",
    dtype="bool",
    flops=lambda a, test, out, invert: a.size,
    samples=(sample((2, 3), (4,)), sample((3,), np.zeros((0,), np.int64)), sample((2,), (2,), invert=True)),
    public=False,
    kinds="bif",
)
def is_among(xp, a, test, *, invert: bool = False):
    """Whether each element of a is one of `test`.

    >>> is_among(tensor([1, 2]), tensor([2, 3])).tolist()
    [False, True]
    """
    return xp.isin(a, test, invert=invert)


@composite(samples=(sample((2, 3), np.array([1, 2])),), method=False)
def isin(elements, test_elements, *, assume_unique=False, invert=False):
    """Whether each element is one of the test elements; with invert=True whether it is none of them.

    >>> isin(tensor([1, 2]), tensor([2, 3])).tolist()
    [False, True]
    """
    pair = elements, test_elements
    like = next((x for x in pair if hasattr(x, "dtype")), None)
    a, test = (x if hasattr(x, "dtype") else _core.from_numpy(np.asarray(x), like) for x in pair)
    return is_among(a, test, invert=invert)
