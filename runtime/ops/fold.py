"""Windows of planes as columns, and back: the two ops are each other's gradients."""

from typing import Any

from ..errors import ShapeError
from ..op import sample
from ..registry import primitive
from ..spec import Spec
from .windows import Pair, places, windows_of


def _columns_shape(name: str, a: Spec, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair) -> tuple[int, ...]:
    if a.ndim != 4:
        raise ShapeError(f"{name}: planes are (N, channels, rows, columns), not {a.shape}")
    sizes = [places(*s) for s in zip(a.shape[2:], kernel, stride, padding, dilation, strict=True)]
    if min(sizes) < 1:
        raise ShapeError(
            f"{name}: a kernel of {kernel}, dilated by {dilation}, does not fit into {a.shape[2:]} padded by {padding}"
        )
    return (a.shape[0], a.shape[1] * kernel[0] * kernel[1], sizes[0] * sizes[1])


def _unfold_spec(a: Spec, *, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair) -> Spec:
    return Spec(_columns_shape("unfold", a, kernel, stride, padding, dilation), a.dtype)


def _fold_spec(a: Spec, like: Spec, *, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair) -> Spec:
    wanted = _columns_shape("fold", like, kernel, stride, padding, dilation)
    if a.shape != wanted:
        raise ShapeError(f"fold: columns of shape {wanted} make planes {like.shape} with this kernel, not {a.shape}")
    return Spec(like.shape, a.dtype)


_SAMPLES: tuple[tuple[Pair, Pair, dict[str, Any]], ...] = (
    ((2, 3, 4, 5), (2, 12, 12), {"kernel": (2, 2), "stride": (1, 1), "padding": (0, 0), "dilation": (1, 1)}),
    ((1, 2, 5, 4), (1, 12, 15), {"kernel": (3, 2), "stride": (1, 2), "padding": (2, 1), "dilation": (2, 1)}),
)


@primitive(
    infer=_unfold_spec,
    kinds="f",
    flops=lambda a, out, **_: 0,
    samples=tuple(sample(a, **given) for a, _, given in _SAMPLES),
    public=False,
)
def unfold_planes(
    xp,
    a,
    *,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
):
    """Every window of a (N, channels, rows, columns) as a column: (N, channels * kernel, windows).

    >>> unfold_planes(ones((1, 1, 2, 3)), kernel=(2, 2), stride=(1, 1), padding=(0, 0), dilation=(1, 1)).shape
    (1, 4, 2)
    """
    windows = windows_of(xp, a, 0, kernel, stride, padding, dilation).transpose(0, 1, 4, 5, 2, 3)
    n, c, kh, kw, rows, columns = windows.shape
    return windows.reshape(n, c * kh * kw, rows * columns)


@unfold_planes.vjp
def _(ct, a: Spec, *, kernel, stride, padding, dilation):
    return fold_planes(ct, a, kernel=kernel, stride=stride, padding=padding, dilation=dilation)


@primitive(
    infer=_fold_spec,
    kinds="f",
    flops=lambda a, like, out, **_: a.size,
    samples=tuple(sample(columns, a, **given) for a, columns, given in _SAMPLES),
    public=False,
)
def fold_planes(
    xp,
    a,
    like: Spec,
    *,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
):
    """The planes, in the shape of `like`, in which each column's elements are added where unfold_planes takes them.

    >>> fold_planes(
    ...     ones((1, 4, 2)), zeros((1, 1, 2, 3)), kernel=(2, 2), stride=(1, 1), padding=(0, 0), dilation=(1, 1)
    ... ).tolist()
    [[[[1.0, 2.0, 1.0], [1.0, 2.0, 1.0]]]]
    """
    n, c, height, width = like.shape
    (sh, sw), (ph, pw), (dh, dw), (kh, kw) = stride, padding, dilation, kernel
    rows, columns = (places(*s) for s in zip(like.shape[2:], kernel, stride, padding, dilation, strict=True))
    windows = a.reshape(n, c, kh, kw, rows, columns)
    out = xp.zeros((n, c, height + 2 * ph, width + 2 * pw), a.dtype)
    for i in range(kh):
        for j in range(kw):
            top, left = i * dh, j * dw
            out[:, :, top : top + sh * rows : sh, left : left + sw * columns : sw] += windows[:, :, i, j]
    return out[:, :, ph : ph + height, pw : pw + width]


@fold_planes.vjp
def _(ct, *, kernel, stride, padding, dilation):
    return unfold_planes(ct, kernel=kernel, stride=stride, padding=padding, dilation=dilation), None
