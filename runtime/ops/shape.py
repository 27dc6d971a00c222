"""Shapes: other views of the same elements, parts of them, and joining."""

import builtins

from ..op import sample
from ..registry import composite, primitive
from ..spec import Axes, Spec
from .grads import reshape_like, unbroadcast


@primitive(
    rule="reshape",
    dtype="first",
    view=True,
    samples=(
        sample((2, 3), shape=(3, 2)),
        sample((2, 3), shape=(-1,)),
        sample((1,), shape=()),
        sample((0, 2), shape=(4, 0)),
    ),
)
def reshape(xp, a, *, shape: tuple[int, ...], copy: bool | None = None):
    """a in another shape, with as many elements; one size may be -1. A view where the strides allow one, else a copy.

    copy: True for a copy in any case, False for a view or, where there is none, ShapeError.

    >>> reshape(tensor([1.0, 2.0, 3.0, 4.0]), (2, 2)).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return xp.reshape(a, shape)


@reshape.vjp
def _(ct, a: Spec):
    return reshape_like(ct, a)


@primitive(
    rule="transpose",
    dtype="first",
    view=True,
    samples=(sample((2, 3), dim0=0, dim1=1), sample((2, 3, 4), dim0=-1, dim1=0)),
    aliases=("swapaxes", "swapdims"),
)
def transpose(xp, a, *, dim0: int, dim1: int):
    """a with two axes exchanged, as a view.

    >>> transpose(tensor([[1.0, 2.0]]), 0, 1).tolist()
    [[1.0], [2.0]]
    """
    return xp.swapaxes(a, dim0, dim1)


@transpose.vjp
def _(ct, *, dim0, dim1):
    return transpose(ct, dim0, dim1)


@composite(samples=(sample((2, 3)), sample((2, 3, 4))))
def matrix_transpose(a):
    """a with its last two axes exchanged, as a view.

    >>> matrix_transpose(tensor([[1.0, 2.0]])).tolist()
    [[1.0], [2.0]]
    """
    return transpose(a, -2, -1)


@primitive(
    rule="permute",
    dtype="first",
    view=True,
    samples=(sample((2, 3, 4), axes=(2, 0, 1)), sample((2, 3), axes=(-1, 0)), sample((), axes=())),
    aliases=("permute_dims",),
)
def permute(xp, a, *, axes: tuple[int, ...]):
    """a with its axes in another order, as a view.

    >>> permute(tensor([[1.0, 2.0]]), (1, 0)).tolist()
    [[1.0], [2.0]]
    """
    return xp.transpose(a, axes)


@permute.vjp
def _(ct, *, axes: tuple[int, ...]):
    order = [i % len(axes) for i in axes]
    return permute(ct, tuple(order.index(i) for i in range(len(order))))


@primitive(
    rule="expand",
    dtype="first",
    view=True,
    samples=(
        sample((1, 3), shape=(2, 3)),
        sample((3,), shape=(2, -1)),
        sample((), shape=(2, 2)),
        sample((1, 3), shape=(0, 3)),
    ),
    aliases=("broadcast_to",),
)
def expand(xp, a, *, shape: tuple[int, ...]):
    """a broadcast to a shape, as a view; -1 keeps a size.

    >>> expand(tensor([1.0, 2.0]), (2, 2)).tolist()
    [[1.0, 2.0], [1.0, 2.0]]
    """
    lead = len(shape) - a.ndim
    return xp.broadcast_to(a, tuple(a.shape[i - lead] if n == -1 else n for i, n in enumerate(shape)))


@expand.vjp
def _(ct, a: Spec):
    return unbroadcast(ct, a)


@primitive(
    rule="squeeze",
    dtype="first",
    view=True,
    samples=(
        sample((1, 3), axis=(0,)),
        sample((2, 1, 3, 1), axis=(1, -1)),
        sample((1,), axis=(0,)),
        sample((2, 1, 3, 1)),
    ),
)
def squeeze(xp, a, *, axis: Axes = None):
    """a without these axes, which have size 1, as a view; by default without any axis of size 1.

    >>> squeeze(tensor([[1.0, 2.0]]), 0).tolist()
    [1.0, 2.0]
    """
    return xp.squeeze(a, axis)


@squeeze.vjp
def _(ct, a: Spec):
    return reshape_like(ct, a)


@primitive(
    rule="unsqueeze",
    dtype="first",
    view=True,
    samples=(sample((2, 3), axis=(0,)), sample((2, 3), axis=(1, -1)), sample((), axis=(0,))),
    aliases=("expand_dims",),
)
def unsqueeze(xp, a, *, axis: tuple[int, ...]):
    """a with new axes of size 1 at these places of the result, as a view.

    >>> unsqueeze(tensor([1.0, 2.0]), 0).tolist()
    [[1.0, 2.0]]
    """
    return xp.expand_dims(a, axis)


@unsqueeze.vjp
def _(ct, a: Spec):
    return reshape_like(ct, a)


# --- parts; subscripts are made of these


def _window(start: tuple[int, ...], size: tuple[int, ...], step: tuple[int, ...]) -> tuple[builtins.slice, ...]:
    ends = [first + n * by for first, n, by in zip(start, size, step, strict=True)]
    return tuple(builtins.slice(i, None if end < 0 else end, by) for i, end, by in zip(start, ends, step, strict=True))


@primitive(
    rule="slice",
    dtype="first",
    view=True,
    public=False,
    samples=(
        sample((4, 5), start=(1, 0), size=(2, 5), step=(1, 1)),
        sample((4, 5), start=(3, 4), size=(2, 3), step=(-2, -2)),
        sample((4,), start=(0,), size=(0,), step=(1,)),
    ),
)
def slice(xp, a, *, start: tuple[int, ...], size: tuple[int, ...], step: tuple[int, ...]):
    """The part of a that starts at `start` and has `size` elements, `step` apart, along each axis, as a view.

    >>> slice(tensor([1.0, 2.0, 3.0]), start=(0,), size=(2,), step=(2,)).tolist()
    [1.0, 3.0]
    """
    return a[_window(start, size, step)]


@slice.vjp
def _(ct, a: Spec, *, start, size, step):
    return unslice(ct, a, start=start, size=size, step=step)


@primitive(
    rule="like_second",
    dtype="first",
    public=False,
    flops=lambda a, like, out, start, size, step: 0,
    samples=(
        sample((2, 5), (4, 5), start=(1, 0), size=(2, 5), step=(1, 1)),
        sample((2, 3), (4, 5), start=(3, 4), size=(2, 3), step=(-2, -2)),
        sample((0,), (4,), start=(0,), size=(0,), step=(1,)),
    ),
)
def unslice(xp, a, like: Spec, *, start: tuple[int, ...], size: tuple[int, ...], step: tuple[int, ...]):
    """Zeros in the shape of `like`, but a in the part that slice would take.

    >>> unslice(tensor([1.0]), tensor([0.0, 0.0]), start=(1,), size=(1,), step=(1,)).tolist()
    [0.0, 1.0]
    """
    out = xp.zeros(like.shape, a.dtype)
    out[_window(start, size, step)] = a
    return out


@unslice.vjp
def _(ct, *, start, size, step):
    return slice(ct, start=start, size=size, step=step), None


@primitive(
    rule="select",
    dtype="first",
    view=True,
    samples=(sample((4, 5), axis=0, index=2), sample((2, 3, 4), axis=-1, index=-1)),
)
def select(xp, a, *, axis: int, index: int):
    """The part of a at one index of an axis, without that axis, as a view.

    >>> select(tensor([[1.0, 2.0], [3.0, 4.0]]), axis=0, index=1).tolist()
    [3.0, 4.0]
    """
    return xp.moveaxis(a, axis, 0)[index]


@select.vjp
def _(ct, a: Spec, *, axis, index):
    return unselect(ct, a, axis=axis, index=index)


@primitive(
    rule="like_second",
    dtype="first",
    public=False,
    flops=lambda a, like, out, axis, index: 0,
    samples=(
        sample((5,), (4, 5), axis=0, index=2),
        sample((2, 3), (2, 3, 4), axis=-1, index=-1),
        sample((), (4,), axis=0, index=1),
        sample((0,), (4, 0), axis=0, index=1),
    ),
)
def unselect(xp, a, like: Spec, *, axis: int, index: int):
    """Zeros in the shape of `like`, but a at one index of an axis.

    >>> unselect(tensor([1.0, 2.0]), tensor([[0.0, 0.0], [0.0, 0.0]]), axis=0, index=1).tolist()
    [[0.0, 0.0], [1.0, 2.0]]
    """
    out = xp.zeros(like.shape, a.dtype)
    xp.moveaxis(out, axis, 0)[index] = a
    return out


@unselect.vjp
def _(ct, *, axis, index):
    return select(ct, axis=axis, index=index), None


# --- joining and dividing


@primitive(
    rule="concat",
    flops=lambda *arrays, out, axis: 0,
    samples=(
        sample([(2, 3), (4, 3)]),
        sample([(2, 3), (2, 0), (2, 1)], axis=-1),
        sample([(2,)], axis=0),
        sample([(2, 3), (), (0,)], axis=None),
    ),
    aliases=("cat", "concatenate"),
)
def concat(xp, *arrays, axis: int | None = 0):
    """Tensors joined along an axis; their other sizes are equal. With None, flattened and joined.

    >>> concat([tensor([1.0]), tensor([2.0, 3.0])]).tolist()
    [1.0, 2.0, 3.0]
    """
    return xp.concatenate(arrays, axis=axis)


@concat.vjp
def _(ct, arrays: tuple[Spec, ...], *, axis):
    return unconcat([ct, *arrays], axis=axis)


@primitive(
    rule="unconcat",
    dtype="first",
    view=True,
    several=True,
    public=False,
    samples=(
        sample([(6, 3), (2, 3), (4, 3)], axis=0),
        sample([(2, 4), (2, 3), (2, 0), (2, 1)], axis=-1),
        sample([(7,), (2, 3), ()], axis=None),
    ),
)
def unconcat(xp, a, *likes: Spec, axis: int | None):
    """Undo a join: a divided along the axis into parts as long as each of `likes`, as views.

    >>> [part.tolist() for part in unconcat([tensor([1.0, 2.0, 3.0]), tensor([0.0]), tensor([0.0, 0.0])], axis=0)]
    [[1.0], [2.0, 3.0]]
    """
    sizes = [like.size if axis is None else like.shape[axis] for like in likes]
    ends = [sum(sizes[:i]) for i in range(1, len(sizes))]
    parts = xp.split(a, ends, axis=axis or 0)
    return tuple(p.reshape(like.shape) if axis is None else p for p, like in zip(parts, likes, strict=True))


@unconcat.vjp
def _(ct, *, axis):
    return concat(ct, axis=axis)


@composite(samples=(sample([(2, 3), (2, 3)]), sample([(2,), (2,), (2,)], axis=-1)), method=False)
def stack(arrays, axis=0, *, dim=None):
    """Tensors of one shape joined along a new axis.

    >>> stack([tensor([1.0, 2.0]), tensor([3.0, 4.0])]).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    axis = axis if dim is None else dim
    return concat([unsqueeze(a, axis) for a in arrays], axis=axis)


@primitive(
    rule="split",
    dtype="first",
    view=True,
    several=True,
    public=False,
    samples=(sample((6, 2), size=2), sample((2, 5), size=3, axis=-1)),
)
def split_every(xp, a, *, size: int, axis: int = 0):
    """a divided along an axis into parts of `size`, the last one perhaps smaller, as views.

    >>> [part.tolist() for part in split_every(tensor([1.0, 2.0, 3.0]), 2)]
    [[1.0, 2.0], [3.0]]
    """
    return tuple(xp.split(a, range(size, a.shape[axis], size), axis=axis))


@split_every.vjp
def _(ct, *, axis):
    return concat(ct, axis=axis)
