"""The same elements repeated, rolled, turned round."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from ..errors import ArgumentError, ShapeError
from ..op import sample
from ..registry import composite, primitive
from ..spec import Axes, Spec
from .axes import atleast_1d, atleast_2d, atleast_3d
from .cast import copy
from .index import take
from .part import place
from .shape import concat, reshape, slice, stack, transpose


def _tile_spec(a: Spec, *, repetitions: tuple[int, ...]) -> Spec:
    if min(repetitions, default=0) < 0:
        raise ShapeError(f"tile: repetitions {repetitions} may not be negative")
    lead = len(repetitions) - a.ndim
    sizes = (1,) * lead + a.shape
    times = (1,) * -lead + repetitions
    return Spec(tuple(n * m for n, m in zip(sizes, times, strict=True)), a.dtype)


@primitive(
    infer=_tile_spec,
    kinds="bifc",
    flops=lambda a, out, repetitions: 0,
    samples=(sample((2, 3), repetitions=(2,)), sample((2, 3), repetitions=(2, 1, 3)), sample((), repetitions=(2,))),
)
def tile(xp, a, *, repetitions: tuple[int, ...]):
    """a laid out so many times along each axis; the counts belong to the last axes, or add axes in front.

    >>> tile(tensor([1.0, 2.0]), (2,)).tolist()
    [1.0, 2.0, 1.0, 2.0]
    """
    return xp.tile(a, repetitions)


@tile.vjp
def _(ct, a: Spec, *, repetitions):
    return untile(ct, a, repetitions=repetitions)


@primitive(
    rule="like_second",
    dtype="first",
    flops=lambda a, like, out, repetitions: a.size,
    samples=(
        sample((2, 6), (2, 3), repetitions=(2,)),
        sample((2, 2, 9), (2, 3), repetitions=(2, 1, 3)),
        sample((0, 6), (0, 3), repetitions=(2,)),
    ),
    public=False,
)
def untile(xp, a, like: Spec, *, repetitions: tuple[int, ...]):
    """The sum of the tiles that tile laid out.

    >>> untile(tensor([1.0, 2.0, 3.0, 4.0]), tensor([0.0, 0.0]), repetitions=(2,)).tolist()
    [4.0, 6.0]
    """
    sizes = (1,) * (a.ndim - like.ndim) + like.shape
    times = (1,) * (a.ndim - len(repetitions)) + repetitions
    cut = a.reshape([n for pair in zip(times, sizes, strict=True) for n in pair])
    return xp.sum(cut, axis=tuple(range(0, 2 * a.ndim, 2))).reshape(like.shape)


@untile.vjp
def _(ct, *, repetitions):
    return tile(ct, repetitions=repetitions), None


@composite(samples=(sample((2, 3), repeats=2), sample((2, 3), repeats=np.array([1, 2, 0]), axis=1)), method=False)
def repeat(a, repeats, *, axis=None):
    """Each element repeated in its place, of the flattened a or along an axis; a number of times, or one for each.

    It is the array API's. The method of Tensor is PyTorch's repeat(*sizes), which is tile.

    >>> repeat(tensor([1.0, 2.0]), 2).tolist()
    [1.0, 1.0, 2.0, 2.0]
    """
    if axis is None:
        a, axis = reshape(a, (-1,)), 0
    axis = place(axis, a.ndim, "repeat")
    times = np.asarray(repeats)
    if times.dtype.kind not in "iu" or (times < 0).any() or times.shape not in ((), (1,), (a.shape[axis],)):
        raise ArgumentError(f"repeat: repeats must be ints from 0, one or {a.shape[axis]} of them")
    places = np.repeat(np.arange(a.shape[axis]), times)
    return take(a, _core.from_numpy(places, a), axis)


@composite(samples=(sample((2, 3), repeats=2), sample((2, 3), repeats=np.array([1, 2, 0]), axis=1)))
def repeat_interleave(a, repeats, axis=None):
    """Each element repeated in its place, of the flattened a or along an axis; a number of times, or one for each.

    >>> repeat_interleave(tensor([1.0, 2.0]), tensor([1, 2])).tolist()
    [1.0, 2.0, 2.0]
    """
    return repeat(a, repeats, axis=axis)


def _rolled(a: Spec, *, shift: tuple[int, ...], axis: Axes) -> Spec:
    axes = () if axis is None else (axis,) if isinstance(axis, int) else axis
    if len(shift) != (1 if axis is None else len(axes)) or not shift:
        raise ArgumentError(f"roll: {len(shift)} shifts for axes {axis}: give one for each, or one without axes")
    for i in axes:
        place(i, a.ndim, "roll")
    return a


@primitive(
    infer=_rolled,
    flops=lambda a, out, shift, axis: 0,
    samples=(sample((5,), shift=(2,)), sample((2, 3), shift=(1, -4), axis=(0, 1)), sample((2, 3), shift=(2,))),
)
def roll(xp, a, *, shift: tuple[int, ...], axis: Axes = None):
    """The elements moved along the axes, those that leave at one end coming in at the other; without axes, flattened.

    >>> roll(tensor([1.0, 2.0, 3.0]), 1).tolist()
    [3.0, 1.0, 2.0]
    """
    return xp.roll(a, shift if axis is not None else shift[0], axis)


@roll.vjp
def _(ct, *, shift: tuple[int, ...], axis: Axes):
    return roll(ct, tuple(-n for n in shift), axis)


@roll.keywords
def _(op, a, *args, dims=None, **kwargs):
    return op(a, *args, axis=dims, **kwargs)


def _reversed(a: Any, axes: Sequence[int]) -> Any:
    shape = a.shape
    back = {place(i, len(shape), "flip") for i in axes}
    start = tuple(max(n - 1, 0) if i in back else 0 for i, n in enumerate(shape))
    return slice(a, start=start, size=shape, step=tuple(-1 if i in back else 1 for i in range(len(shape))))


@composite(samples=(sample((3,)), sample((2, 3), axis=1), sample((2, 3, 2), axis=(0, -1))))
def flip(a, axis=None):
    """A copy of a with the elements of the axes, of all by default, in reverse.

    >>> flip(tensor([1.0, 2.0])).tolist()
    [2.0, 1.0]
    """
    axes = range(a.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return copy(_reversed(a, axes))


@composite(samples=(sample((2, 3)),))
def fliplr(a):
    """A copy of a with its second axis in reverse.

    >>> fliplr(tensor([[1.0, 2.0]])).tolist()
    [[2.0, 1.0]]
    """
    return flip(a, 1)


@composite(samples=(sample((2, 3)),))
def flipud(a):
    """A copy of a with its first axis in reverse.

    >>> flipud(tensor([1.0, 2.0])).tolist()
    [2.0, 1.0]
    """
    return flip(a, 0)


@composite(samples=(sample((2, 3)), sample((2, 3), k=2), sample((2, 2, 3), k=-1, axis=(1, 2))))
def rot90(a, k=1, axis=(0, 1)):
    """A copy of a turned by k quarters from the first of two axes to the second.

    >>> rot90(tensor([[1.0, 2.0]])).tolist()
    [[2.0], [1.0]]
    """
    if len(axis) != 2:
        raise ArgumentError(f"rot90: it turns two axes, not {tuple(axis)}")
    first, second = axis
    if k % 2:
        turned = transpose(a, first, second)
        return flip(turned, first if k % 4 == 1 else second)
    return flip(a, axis) if k % 4 else copy(a)


@composite(samples=(sample([(2,), (3,)]), sample([(2, 1), (2, 3)])), method=False)
def hstack(arrays):
    """Tensors joined along the second axis, or the first where there is one.

    >>> hstack([tensor([1.0]), tensor([2.0])]).tolist()
    [1.0, 2.0]
    """
    wide = [atleast_1d(a) for a in arrays]
    return concat(wide, axis=0 if wide[0].ndim == 1 else 1)


@composite(samples=(sample([(3,), (3,)]), sample([(2, 3), (1, 3)])), method=False, aliases=("row_stack",))
def vstack(arrays):
    """Tensors joined along the first axis, of those with one axis as rows.

    >>> vstack([tensor([1.0]), tensor([2.0])]).tolist()
    [[1.0], [2.0]]
    """
    return concat([atleast_2d(a) for a in arrays], axis=0)


@composite(samples=(sample([(3,), (3,)]), sample([(2, 3), (2, 3)])), method=False)
def dstack(arrays):
    """Tensors joined along the third axis.

    >>> dstack([tensor([1.0]), tensor([2.0])]).tolist()
    [[[1.0, 2.0]]]
    """
    return concat([atleast_3d(a) for a in arrays], axis=2)


@composite(samples=(sample([(3,), (3,)]), sample([(2, 1), (2, 3)])), method=False)
def column_stack(arrays):
    """Tensors joined along the second axis, those with one axis as columns.

    >>> column_stack([tensor([1.0]), tensor([2.0])]).tolist()
    [[1.0, 2.0]]
    """
    return concat([reshape(a, (-1, 1)) if a.ndim < 2 else a for a in arrays], axis=1)


@composite(samples=(sample((2,), (3,)), sample((2,), (3,), indexing="ij")), method=False)
def meshgrid(*tensors, indexing="xy"):
    """The coordinates of the points of a grid: one tensor for each axis, as views, in a list.

    indexing: "xy", where the first two axes are exchanged, as the array API has it, or "ij".

    >>> [x.tolist() for x in meshgrid(tensor([1, 2]), tensor([3]), indexing="ij")]
    [[[1], [2]], [[3], [3]]]
    """
    axes = list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], list | tuple) else list(tensors)
    if indexing not in ("xy", "ij"):
        raise ArgumentError(f"meshgrid: indexing must be 'xy' or 'ij', not {indexing!r}")
    if any(a.ndim > 1 for a in axes):
        raise ShapeError(f"meshgrid: tensors with one axis make a grid, not {[a.shape for a in axes]}")
    sizes = [a.numel() for a in axes]
    swap = indexing == "xy" and len(axes) > 1
    order = [1, 0, *range(2, len(axes))] if swap else list(range(len(axes)))
    shape = [sizes[i] for i in order]
    cut = [reshape(a, tuple(-1 if order[k] == i else 1 for k in range(len(axes)))) for i, a in enumerate(axes)]
    return [a.expand(tuple(shape)) for a in cut]


@composite(samples=(sample((3,)), sample((3,), r=3), sample((2,), with_replacement=True)))
def combinations(a, r=2, with_replacement=False):
    """All ways to take r elements of a vector in their order, a row each; with replacement, an element more than once.

    >>> combinations(tensor([1, 2, 3])).tolist()
    [[1, 2], [1, 3], [2, 3]]
    """
    if a.ndim != 1 or r < 0:
        raise ShapeError(f"combinations: it takes r >= 0 elements of a vector, not {r} of shape {a.shape}")
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = np.array(list(choose(range(a.shape[0]), r)), np.int64).reshape(-1, r)
    return a[_core.from_numpy(rows, a)]


@composite(samples=(sample((2,), (3,)), sample((2,))), method=False)
def cartesian_prod(*tensors):
    """All ways to take one element of each tensor, a row each.

    >>> cartesian_prod(tensor([1, 2]), tensor([3, 4])).tolist()
    [[1, 3], [1, 4], [2, 3], [2, 4]]
    """
    if len(tensors) == 1:
        return tensors[0]
    return stack([reshape(a, (-1,)) for a in meshgrid(*tensors, indexing="ij")], axis=1)
