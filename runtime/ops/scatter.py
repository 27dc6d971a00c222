"""Writing to chosen places: scatter, index_add and their kin, and the forms that do it in place."""

from typing import Any

import numpy as np

from .. import _core
from ..errors import ArgumentError, ShapeError
from ..op import sample
from ..registry import composite, primitive
from ..spec import Indices, Spec
from .axes import broadcast_shapes, broadcast_tensors
from .cast import assign
from .index import added_at, along, put_at, take_along
from .part import place, window
from .pointwise import where
from .reduce import sum
from .shape import reshape


def _put_along_spec(a: Spec, index: Spec, values: Spec, *, axis: int, accumulate: bool) -> Spec:
    fits = a.ndim == index.ndim and (values.shape == index.shape or values.ndim == 0)
    if not fits or any(n > m for i, (n, m) in enumerate(zip(index.shape, a.shape, strict=True)) if i != axis % a.ndim):
        raise ShapeError(
            f"scatter: index {index.shape} and values {values.shape} do not fit {a.shape} along axis {axis}"
        )
    return a


_TWICE = np.array([[2, 2], [0, 1]])
_ONCE = np.array([[2, 1], [0, 1]])


@primitive(
    infer=_put_along_spec,
    kinds="bifc",
    flops=lambda a, index, values, out, axis, accumulate: index.size if accumulate else 0,
    samples=(
        sample((2, 3), _ONCE, (2, 2), axis=1),
        sample((3, 3), np.array([[2, 1, 0]]), (), axis=0),
        sample((2, 3), _TWICE, (2, 2), axis=1, accumulate=True),
        sample((3, 4), _TWICE, (2, 2), axis=-2, accumulate=True),
        sample((), np.array(0), (), axis=0),
    ),
    updates=True,
    public=False,
)
def put_along(xp, a, index: Indices, values, *, axis: int, accumulate: bool = False):
    """a with each of `values` at its own index along the axis, or added to what is there.

    >>> put_along(tensor([[1.0, 2.0]]), tensor([[1]]), tensor([[9.0]]), axis=1).tolist()
    [[1.0, 9.0]]
    """
    key = along(xp, a.shape, index, axis, from_end=False)
    if accumulate:
        added_at(xp, a, key, values)
    else:
        a[key] = values
    return a


@put_along.vjp
def _(ct, index, values: Spec, *, axis: int, accumulate: bool):
    by_a = ct if accumulate else put_along(ct, index, 0.0, axis=axis)
    found = take_along(ct, index, axis=axis)
    return by_a, None, sum(found) if values.ndim == 0 else found


_put_along_ = _core.inplace(put_along)
_put_at_ = _core.inplace(put_at)
_assign_ = _core.inplace(assign)


def _scatter(put: Any, a: Any, axis: int, index: Any, values: Any, accumulate: bool) -> Any:
    if not isinstance(values, int | float) and values.shape != index.shape:
        if values.ndim != index.ndim or any(n > m for n, m in zip(index.shape, values.shape, strict=True)):
            raise ShapeError(f"scatter: index {index.shape} is larger than src {values.shape}")
        for i, n in enumerate(index.shape):
            values = window(values, i, 0, n)
    return put(a, index, values, axis=place(axis, max(a.ndim, 1), "scatter"), accumulate=accumulate)


def _adds(reduce: str | None) -> bool:
    if reduce not in (None, "add"):
        raise ArgumentError(f"scatter: reduce may be 'add' or None, not {reduce!r}: see scatter_reduce")
    return reduce == "add"


@composite(samples=(sample((2, 3), axis=1, index=np.array([[2], [0]]), src=0.5),))
def scatter(a, axis, index, src=None, *, value=None, reduce=None):
    """a with the elements of src, or one number, written to their places of `index` along the axis.

    Where a place is named twice, one of its values stays. reduce="add" adds them all, as scatter_add does.

    >>> scatter(tensor([1.0, 2.0, 3.0]), 0, tensor([2, 0]), tensor([8.0, 9.0])).tolist()
    [9.0, 2.0, 8.0]
    """
    return _scatter(put_along, a, axis, index, value if src is None else src, _adds(reduce))


def scatter_(a, axis, index, src=None, *, value=None, reduce=None):
    """scatter, in place."""
    return _scatter(_put_along_, a, axis, index, value if src is None else src, _adds(reduce))


@composite(samples=(sample((2, 3), axis=1, index=np.array([[2, 2], [0, 1]]), src=0.5),))
def scatter_add(a, axis, index, src):
    """a with the elements of src added at their places of `index` along the axis.

    >>> scatter_add(tensor([1.0, 2.0]), 0, tensor([1, 1]), tensor([8.0, 9.0])).tolist()
    [1.0, 19.0]
    """
    return _scatter(put_along, a, axis, index, src, True)


def scatter_add_(a, axis, index, src):
    """scatter_add, in place."""
    return _scatter(_put_along_, a, axis, index, src, True)


def _index_put(put: Any, name: str, a: Any, axis: int, index: Any, source: Any, accumulate: bool) -> Any:
    axis = place(axis, a.ndim, name)
    if index.ndim > 1:
        raise ShapeError(f"{name}: index has shape {index.shape}, it may have one axis")
    wanted = (*a.shape[:axis], index.numel(), *a.shape[axis + 1 :])
    if not isinstance(source, int | float) and source.ndim and source.shape != wanted:
        raise ShapeError(f"{name}: source must have the shape {wanted}, not {source.shape}")
    return put(a, reshape(index, (1, -1)), source, axes=(axis,), accumulate=accumulate)


