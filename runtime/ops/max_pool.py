"""Pooling over two axes: the largest element of each window of a plane."""

import numpy as np

from ..errors import ShapeError
from ..op import sample
from ..registry import primitive
from ..spec import Indices, Spec, int64
from .windows import Pair, divided, windows_of


def _max_flops(a: Spec, out: Spec, *, kernel: Pair, **_: object) -> int:
    return out.size * kernel[0] * kernel[1]


_MAX_SAMPLES = tuple(
    sample(shape, kernel=kernel, stride=stride, padding=padding, dilation=dilation, ceil_mode=ceil_mode)
    for shape, kernel, stride, padding, dilation, ceil_mode in (
        ((2, 3, 4, 6), (2, 2), (2, 2), (0, 0), (1, 1), False),
        ((1, 2, 5, 5), (3, 2), (2, 1), (1, 1), (1, 1), True),
        ((1, 2, 7, 6), (2, 3), (2, 3), (1, 0), (2, 1), True),
        ((0, 2, 4, 4), (2, 2), (2, 2), (0, 0), (1, 1), False),
    )
)


@primitive(rule="max_pool2d", kinds="f", flops=_max_flops, samples=_MAX_SAMPLES, public=False)
def max_pool2d(
    xp,
    a,
    *,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...] = (0, 0),
    dilation: tuple[int, ...] = (1, 1),
    ceil_mode: bool = False,
):
    """The largest element of each window, NaN where there is one. The first of equal ones has the gradient.

    >>> max_pool2d(tensor([[[[1.0, 2.0], [4.0, 3.0]]]]), kernel=(2, 2), stride=(2, 2)).tolist()
    [[[[4.0]]]]
    """
    return windows_of(xp, a, -xp.inf, kernel, stride, padding, dilation, ceil_mode).max((-2, -1))


@max_pool2d.vjp
def _(ct, a, *, kernel, stride, padding, dilation, ceil_mode):
    found = max_pool2d_indices(a, kernel=kernel, stride=stride, padding=padding, dilation=dilation, ceil_mode=ceil_mode)
    return put_in_planes(ct, a, found)


