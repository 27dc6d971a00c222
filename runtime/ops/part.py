"""Parts of a tensor, as views."""

import itertools
from typing import Any

from ..errors import ArgumentError, AxisError, IndexOutOfRange, ShapeError
from ..op import sample
from ..registry import composite, primitive
from ..spec import Spec
from .shape import concat, slice, split_every, unsqueeze


def window(a: Any, axis: int, start: int, size: int, step: int = 1) -> Any:
    """The elements of one axis from `start`, `step` apart, as a view; the axis counts from the first."""
    shape = a.shape
    starts, sizes, steps = [0] * len(shape), [*shape], [1] * len(shape)
    starts[axis], sizes[axis], steps[axis] = start, size, step
    return slice(a, start=tuple(starts), size=tuple(sizes), step=tuple(steps))


def place(axis: int, ndim: int, name: str) -> int:
    """The axis counted from the first; AxisError when there is none."""
    if not -ndim <= axis < ndim:
        raise AxisError(f"{name}: axis {axis} is out of range for {ndim} axes")
    return axis % ndim


@composite(samples=(sample((4, 5), axis=1, start=1, length=3), sample((4, 5), axis=0, start=-2, length=2)))
def narrow(a, axis, start, length):
    """`length` elements of an axis from `start`, which may count from the end; a view.

    >>> narrow(tensor([1.0, 2.0, 3.0]), 0, 1, 2).tolist()
    [2.0, 3.0]
    """
    axis = place(axis, a.ndim, "narrow")
    n = a.shape[axis]
    first = int(start) + n if start < 0 else int(start)
    if not 0 <= first <= n or length < 0 or first + length > n:
        raise IndexOutOfRange(f"narrow: {length} elements from {start} do not lie in axis {axis} of size {n}")
    return window(a, axis, first, length)


@composite(
    samples=(
        sample((6, 2), split_size_or_sections=4),
        sample((2, 5), split_size_or_sections=[2, 0, 3], axis=-1),
    )
)
def split(a, split_size_or_sections, axis=0):
    """a divided along an axis into parts of one size, the last perhaps smaller, or of the given sizes; views.

    >>> [part.tolist() for part in split(tensor([1.0, 2.0, 3.0]), [1, 2])]
    [[1.0], [2.0, 3.0]]
    """
    if isinstance(split_size_or_sections, int):
        return split_every(a, split_size_or_sections, axis)
    axis, sizes = place(axis, a.ndim, "split"), [int(n) for n in split_size_or_sections]
    if sum(sizes) != a.shape[axis] or min(sizes, default=0) < 0:
        raise ShapeError(f"split: sizes {sizes} do not add up to {a.shape[axis]}, the size of axis {axis}")
    return tuple(window(a, axis, sum(sizes[:i]), n) for i, n in enumerate(sizes))


