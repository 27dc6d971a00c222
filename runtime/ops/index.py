"""Choosing elements by integer tensors."""

import math
from typing import Any

import numpy as np

from ..errors import DTypeError, IndexOutOfRange, ShapeError
from ..op import sample
from ..registry import composite, primitive
from ..spec import Indices, Spec
from .axes import broadcast_shapes
from .grads import unbroadcast
from .part import place
from .shape import expand, reshape


def checked(xp: Any, indices: Any, shape: tuple[int, ...], axis: int, from_end: bool = True) -> Any:
    """The indices, all of which lie inside the axis; DTypeError or IndexOutOfRange where they do not."""
    if indices.dtype.kind not in "iu":
        raise DTypeError(f"indices must be integers, not {indices.dtype}")
    n = shape[axis] if shape else 1
    wrong = (indices < (-n if from_end else 0)) | (indices >= n)
    if wrong.any():
        raise IndexOutOfRange(f"index {indices[wrong][0]} is out of range for axis {axis} with size {n}")
    return indices


def added_at(xp: Any, out: Any, key: Any, values: Any) -> None:
    """out[key] += values, where a place that is named twice is added to twice. CuPy adds neither complex numbers nor
    those of less than 32 bits.
    """
    if out.dtype.kind == "c":
        added_at(xp, out.real, key, values.real)
        added_at(xp, out.imag, key, values.imag)
    elif out.dtype.kind in "biu" and out.dtype.itemsize < 4:
        wide = out.astype(xp.int32)
        xp.add.at(wide, key, values)
        out[...] = wide
    else:
        xp.add.at(out, key, values)


_ROWS = np.array([2, 0, 0, -1])


def _bytes_moved(a: Spec, indices: Spec, out: Spec, **_: Any) -> int:
    return out.nbytes + indices.nbytes


def _bytes_added(a: Spec, like: Spec, indices: Spec, out: Spec, **_: Any) -> int:
    return a.nbytes + indices.nbytes


@primitive(
    rule="take",
    dtype="first",
    flops=lambda a, indices, out, axis, from_end: 0,
    read=_bytes_moved,
    samples=(
        sample((4, 3), _ROWS),
        sample((2, 4, 3), np.array([[1, 1], [3, 0]]), axis=1),
        sample((3, 4), np.array(2), axis=-1),
        sample((4, 3), np.zeros((0,), np.int64)),
    ),
)
def take(xp, a, indices: Indices, *, axis: int = 0, from_end: bool = True):
    """The elements of a at these places along an axis. Their shape replaces that axis.

    Negative ones count from the end, unless from_end is False: then they are refused.

    >>> take(tensor([1.0, 2.0, 3.0]), tensor([2, 0])).tolist()
    [3.0, 1.0]
    """
    return xp.take(a, checked(xp, indices, a.shape, axis, from_end), axis=axis)


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
    added_at(xp, xp.moveaxis(out, axis, 0), indices.reshape(-1), xp.moveaxis(flat, axis, 0))
    return out


@take_grad.vjp
def _(ct, indices, *, axis):
    return take(ct, indices, axis=axis), None, None


def along(xp: Any, shape: tuple[int, ...], indices: Any, axis: int, from_end: bool = True) -> tuple[Any, ...]:
    """The key of the elements at each row's own indices along an axis."""
    ndim = indices.ndim
    places: list[Any] = [xp.arange(n).reshape((-1,) + (1,) * (ndim - 1 - i)) for i, n in enumerate(indices.shape)]
    if places:
        places[axis] = checked(xp, indices, shape, axis, from_end)
    return tuple(places)


@primitive(
    rule="take_along",
    dtype="first",
    flops=lambda a, indices, out, axis, from_end: 0,
    read=_bytes_moved,
    samples=(
        sample((2, 3), np.array([[2, 2], [0, -1]]), axis=1),
        sample((3, 2), np.array([[1, 0]]), axis=0),
        sample((3, 4, 3), np.array([[[1, -1], [2, 0]]]), axis=1),
        sample((2, 3), np.zeros((2, 0), np.int64), axis=-1),
    ),
)
def take_along(xp, a, indices: Indices, *, axis: int = -1, from_end: bool = True):
    """For each row along an axis, the elements at that row's own indices. Indices may have fewer rows than a.

    Negative ones count from the end, unless from_end is False: then they are refused.

    >>> take_along(tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([[1], [0]])).tolist()
    [[2.0], [3.0]]
    """
    return a[along(xp, a.shape, indices, axis, from_end)]


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
        sample((1, 2, 2), (3, 4, 3), np.array([[[1, -1], [2, 0]]]), axis=1),
        sample((), (), np.array(0), axis=0),
    ),
    public=False,
)
def take_along_grad(xp, a, like: Spec, indices: Indices, *, axis: int):
    """Zeros in the shape of `like`, plus each element of a at the place that take_along found it.

    >>> take_along_grad(tensor([[2.0]]), tensor([[0.0, 0.0]]), tensor([[1]]), axis=1).tolist()
    [[0.0, 2.0]]
    """
    out = xp.zeros(like.shape, a.dtype)
    added_at(xp, out, along(xp, out.shape, indices, axis), a)
    return out


