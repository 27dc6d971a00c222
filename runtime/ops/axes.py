"""Views with other axes: moved, joined, divided, broadcast to each other."""

import math
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from ..errors import ShapeError
from ..op import sample
from ..registry import composite, primitive
from ..spec import DType, int32
from .part import place
from .shape import expand, permute, reshape, transpose, unsqueeze


@composite(samples=(sample((2, 3)), sample((3,)), sample(())))
def t(a):
    """A matrix with its axes swapped, as a view; what has fewer axes as it is.

    >>> t(tensor([[1.0, 2.0]])).tolist()
    [[1.0], [2.0]]
    """
    if a.ndim > 2:
        raise ShapeError(f"t: it takes at most 2 axes, not shape {a.shape}: use mT or permute")
    return transpose(a, 0, 1) if a.ndim == 2 else a


@composite(
    samples=(sample((2, 3, 4), source=0, destination=-1), sample((2, 3, 4), source=(0, 1), destination=(2, 0))),
    aliases=("moveaxis",),
)
def movedim(a, source, destination):
    """a with some of its axes moved to other places and the rest in their order, as a view.

    >>> movedim(tensor([[1.0, 2.0]]), 0, 1).tolist()
    [[1.0], [2.0]]
    """
    pairs = [(x,) if isinstance(x, int) else tuple(x) for x in (source, destination)]
    sources, targets = ([place(i, a.ndim, "movedim") for i in x] for x in pairs)
    if len(sources) != len(targets) or len({*sources}) != len(sources) or len({*targets}) != len(targets):
        raise ShapeError(f"movedim: {pairs[0]} to {pairs[1]}: give as many places as axes, each once")
    order = [i for i in range(a.ndim) if i not in sources]
    for target, moved in sorted(zip(targets, sources, strict=True)):
        order.insert(target, moved)
    return permute(a, tuple(order))