@composite(samples=(sample((3, 2), axis=0, index=np.array([2, 2]), source=0.5),))
def index_add(a, axis, index, source, *, alpha=1):
    """a with the parts of source, times alpha, added at each index of an axis.

    >>> index_add(tensor([1.0, 2.0]), 0, tensor([1, 1]), tensor([3.0, 4.0])).tolist()
    [1.0, 9.0]
    """
    return _index_put(put_at, "index_add", a, axis, index, source if alpha == 1 else source * alpha, True)


def index_add_(a, axis, index, source, *, alpha=1):
    """index_add, in place."""
    return _index_put(_put_at_, "index_add_", a, axis, index, source if alpha == 1 else source * alpha, True)


@composite(samples=(sample((3, 2), axis=0, index=np.array([2, 0]), source=0.5),))
def index_copy(a, axis, index, source):
    """a with the parts of source in place of its own at each index of an axis.

    >>> index_copy(tensor([1.0, 2.0]), 0, tensor([1]), tensor([3.0])).tolist()
    [1.0, 3.0]
    """
    return _index_put(put_at, "index_copy", a, axis, index, source, False)


def index_copy_(a, axis, index, source):
    """index_copy, in place."""
    return _index_put(_put_at_, "index_copy_", a, axis, index, source, False)


@composite(samples=(sample((3, 2), axis=1, index=np.array([1]), value=0.5),))
def index_fill(a, axis, index, value):
    """a with one value at each index of an axis.

    >>> index_fill(tensor([1.0, 2.0]), 0, tensor([1]), 7).tolist()
    [1.0, 7.0]
    """
    return _index_put(put_at, "index_fill", a, axis, index, value, False)


def index_fill_(a, axis, index, value):
    """index_fill, in place."""
    return _index_put(_put_at_, "index_fill_", a, axis, index, value, False)


def _stacked(indices: Any, like: Any) -> Any:
    """Index arrays of the first axes, a mask as the places where it holds, as one tensor where `like` is."""
    if not indices:
        raise ArgumentError("index_put: give an index tensor for at least one axis")
    arrays: list[Any] = []
    for index in indices:
        array = np.asarray(index)
        arrays += np.nonzero(array) if array.dtype.kind == "b" else [array]
    return _core.from_numpy(np.stack(np.broadcast_arrays(*arrays)).astype(np.int64), like)


@composite(samples=(sample((2, 3), indices=(np.array([1, 0]), np.array([2, 2])), values=0.5),))
def index_put(a, indices, values, accumulate=False):
    """a with values at a[indices], or added there; indices: a tuple of tensors for the first axes.

    >>> index_put(tensor([1.0, 2.0]), (tensor([1]),), tensor(5.0)).tolist()
    [1.0, 5.0]
    """
    stacked = _stacked(indices, a)
    return put_at(a, stacked, values, axes=tuple(range(len(stacked))), accumulate=accumulate)


def index_put_(a, indices, values, accumulate=False):
    """index_put, in place."""
    stacked = _stacked(indices, a)
    return _put_at_(a, stacked, values, axes=tuple(range(len(stacked))), accumulate=accumulate)


def _filled(a: Any, mask: Any, value: Any) -> Any:
    return where(mask, value if isinstance(value, int | float) else value.astype(a.dtype), a)


@composite(samples=(sample((2, 3), mask=np.array([True, False, True]), value=0.5),))
def masked_fill(a, mask, value):
    """a with one value where the mask holds.

    >>> masked_fill(tensor([1.0, 2.0]), tensor([True, False]), 7.0).tolist()
    [7.0, 2.0]
    """
    return _filled(a, mask, value)


def masked_fill_(a: Any, mask: Any, value: Any) -> Any:
    """masked_fill, in place."""
    return _assign_(a, _filled(a, mask, value))


def _masked_scatter(put: Any, a: Any, mask: Any, source: Any) -> Any:
    if broadcast_shapes(mask.shape, a.shape) != a.shape:
        raise ShapeError(f"masked_scatter: a mask of shape {mask.shape} does not broadcast to {a.shape}")
    places = _stacked((np.broadcast_to(np.asarray(mask), a.shape),), a)
    count = places.shape[1]
    if source.numel() < count:
        raise ShapeError(f"masked_scatter: the mask holds {count} times, source has {source.numel()} elements")
    return put(a, places, window(reshape(source, (-1,)), 0, 0, count), axes=tuple(range(a.ndim)))


@composite(samples=(sample((2, 3), mask=np.array([True, False, True]), source=np.arange(5.0)),))
def masked_scatter(a, mask, source):
    """a with the elements of source, one after the other, where the mask holds.

    >>> masked_scatter(tensor([1.0, 2.0, 3.0]), tensor([True, False, True]), tensor([7.0, 8.0])).tolist()
    [7.0, 2.0, 8.0]
    """
    return _masked_scatter(put_at, a, mask, source)


def masked_scatter_(a, mask, source):
    """masked_scatter, in place."""
    return _masked_scatter(_put_at_, a, mask, source)


@composite(samples=(sample((2, 3), mask=np.array([[True, False, True], [False, True, True]])),))
def masked_select(a, mask):
    """The elements of a where the mask holds, in one axis; both broadcast.

    >>> masked_select(tensor([1.0, 2.0]), tensor([True, False])).tolist()
    [1.0]
    """
    wide, chosen = broadcast_tensors(a, mask)
    return wide[chosen]


IN_PLACE = (
    scatter_,
    scatter_add_,
    index_add_,
    index_copy_,
    index_fill_,
    index_put_,
    masked_fill_,
    masked_scatter_,
)