@take_along_grad.vjp
def _(ct, indices, *, axis):
    return take_along(ct, indices, axis=axis), None, None


# --- several axes at once: what a subscript with arrays does


def _chosen(a: Spec, indices: Spec, axes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a with index arrays at `axes`: theirs stands where they are side by side, else first."""
    rest = [n for i, n in enumerate(a.shape) if i not in axes]
    at = axes[0] if axes[-1] - axes[0] == len(axes) - 1 else 0
    return (*rest[:at], *indices.shape[1:], *rest[at:])


def _index_at_spec(a: Spec, indices: Spec, *, axes: tuple[int, ...]) -> Spec:
    return Spec(_chosen(a, indices, axes), a.dtype)


def _put_at_spec(a: Spec, indices: Spec, values: Spec, *, axes: tuple[int, ...], accumulate: bool) -> Spec:
    shape = _chosen(a, indices, axes)
    lead = len(shape) - values.ndim
    if lead < 0 or any(n not in (1, m) for n, m in zip(values.shape, shape[lead:], strict=True)):
        raise ShapeError(f"put_at: values of shape {values.shape} do not broadcast to the chosen elements, {shape}")
    return a


def _key(xp: Any, shape: tuple[int, ...], indices: Any, axes: tuple[int, ...]) -> tuple[Any, ...]:
    key: list[Any] = [slice(None)] * len(shape)
    for axis, index in zip(axes, indices, strict=True):
        key[axis] = checked(xp, index, shape, axis)
    return tuple(key)


def _add_at(xp: Any, out: Any, indices: Any, axes: tuple[int, ...], values: Any) -> None:
    """out[key] += values, where a place that is named twice is added to twice."""
    key = _key(xp, out.shape, indices, axes)
    if len(axes) == out.ndim and out.flags.c_contiguous and indices.dtype.kind == "i":  # numpy's quick way
        flat = xp.zeros(indices.shape[1:], xp.int64)
        for index, n in zip(indices, out.shape, strict=True):
            flat = flat * n + xp.where(index < 0, index + n, index)
        whole = xp.ascontiguousarray(xp.broadcast_to(values, flat.shape)).reshape(-1)
        added_at(xp, out.reshape(-1), flat.reshape(-1), whole)
    else:
        added_at(xp, out, key, values)


_PLACES = np.array([[1, 0, -1], [2, 2, 0]])


@primitive(
    infer=_index_at_spec,
    kinds="bifc",
    flops=lambda a, indices, out, axes: 0,
    read=_bytes_moved,
    samples=(
        sample((2, 3), _PLACES, axes=(0, 1)),
        sample((2, 4, 3), _PLACES, axes=(0, 2)),
        sample((2, 2, 3), _PLACES, axes=(1, 2)),
        sample((2, 3), np.zeros((1, 0, 2), np.int64), axes=(1,)),
    ),
    public=False,
)
def index_at(xp, a, indices: Indices, *, axes: tuple[int, ...]):
    """The elements of a at index arrays for several axes: row k of `indices` belongs to the k-th of the axes.

    >>> index_at(tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([[0, 1], [1, 1]]), axes=(0, 1)).tolist()
    [2.0, 4.0]
    """
    return a[_key(xp, a.shape, indices, axes)]


@index_at.vjp
def _(ct, a: Spec, indices, *, axes):
    return index_at_grad(ct, a, indices, axes=axes), None


@primitive(
    rule="like_second",
    dtype="first",
    flops=lambda a, like, indices, out, axes: a.size,
    read=_bytes_added,
    samples=(
        sample((3,), (2, 3), np.array([[1, 0, -1], [2, 2, 2]]), axes=(0, 1)),
        sample((3, 4), (2, 4, 3), np.array([[1, 0, 1], [2, 2, 2]]), axes=(0, 2)),
        sample((), (2, 3), np.array([1, 2]), axes=(0, 1)),
    ),
    public=False,
)
def index_at_grad(xp, a, like: Spec, indices: Indices, *, axes: tuple[int, ...]):
    """Zeros in the shape of `like`, plus each element of a at the place where index_at found it.

    >>> index_at_grad(tensor([1.0, 2.0]), tensor([0.0, 0.0]), tensor([[1, 1]]), axes=(0,)).tolist()
    [0.0, 3.0]
    """
    out = xp.zeros(like.shape, a.dtype)
    _add_at(xp, out, indices, axes, a)
    return out


@index_at_grad.vjp
def _(ct, indices, *, axes):
    return index_at(ct, indices, axes=axes), None, None


@primitive(
    infer=_put_at_spec,
    kinds="bifc",
    flops=lambda a, indices, values, out, axes, accumulate: values.size if accumulate else 0,
    samples=(
        sample((2, 3), _PLACES, (3,), axes=(0, 1)),
        sample((2, 4, 3), np.array([[1, 0], [2, 2]]), (4,), axes=(0, 2)),
        sample((2, 4, 3), np.array([[1, 0], [2, 2]]), (2, 1), axes=(0, 2)),
        sample((4, 3), np.array([[1, 3, 1]]), (3, 3), axes=(0,), accumulate=True),
        sample((2, 3), np.array([[1, 1], [2, 2]]), (), axes=(0, 1), accumulate=True),
    ),
    updates=True,
    public=False,
)
def put_at(xp, a, indices: Indices, values, *, axes: tuple[int, ...], accumulate: bool = False):
    """a with `values` at the places that index_at would read, or with them added to what is there.

    >>> put_at(tensor([1.0, 2.0, 3.0]), tensor([[0, 2]]), tensor([8.0, 9.0]), axes=(0,)).tolist()
    [8.0, 2.0, 9.0]
    """
    if accumulate:
        _add_at(xp, a, indices, axes, values)
    else:
        a[_key(xp, a.shape, indices, axes)] = values
    return a


@put_at.vjp
def _(ct, indices, values: Spec, *, axes: tuple[int, ...], accumulate: bool):
    by_a = ct if accumulate else put_at(ct, indices, 0.0, axes=axes)
    return by_a, None, unbroadcast(index_at(ct, indices, axes=axes), values)


# --- PyTorch's and the array API's spellings


@composite(
    samples=(sample((2, 3), axis=1, index=np.array([[2], [0]])), sample((3, 4), axis=0, index=np.array([[2, 0]])))
)
def gather(a, axis, index):
    """a's elements at each place of `index` along the axis. The other sizes of index may be smaller than a's.

    >>> gather(tensor([[1.0, 2.0]]), 1, tensor([[1, 1]])).tolist()
    [[2.0, 2.0]]
    """
    return take_along(a, index, axis=axis, from_end=False)


@composite(
    samples=(sample((2, 3), np.array([[2, 0]]), axis=1), sample((3,), np.array([2, 0, 0]))),
    aliases=("take_along_dim",),
)
def take_along_axis(a, indices, axis=None):
    """For each row along an axis, the elements at that row's own indices; the other axes broadcast.

    Without an axis, of the flattened a.

    >>> take_along_axis(tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([[1]]), axis=1).tolist()
    [[2.0], [4.0]]
    """
    if axis is None:
        return take_along(reshape(a, (-1,)), reshape(indices, (-1,)), axis=0)
    axis = place(axis, a.ndim, "take_along_axis")
    if a.ndim != indices.ndim:
        raise ShapeError(f"take_along_axis: a {a.shape} and indices {indices.shape} need equally many axes")
    sizes = list(broadcast_shapes(*((*x.shape[:axis], 1, *x.shape[axis + 1 :]) for x in (a, indices))))
    wide = [expand(x, (*sizes[:axis], x.shape[axis], *sizes[axis + 1 :])) for x in (a, indices)]
    return take_along(*wide, axis=axis)


@composite(samples=(sample((2, 3), axis=1, index=np.array([2, 2, 0])),))
def index_select(a, axis, index):
    """The parts of a at each index of an axis; negative ones are refused.

    >>> index_select(tensor([1.0, 2.0, 3.0]), 0, tensor([2, 0])).tolist()
    [3.0, 1.0]
    """
    if index.ndim > 1:
        raise ShapeError(f"index_select: index has shape {index.shape}, it may have one axis")
    return take(a, reshape(index, (-1,)), axis=axis, from_end=False)