@composite(samples=(sample((2, 3, 4)), sample((2, 3, 4), start_dim=1, end_dim=-1), sample(())))
def flatten(a, start_dim=0, end_dim=-1):
    """The axes from start_dim to end_dim as one; a view where the strides allow one, else a copy.

    >>> flatten(tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    shape = a.shape
    if not shape:
        return reshape(a, (1,))
    start, end = place(start_dim, len(shape), "flatten"), place(end_dim, len(shape), "flatten")
    if start > end:
        raise ShapeError(f"flatten: start_dim {start_dim} comes after end_dim {end_dim}")
    return reshape(a, (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))


@composite(samples=(sample((2, 3)),))
def ravel(a):
    """a with one axis; a view where the strides allow one, else a copy.

    >>> ravel(tensor([[1.0], [2.0]])).tolist()
    [1.0, 2.0]
    """
    return reshape(a, (-1,))


@composite(samples=(sample((2, 12), axis=1, sizes=(3, -1)), sample((6,), axis=0, sizes=(2, 3))))
def unflatten(a, axis, sizes):
    """One axis as several of these sizes, of which one may be -1, as a view.

    >>> unflatten(tensor([1.0, 2.0, 3.0, 4.0]), 0, (2, 2)).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    at = place(axis, a.ndim, "unflatten")
    given = math.prod(n for n in sizes if n != -1)
    known = [n if n != -1 else a.shape[at] // max(given, 1) for n in sizes]
    if math.prod(known) != a.shape[at] or list(sizes).count(-1) > 1:
        raise ShapeError(f"unflatten: axis {axis} of size {a.shape[at]} does not divide into {tuple(sizes)}")
    return reshape(a, (*a.shape[:at], *known, *a.shape[at + 1 :]))


@composite(samples=(sample((3,), (2, 3)),))
def expand_as(a, other):
    """a broadcast to the shape of the other, as a view.

    >>> expand_as(tensor([1.0]), tensor([0, 0])).tolist()
    [1.0, 1.0]
    """
    return expand(a, other.shape)


@composite(samples=(sample((6,), (3, 2)),))
def reshape_as(a, other):
    """a in the shape of the other: a view where the strides allow one, else a copy.

    >>> reshape_as(tensor([1.0, 2.0]), tensor([[0], [0]])).tolist()
    [[1.0], [2.0]]
    """
    return reshape(a, other.shape)


@composite(samples=(), method=False)
def broadcast_shapes(*shapes):
    """The shape that all of these broadcast to.

    >>> broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    sizes: list[int] = []
    for column in zip_longest(*(reversed((s,) if isinstance(s, int) else s) for s in shapes), fillvalue=1):
        wide = {n for n in column if n != 1} or {1}
        if len(wide) > 1:
            raise ShapeError(
                f"broadcast_shapes: {', '.join(str(tuple(s)) for s in shapes)} do not broadcast to each other"
            )
        sizes.insert(0, wide.pop())
    return tuple(sizes)


@composite(samples=(sample((2, 1), (3,)), sample((2, 3), (), (1, 3))), method=False, aliases=("broadcast_arrays",))
def broadcast_tensors(*tensors):
    """The tensors broadcast to one shape, as views, in a list.

    >>> [x.tolist() for x in broadcast_tensors(tensor([1.0, 2.0]), tensor([[0.0]]))]
    [[[1.0, 2.0]], [[0.0, 0.0]]]
    """
    shape = broadcast_shapes(*(t.shape for t in tensors))
    return [t if t.shape == shape else expand(t, shape) for t in tensors]


def _each(function: Any, tensors: Sequence[Any]) -> Any:
    """function of one tensor, or a tuple of its results for several or a sequence of them."""
    if len(tensors) == 1 and not isinstance(tensors[0], list | tuple):
        return function(tensors[0])
    return tuple(function(t) for t in (tensors[0] if len(tensors) == 1 else tensors))


@composite(samples=(sample(()), sample((2, 3))), method=False)
def atleast_1d(*tensors):
    """Each tensor with at least one axis, as a view.

    >>> atleast_1d(tensor(1.0)).tolist()
    [1.0]
    """
    return _each(lambda a: a if a.ndim else reshape(a, (1,)), tensors)


@composite(samples=(sample(()), sample((3,)), sample((2, 3))), method=False)
def atleast_2d(*tensors):
    """Each tensor with at least two axes, new ones in front, as a view.

    >>> atleast_2d(tensor([1.0, 2.0])).tolist()
    [[1.0, 2.0]]
    """
    return _each(lambda a: a if a.ndim >= 2 else reshape(a, (1,) * (2 - a.ndim) + a.shape), tensors)


@composite(samples=(sample(()), sample((3,)), sample((2, 3))), method=False)
def atleast_3d(*tensors):
    """Each tensor with at least three axes, as a view: n elements become (1, n, 1), a matrix (m, n, 1).

    >>> atleast_3d(tensor([1.0, 2.0])).shape
    (1, 2, 1)
    """
    return _each(lambda a: unsqueeze(a if a.ndim == 2 else atleast_2d(a), (-1,)) if a.ndim < 3 else a, tensors)


@composite(samples=(sample((2, 3)), sample((2, 3, 4))))
def adjoint(a):
    """The last two axes exchanged and, of complex elements, conjugated.

    >>> adjoint(tensor([[1.0, 2.0]])).tolist()
    [[1.0], [2.0]]
    """
    swapped = transpose(a, -2, -1)
    return swapped.conj() if a.dtype.kind == "c" else swapped


@primitive(
    rule="bitcast",
    dtype="attr",
    view=True,
    public=False,
    differentiable=False,
    kinds="bifc",
    samples=(sample(np.array([[1.0, -2.0], [0.5, 3.0]], np.float32), dtype=int32),),
)
def bitcast(xp, a, *, dtype: DType):
    """The same bytes as elements of another dtype: Tensor.view(dtype). No gradients.

    >>> bitcast(tensor([1.0]), int32).tolist()
    [1065353216]
    """
    return a.view(dtype.numpy)
