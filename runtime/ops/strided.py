"""Elements chosen by strides: what the history of a view is made of when its memory is changed in place."""

import numpy as np

from ..op import sample
from ..registry import primitive
from ..spec import Spec
from .grads import unbroadcast


def _places(size: tuple[int, ...], stride: tuple[int, ...], storage_offset: int):
    """Where each chosen element lies among all elements in C order."""
    axes = np.indices(size, sparse=True)
    return sum((axis * by for axis, by in zip(axes, stride, strict=True)), np.full(size, storage_offset))


@primitive(
    rule="as_strided",
    dtype="first",
    view=True,
    samples=(
        sample((4, 5), size=(2, 3), stride=(10, 2), storage_offset=1),
        sample((6,), size=(2, 3), stride=(1, 2), storage_offset=0),
        sample((4,), size=(3, 2), stride=(1, 1), storage_offset=0),
        sample((4,), size=(0, 2), stride=(1, 1), storage_offset=0),
    ),
)
def as_strided(xp, a, *, size: tuple[int, ...], stride: tuple[int, ...], storage_offset: int = 0):
    """a's elements from number `storage_offset` on, `stride` apart along each axis. They count in C order, wherever
    they lie in memory; a view where a is contiguous.

    >>> as_strided(tensor([1.0, 2.0, 3.0]), size=(2, 2), stride=(1, 1), storage_offset=0).tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """
    return xp.reshape(a, (-1,))[xp.asarray(_places(size, stride, storage_offset))]


@as_strided.vjp
def _(ct, a: Spec, *, size, stride, storage_offset):
    return as_strided_grad(ct, a, size=size, stride=stride, storage_offset=storage_offset)


@primitive(
    rule="like_second",
    dtype="first",
    public=False,
    kinds="f",
    flops=lambda a, like, out, size, stride, storage_offset: a.size,
    samples=(
        sample((2, 3), (4, 5), size=(2, 3), stride=(10, 2), storage_offset=1),
        sample((3, 2), (4,), size=(3, 2), stride=(1, 1), storage_offset=0),
        sample((0, 2), (4,), size=(0, 2), stride=(1, 1), storage_offset=0),
        sample((), (4,), size=(), stride=(), storage_offset=1),
    ),
)
def as_strided_grad(xp, a, like: Spec, *, size: tuple[int, ...], stride: tuple[int, ...], storage_offset: int):
    """Zeros in the shape of `like`, plus each element of a where as_strided found it.

    >>> as_strided_grad(tensor([1.0, 2.0]), tensor([0.0, 0.0]), size=(2,), stride=(0,), storage_offset=1).tolist()
    [0.0, 3.0]
    """
    out = xp.zeros(like.shape, a.dtype)
    xp.add.at(out.reshape(-1), xp.asarray(_places(size, stride, storage_offset)), a)
    return out


@as_strided_grad.vjp
def _(ct, *, size, stride, storage_offset):
    return as_strided(ct, size=size, stride=stride, storage_offset=storage_offset), None


@primitive(
    rule="same",
    dtype="first",
    public=False,
    flops=lambda a, value, out, size, stride, storage_offset: 0,
    samples=(
        sample((4, 5), (2, 3), size=(2, 3), stride=(10, 2), storage_offset=1),
        sample((6,), (), size=(2, 3), stride=(1, 2), storage_offset=0),
        sample((4,), (0, 2), size=(0, 2), stride=(1, 1), storage_offset=0),
    ),
)
def copy_slices(xp, a, value, *, size: tuple[int, ...], stride: tuple[int, ...], storage_offset: int):
    """A copy of a in which `value` stands where as_strided would look: a tensor after a view of it was changed.

    >>> copy_slices(tensor([1.0, 2.0]), tensor(5.0), size=(1,), stride=(1,), storage_offset=1).tolist()
    [1.0, 5.0]
    """
    out = xp.array(a, order="C")
    out.reshape(-1)[xp.asarray(_places(size, stride, storage_offset))] = value
    return out


@copy_slices.vjp
def _(ct, value: Spec, *, size, stride, storage_offset):
    kept = copy_slices(ct, 0.0, size=size, stride=stride, storage_offset=storage_offset)
    shown = as_strided(ct, size=size, stride=stride, storage_offset=storage_offset)
    return kept, unbroadcast(shown, value)