@composite(samples=(sample((5, 2), chunks=2), sample((2, 3), chunks=5, axis=1)))
def chunk(a, chunks, axis=0):
    """a divided along an axis into at most `chunks` parts of equal size, the last perhaps smaller; views.

    >>> [part.tolist() for part in chunk(tensor([1.0, 2.0, 3.0]), 2)]
    [[1.0, 2.0], [3.0]]
    """
    if chunks < 1:
        raise ArgumentError(f"chunk: chunks must be at least 1, not {chunks}")
    n = a.shape[place(axis, a.ndim, "chunk")]
    return split_every(a, max(-(-n // chunks), 1), axis)


@composite(samples=(sample((7, 2), indices_or_sections=3), sample((2, 5), indices_or_sections=(1, 3), axis=1)))
def tensor_split(a, indices_or_sections, axis=0):
    """a divided along an axis into so many parts, as equal as possible, or before each of the given indices; views.

    >>> [part.tolist() for part in tensor_split(tensor([1.0, 2.0, 3.0]), 2)]
    [[1.0, 2.0], [3.0]]
    """
    axis = place(axis, a.ndim, "tensor_split")
    n = a.shape[axis]
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
        if count < 1:
            raise ArgumentError(f"tensor_split: the number of parts must be at least 1, not {count}")
        ends = [i * (n // count) + min(i, n % count) for i in range(count + 1)]
    else:
        ends = [0, *(range(n)[: int(i)].stop for i in indices_or_sections), n]
    return tuple(window(a, axis, i, max(end - i, 0)) for i, end in itertools.pairwise(ends))


def _sized(name: str, a: Any, least: int) -> None:
    if a.ndim < least:
        raise ShapeError(f"{name}: it takes at least {least} axes, not shape {a.shape}")


@composite(samples=(sample((2, 4), indices_or_sections=2), sample((4,), indices_or_sections=(1,))))
def hsplit(a, indices_or_sections):
    """tensor_split along the second axis, of a vector along the first.

    >>> [part.tolist() for part in hsplit(tensor([1.0, 2.0]), 2)]
    [[1.0], [2.0]]
    """
    _sized("hsplit", a, 1)
    return tensor_split(a, indices_or_sections, 0 if a.ndim == 1 else 1)


@composite(samples=(sample((4, 2), indices_or_sections=2),))
def vsplit(a, indices_or_sections):
    """tensor_split along the first of two or more axes.

    >>> [part.tolist() for part in vsplit(tensor([[1.0], [2.0]]), 2)]
    [[[1.0]], [[2.0]]]
    """
    _sized("vsplit", a, 2)
    return tensor_split(a, indices_or_sections, 0)


@composite(samples=(sample((2, 1, 4), indices_or_sections=2),))
def dsplit(a, indices_or_sections):
    """tensor_split along the third of three or more axes.

    >>> [part.tolist() for part in dsplit(tensor([[[1.0, 2.0]]]), 2)]
    [[[[1.0]]], [[[2.0]]]]
    """
    _sized("dsplit", a, 3)
    return tensor_split(a, indices_or_sections, 2)


@primitive(
    rule="unbind",
    dtype="first",
    view=True,
    several=True,
    samples=(sample((2, 3)), sample((2, 3, 2), axis=-1)),
    aliases=("unstack",),
)
def unbind(xp, a, *, axis: int = 0):
    """The parts of a at each index of an axis, without that axis, as views.

    >>> [part.tolist() for part in unbind(tensor([[1.0, 2.0], [3.0, 4.0]]))]
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return tuple(xp.moveaxis(a, axis, 0))


@unbind.vjp
def _(ct, *, axis: int):
    return concat([unsqueeze(part, (axis,)) for part in ct], axis=axis)


@primitive(
    rule="diagonal",
    dtype="first",
    view=True,
    samples=(
        sample((3, 4)),
        sample((3, 4), offset=-1),
        sample((2, 3, 4), offset=1, dim1=-1, dim2=0),
        sample((2, 2), offset=5),
    ),
)
def diagonal(xp, a, *, offset: int = 0, dim1: int = 0, dim2: int = 1):
    """The diagonal of two axes, `offset` above the main one, as a last axis; a view.

    >>> diagonal(tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [1.0, 4.0]
    """
    return xp.diagonal(a, offset, dim1, dim2)


@diagonal.vjp
def _(ct, a: Spec, *, offset, dim1, dim2):
    return undiagonal(ct, a, offset=offset, dim1=dim1, dim2=dim2)


@primitive(
    rule="like_second",
    dtype="first",
    public=False,
    flops=lambda a, like, out, offset, dim1, dim2: 0,
    samples=(
        sample((3,), (3, 4), offset=0, dim1=0, dim2=1),
        sample((3, 1), (2, 3, 4), offset=1, dim1=-1, dim2=0),
        sample((0, 1), (2, 0, 4), offset=1, dim1=-1, dim2=0),
    ),
)
def undiagonal(xp, a, like: Spec, *, offset: int, dim1: int, dim2: int):
    """Zeros in the shape of `like`, but a on a diagonal: what diagonal() shows of the result is a.

    >>> undiagonal(tensor([1.0]), tensor([[0.0, 0.0]]), offset=1, dim1=0, dim2=1).tolist()
    [[0.0, 1.0]]
    """
    out = xp.zeros(like.shape, a.dtype)
    front = xp.moveaxis(out, (dim1, dim2), (0, 1))
    rows = xp.arange(a.shape[-1]) - min(offset, 0)
    front[rows, rows + offset] = xp.moveaxis(a, -1, 0)
    return out


@undiagonal.vjp
def _(ct, *, offset, dim1, dim2):
    return diagonal(ct, offset=offset, dim1=dim1, dim2=dim2), None


# --- windows, which may overlap


@primitive(
    rule="unfold",
    dtype="first",
    view=True,
    samples=(sample((7,), axis=0, size=3, step=2), sample((5, 4), axis=-2, size=2, step=1)),
)
def unfold(xp, a, *, axis: int, size: int, step: int):
    """The windows of `size` elements of an axis, one every `step`, as a last axis; a view.

    >>> unfold(tensor([1.0, 2.0, 3.0]), 0, 2, 1).tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """
    windows = xp.lib.stride_tricks.sliding_window_view(a, size, axis)
    return xp.moveaxis(xp.moveaxis(windows, axis % a.ndim, 0)[::step], 0, axis % a.ndim)


@unfold.vjp
def _(ct, a: Spec, *, axis, size, step):
    return fold(ct, a, axis=axis, size=size, step=step)


@primitive(
    rule="like_second",
    dtype="first",
    public=False,
    flops=lambda a, like, out, axis, size, step: a.size,
    samples=(
        sample((3, 3), (7,), axis=0, size=3, step=2),
        sample((4, 4, 2), (5, 4), axis=-2, size=2, step=1),
        sample((4, 0, 2), (5, 0), axis=-2, size=2, step=1),
    ),
)
def fold(xp, a, like: Spec, *, axis: int, size: int, step: int):
    """Zeros in the shape of `like`, plus each element of a at the place where unfold found it.

    >>> fold(tensor([[1.0, 1.0], [1.0, 1.0]]), tensor([0.0, 0.0, 0.0]), axis=0, size=2, step=1).tolist()
    [1.0, 2.0, 1.0]
    """
    out = xp.zeros(like.shape, a.dtype)
    rows, windows = xp.moveaxis(out, axis, 0), xp.moveaxis(a, axis % like.ndim, 0)
    last = (windows.shape[0] - 1) * step + 1
    for k in range(size):
        rows[k : k + last : step] += windows[..., k]
    return out


@fold.vjp
def _(ct, *, axis, size, step):
    return unfold(ct, axis=axis, size=size, step=step), None