@primitive(rule="max_pool2d", dtype="index", kinds="f", flops=_max_flops, samples=_MAX_SAMPLES, public=False)
def max_pool2d_indices(
    xp,
    a,
    *,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...] = (0, 0),
    dilation: tuple[int, ...] = (1, 1),
    ceil_mode: bool = False,
):
    """Where in its plane, counted row by row, the element is that max_pool2d chooses.

    >>> max_pool2d_indices(tensor([[[[1.0, 2.0], [4.0, 3.0]]]]), kernel=(2, 2), stride=(2, 2)).tolist()
    [[[[2]]]]
    """
    windows = windows_of(xp, a, -xp.inf, kernel, stride, padding, dilation, ceil_mode)
    rows, columns = windows.shape[2:4]
    i, j = xp.divmod(windows.reshape(*windows.shape[:4], kernel[0] * kernel[1]).argmax(-1), kernel[1])
    row = xp.arange(rows)[:, None] * stride[0] - padding[0] + i * dilation[0]
    column = xp.arange(columns) * stride[1] - padding[1] + j * dilation[1]
    # Padding wins only among elements that are all -inf: then the first element behind it is chosen.
    row, column = (xp.where(x < 0, x + -(x // d) * d, x) for x, d in ((row, dilation[0]), (column, dilation[1])))
    return row * a.shape[3] + column


# --- windows that divide a plane evenly


def divided_sizes(name: str, a: Spec, output_size: Pair) -> tuple[int, ...]:
    """The shape of a with its planes divided into output_size windows. Raises ShapeError where that cannot be."""
    if a.ndim != 4 or 0 in a.shape[2:]:
        raise ShapeError(
            f"{name}: the input is (N, channels, rows, columns) with planes that hold something, not {a.shape}"
        )
    if len(output_size) != 2 or min(output_size) < 0:
        raise ShapeError(f"{name}: output_size is two numbers of at least 0, not {output_size}")
    return (*a.shape[:2], *output_size)


def _adaptive_spec(a: Spec, *, output_size: Pair) -> Spec:
    return Spec(divided_sizes("adaptive_max_pool2d", a, output_size), a.dtype)


def _adaptive_indices_spec(a: Spec, *, output_size: Pair) -> Spec:
    return Spec(divided_sizes("adaptive_max_pool2d", a, output_size), int64)


ADAPTIVE_SAMPLES = tuple(
    sample(shape, output_size=size)
    for shape, size in (((2, 3, 4, 6), (2, 3)), ((1, 2, 5, 4), (3, 3)), ((1, 1, 2, 2), (3, 1)), ((0, 1, 2, 2), (1, 2)))
)


@primitive(
    infer=_adaptive_spec,
    kinds="f",
    flops=lambda a, out, output_size: a.size,
    samples=ADAPTIVE_SAMPLES,
    public=False,
)
def adaptive_max_pool2d(xp, a, *, output_size: tuple[int, ...]):
    """The largest element of each of output_size windows that divide a plane evenly.

    >>> adaptive_max_pool2d(tensor([[[[1.0, 2.0], [4.0, 3.0]]]]), output_size=(1, 2)).tolist()
    [[[[4.0, 3.0]]]]
    """
    out = xp.empty((*a.shape[:2], *output_size), a.dtype)
    for i, j, window in divided(a, output_size):
        out[:, :, i, j] = a[window].max((2, 3))
    return out


@adaptive_max_pool2d.vjp
def _(ct, a, *, output_size):
    return put_in_planes(ct, a, adaptive_max_pool2d_indices(a, output_size=output_size))


@primitive(
    infer=_adaptive_indices_spec,
    dtype="index",
    kinds="f",
    flops=lambda a, out, output_size: a.size,
    samples=ADAPTIVE_SAMPLES,
    public=False,
)
def adaptive_max_pool2d_indices(xp, a, *, output_size: tuple[int, ...]):
    """Where in its plane, counted row by row, the element is that adaptive_max_pool2d chooses.

    >>> adaptive_max_pool2d_indices(tensor([[[[1.0, 2.0], [4.0, 3.0]]]]), output_size=(1, 2)).tolist()
    [[[[2, 3]]]]
    """
    out = xp.empty((*a.shape[:2], *output_size), xp.int64)
    for i, j, window in divided(a, output_size):
        part = a[window]
        row, column = xp.divmod(part.reshape(*a.shape[:2], part.shape[2] * part.shape[3]).argmax(-1), part.shape[3])
        out[:, :, i, j] = (row + window[2].start) * a.shape[3] + column + window[3].start
    return out


# --- elements of planes


_PLACES = np.array([[[[5, 0], [0, 1]]], [[[1, 1], [2, 3]]]])


@primitive(
    rule="like_second",
    kinds="f",
    flops=lambda a, indices, out: 0,
    read=lambda a, indices, out: out.nbytes + indices.nbytes,
    samples=(sample((2, 1, 3, 2), _PLACES),),
    public=False,
)
def take_from_planes(xp, a, indices: Indices):
    """The elements at these places of each plane, counted row by row.

    >>> take_from_planes(tensor([[[[1.0, 2.0], [4.0, 3.0]]]]), tensor([[[[2]]]])).tolist()
    [[[[4.0]]]]
    """
    flat = (*indices.shape[:2], -1)
    found = xp.take_along_axis(a.reshape(*a.shape[:2], -1), indices.reshape(flat), axis=-1)
    return found.reshape(indices.shape)


@take_from_planes.vjp
def _(ct, a: Spec, indices):
    return put_in_planes(ct, a, indices), None


@primitive(
    rule="like_second",
    kinds="f",
    flops=lambda a, like, indices, out: a.size,
    read=lambda a, like, indices, out: a.nbytes + indices.nbytes,
    samples=(sample((2, 1, 2, 2), (2, 1, 3, 2), _PLACES),),
    public=False,
)
def put_in_planes(xp, a, like: Spec, indices: Indices):
    """Zeros in the shape of `like`, plus each element of a at its place, counted row by row in its plane.

    >>> put_in_planes(tensor([[[[3.0]]]]), zeros((1, 1, 2, 2)), tensor([[[[2]]]])).tolist()
    [[[[0.0, 0.0], [3.0, 0.0]]]]
    """
    planes = like.shape[0] * like.shape[1]
    out = xp.zeros((planes, like.shape[2] * like.shape[3]), a.dtype)
    if planes:
        xp.add.at(out, (xp.arange(planes)[:, None], indices.reshape(planes, -1)), a.reshape(planes, -1))
    return out.reshape(like.shape)


@put_in_planes.vjp
def _(ct, indices):
    return take_from_planes(ct, indices), None, None
