"""Subscripts that choose by arrays: integers, masks, lists of them. Those of ints, slices, None and ... are the core's.

NumPy's rules: index arrays and ints broadcast to each other; their shape comes where they stand, if they stand side by
side, else first. A mask is the places where it holds.
"""

from typing import Any

import numpy as np

from . import _core
from ._core import Tensor
from .creation import copied, from_numpy
from .errors import DTypeError, IndexOutOfRange, ShapeError
from .ops.index import index_at, put_at, take
from .ops.scatter import masked_fill_
from .ops.shape import reshape
from .spec import bool_

_put_in_place = _core.inplace(put_at)
_WHOLE = slice(None)


def _array(item: Any) -> np.ndarray[Any, Any]:
    """What stands in a subscript as an array of bools or ints."""
    array = np.asarray(item.detach() if isinstance(item, Tensor) else item)
    if array.size == 0 and isinstance(item, list | tuple):
        array = array.astype(np.int64)
    if array.dtype.kind not in "biu":
        raise DTypeError(
            f"a subscript may be ints, slices, None, ..., or arrays of ints or bools, not {type(item).__name__} "
            f"of {array.dtype}"
        )
    return array


def _parse(a: Tensor, key: Any) -> tuple[Tensor, np.ndarray[Any, Any], tuple[int, ...]]:
    """a after the slices and new axes of the key, then index arrays, broadcast and stacked, and their axes."""
    items = [i if i is None or i is ... or isinstance(i, slice) else _array(i) for i in _as_tuple(key)]
    used = sum(i.ndim if i.dtype.kind == "b" else 1 for i in items if isinstance(i, np.ndarray))
    used += sum(isinstance(i, slice) for i in items)
    if used > a.ndim or sum(i is ... for i in items) > 1:
        raise IndexOutOfRange(f"subscripts for {used} axes of a tensor with shape {a.shape}, or more than one ...")
    plain: list[Any] = []  # the key of the view, with whole axes where arrays choose
    chosen: dict[int, np.ndarray[Any, Any]] = {}
    at = 0  # axis of a
    for item in items:
        if item is None:
            plain.append(None)
        elif item is ...:
            plain += [_WHOLE] * (a.ndim - used)
            at += a.ndim - used
        elif isinstance(item, slice):
            plain.append(item)
            at += 1
        elif item.dtype.kind != "b":
            chosen[len(plain)] = item
            plain.append(_WHOLE)
            at += 1
        elif item.ndim == 0:  # a new axis, of one element or none
            chosen[len(plain)] = np.zeros(int(item), np.int64)
            plain.append(None)
        else:
            if item.shape != a.shape[at : at + item.ndim]:
                raise IndexOutOfRange(f"a mask of shape {item.shape} does not fit axes {at}... of shape {a.shape}")
            for places in np.nonzero(item):
                chosen[len(plain)] = places
                plain.append(_WHOLE)
            at += item.ndim
    view = a if all(p is _WHOLE for p in plain) else a[tuple(plain)]
    try:
        indices = np.stack(np.broadcast_arrays(*chosen.values()))
    except ValueError:
        shapes = ", ".join(str(i.shape) for i in chosen.values())
        raise ShapeError(f"index arrays of shapes {shapes} do not broadcast to each other") from None
    return view, indices.astype(np.int64, copy=False), tuple(chosen)


def _as_tuple(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _mask(a: Tensor, key: Any) -> Tensor | None:
    """The key as a mask of the first axes, if that is all that it is."""
    if isinstance(key, np.ndarray) and key.dtype.kind == "b":
        key = from_numpy(key)
    masks = isinstance(key, Tensor) and key.dtype is bool_ and 0 < key.ndim <= a.ndim
    return key if masks and key.shape == a.shape[: key.ndim] else None


def _rows(a: Tensor, mask: Tensor) -> Tensor:
    """a with the axes of the mask as one."""
    return a if mask.ndim == 1 else reshape(a, (mask.numel(), *a.shape[mask.ndim :]))


def get(a: Tensor, key: Any) -> Tensor:
    """a[key], a copy."""
    mask = _mask(a, key)
    if mask is not None:
        rows: Tensor = take(_rows(a, mask), copied(np.flatnonzero(np.asarray(mask)), a.device), axis=0)
        return rows
    view, indices, axes = _parse(a, key)
    if len(axes) == 1:
        found: Tensor = take(view, copied(indices[0], a.device), axis=axes[0])
        return found
    chosen: Tensor = index_at(view, copied(indices, a.device), axes=axes)
    return chosen


def put(a: Tensor, key: Any, value: Any) -> None:
    """a[key] = value."""
    mask = _mask(a, key)
    if mask is not None and mask.ndim == a.ndim and isinstance(value, int | float):
        masked_fill_(a, mask.to(a.device), value)
        return
    view, indices, axes = _parse(a, key)
    extra = (value.ndim if isinstance(value, Tensor) else 0) - (view.ndim - len(axes) + indices.ndim - 1)
    if extra > 0 and set(value.shape[:extra]) == {1}:
        value = value.reshape(value.shape[extra:])
    _put_in_place(view, copied(indices, a.device), value, axes=axes)


_core.set_subscripts(get, put)
