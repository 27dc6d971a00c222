"""Convolutions over two axes.

Three ops are each other's gradients: the convolution, its transpose (which is its gradient for the input, and the
layer ConvTranspose2d as well), and its gradient for the weight. All take stride, padding and dilation as (rows,
columns), and groups: the channels are divided into that many parts, which are convolved apart.
"""

import math
from typing import Any

from ..op import Sample, sample
from ..registry import primitive
from ..spec import Spec
from .windows import Pair, places, windows_of


def _columns(xp: Any, a: Any, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, groups: int) -> Any:
    """The windows of a as rows of a matrix for each group: (groups, N * positions, channels / groups * kernel)."""
    windows = windows_of(xp, a, 0, kernel, stride, padding, dilation)
    n, c, rows, columns = windows.shape[:4]
    grouped = windows.reshape(n, groups, c // groups, rows, columns, *kernel).transpose(1, 0, 3, 4, 2, 5, 6)
    return grouped.reshape(groups, n * rows * columns, c // groups * kernel[0] * kernel[1])


def _rows(xp: Any, a: Any, groups: int) -> Any:
    """The pixels of a as rows of a matrix for each group: (groups, N * positions, channels / groups)."""
    n, c, rows, columns = a.shape
    grouped = a.reshape(n, groups, c // groups, rows * columns).transpose(1, 0, 3, 2)
    return grouped.reshape(groups, n * rows * columns, c // groups)


_SAMPLES: tuple[tuple[Pair, Pair, dict[str, Any]], ...] = (
    ((2, 3, 5, 4), (4, 3, 3, 2), {}),
    ((1, 2, 5, 6), (2, 2, 3, 3), {"stride": (2, 1), "padding": (1, 2)}),
    ((2, 4, 6, 5), (6, 2, 2, 2), {"stride": (1, 2), "dilation": (2, 1), "groups": 2}),
    ((1, 2, 4, 4), (2, 1, 1, 1), {"stride": (2, 2), "groups": 2}),
    ((0, 2, 3, 3), (2, 2, 2, 2), {}),
)
_PLAIN: dict[str, Any] = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 1}


def _gradient_samples(order: str) -> tuple[Sample, ...]:
    """The samples of an op on a convolution's result g, input a and weight w, in this order."""
    made = []
    for a, w, given in _SAMPLES:
        attributes = _PLAIN | given
        shapes = {"a": a, "w": w}
        sizes = zip(a[2:], w[2:], attributes["stride"], attributes["padding"], attributes["dilation"], strict=True)
        shapes["g"] = (a[0], w[0], *(places(*s) for s in sizes))
        made.append(sample(*(shapes[name] for name in order), **attributes))
    return tuple(made)


@primitive(
    rule="conv2d",
    kinds="f",
    flops=lambda a, weight, out, **_: 2 * out.size * weight.size // max(weight.shape[0], 1),
    samples=tuple(sample(a, w, **given) for a, w, given in _SAMPLES),
    public=False,
    autocast="lower",
)
def conv2d(
    xp,
    a,
    weight,
    *,
    stride: tuple[int, ...] = (1, 1),
    padding: tuple[int, ...] = (0, 0),
    dilation: tuple[int, ...] = (1, 1),
    groups: int = 1,
):
    """The products of weight (out channels, channels / groups, kernel) with every window of a (N, channels, ...).

    >>> conv2d(ones((1, 1, 3, 3)), ones((1, 1, 2, 2))).tolist()
    [[[[4.0, 4.0], [4.0, 4.0]]]]
    """
    kernel = weight.shape[2:]
    sizes = [places(*s) for s in zip(a.shape[2:], kernel, stride, padding, dilation, strict=True)]
    columns = _columns(xp, a, kernel, stride, padding, dilation, groups)
    filters = weight.reshape(groups, weight.shape[0] // groups, math.prod(weight.shape[1:]))
    out = columns @ xp.swapaxes(filters, 1, 2)
    n, channels = a.shape[0], weight.shape[0]
    return out.reshape(groups, n, *sizes, channels // groups).transpose(1, 0, 4, 2, 3).reshape(n, channels, *sizes)


@conv2d.vjp
def _(ct, a, weight, *, stride, padding, dilation, groups):
    return (
        conv_transpose2d(ct, weight, a, stride=stride, padding=padding, dilation=dilation, groups=groups),
        conv2d_weight_grad(ct, a, weight, stride=stride, padding=padding, dilation=dilation, groups=groups),
    )


@primitive(
    rule="conv_transpose2d",
    kinds="f",
    flops=lambda a, weight, like, out, **_: 2 * a.size * weight.size // max(weight.shape[0], 1),
    samples=_gradient_samples("gwa"),
    public=False,
    autocast="lower",
)
def conv_transpose2d(
    xp,
    a,
    weight,
    like: Spec,
    *,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
):
    """The transpose of conv2d, in the shape of `like`: every element of a adds its multiple of weight to a window.

    >>> ones_ = ones((1, 1, 2, 2))
    >>> conv_transpose2d(
    ...     ones_, ones_, zeros((1, 1, 3, 3)), stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1
    ... ).tolist()
    [[[[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]]]
    """
    n, c, height, width = like.shape
    (rows, columns), (kh, kw) = a.shape[2:], weight.shape[2:]
    filters = weight.reshape(groups, weight.shape[0] // groups, math.prod(weight.shape[1:]))
    windows = _rows(xp, a, groups) @ filters
    windows = windows.reshape(groups, n, rows, columns, c // groups, kh, kw).transpose(5, 6, 1, 0, 4, 2, 3)
    (sh, sw), (ph, pw), (dh, dw) = stride, padding, dilation
    out = xp.zeros((n, groups, c // groups, height + 2 * ph, width + 2 * pw), a.dtype)
    for i in range(kh):
        for j in range(kw):
            top, left = i * dh, j * dw
            out[..., top : top + sh * rows : sh, left : left + sw * columns : sw] += windows[i, j]
    return out.reshape(n, c, *out.shape[3:])[:, :, ph : ph + height, pw : pw + width]


@conv_transpose2d.vjp
def _(ct, a, weight, *, stride, padding, dilation, groups):
    return (
        conv2d(ct, weight, stride=stride, padding=padding, dilation=dilation, groups=groups),
        conv2d_weight_grad(a, ct, weight, stride=stride, padding=padding, dilation=dilation, groups=groups),
        None,
    )


@primitive(
    rule="conv2d_weight_grad",
    kinds="f",
    flops=lambda g, a, like, out, **_: 2 * g.size * out.size // max(out.shape[0], 1),
    samples=_gradient_samples("gaw"),
    public=False,
)
def conv2d_weight_grad(
    xp,
    g,
    a,
    like: Spec,
    *,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
):
    """conv2d's gradient for a weight in the shape of `like`: the products of g with every window of a, added up.

    >>> conv2d_weight_grad(
    ...     ones((1, 1, 2, 2)), ones((1, 1, 3, 3)), zeros((1, 1, 2, 2)),
    ...     stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1,
    ... ).tolist()
    [[[[4.0, 4.0], [4.0, 4.0]]]]
    """
    columns = _columns(xp, a, like.shape[2:], stride, padding, dilation, groups)
    return (xp.swapaxes(_rows(xp, g, groups), 1, 2) @ columns).reshape(like.shape)


@conv2d_weight_grad.vjp
def _(ct, g, a, *, stride, padding, dilation, groups):
    return (
        conv2d(a, ct, stride=stride, padding=padding, dilation=dilation, groups=groups),
        conv_transpose2d(g, ct, a, stride=stride, padding=padding, dilation=dilation, groups=groups),
        None,
    )
