"""Pooling over two axes: the mean of each window of a plane. Windows are those of max_pool."""

from typing import Any

from ..op import sample
from ..registry import primitive
from ..spec import Spec
from .max_pool import ADAPTIVE_SAMPLES, divided_sizes
from .windows import Pair, divided, places, windows_of


def _divisors(
    xp: Any, plane: Pair, kernel: Pair, stride: Pair, padding: Pair, ceil_mode: bool, count_include_pad: bool
) -> Any:
    """By what each window's sum is divided: how many elements it has, those of the padding too or not."""
    counts = []
    for size, k, s, p in zip(plane, kernel, stride, padding, strict=True):
        start = xp.arange(places(size, k, s, p, 1, ceil_mode)) * s - p
        end = xp.minimum(start + k, size + p)
        counts.append(end - start if count_include_pad else xp.minimum(end, size) - xp.maximum(start, 0))
    return counts[0][:, None] * counts[1]


_SAMPLES = tuple(
    (shape, pooled, {"kernel": k, "stride": s, "padding": p, "ceil_mode": c, "count_include_pad": i, "divisor": d})
    for shape, pooled, k, s, p, c, i, d in (
        ((2, 3, 4, 6), (2, 3, 2, 3), (2, 2), (2, 2), (0, 0), False, True, None),
        ((1, 2, 5, 5), (1, 2, 3, 6), (3, 2), (2, 1), (1, 1), True, True, None),
        ((1, 2, 6, 5), (1, 2, 4, 3), (3, 2), (2, 2), (1, 1), True, False, None),
        ((1, 1, 4, 4), (1, 1, 2, 2), (2, 2), (2, 2), (0, 0), False, True, 3),
        ((0, 1, 4, 4), (0, 1, 2, 2), (2, 2), (2, 2), (0, 0), False, True, None),
    )
)


@primitive(
    rule="avg_pool2d",
    kinds="f",
    flops=lambda a, out, *, kernel, **_: out.size * kernel[0] * kernel[1],
    samples=tuple(sample(shape, **given) for shape, _, given in _SAMPLES),
    public=False,
)
def avg_pool2d(
    xp,
    a,
    *,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...] = (0, 0),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor: int | None = None,
):
    """The sum of each window, divided by the divisor, or by how many elements it has.

    >>> avg_pool2d(tensor([[[[1.0, 2.0], [4.0, 3.0]]]]), kernel=(2, 2), stride=(2, 2)).tolist()
    [[[[2.5]]]]
    """
    sums = windows_of(xp, a, 0, kernel, stride, padding, (1, 1), ceil_mode).sum((-2, -1))
    return sums / (divisor or _divisors(xp, a.shape[2:], kernel, stride, padding, ceil_mode, count_include_pad))


@avg_pool2d.vjp
def _(ct, a: Spec, *, kernel, stride, padding, ceil_mode, count_include_pad, divisor):
    return avg_pool2d_grad(
        ct,
        a,
        kernel=kernel,
        stride=stride,
        padding=padding,
        ceil_mode=ceil_mode,
        count_include_pad=count_include_pad,
        divisor=divisor,
    )


@primitive(
    rule="like_second",
    kinds="f",
    flops=lambda g, like, out, *, kernel, **_: g.size * (1 + kernel[0] * kernel[1]),
    samples=tuple(sample(pooled, shape, **given) for shape, pooled, given in _SAMPLES),
    public=False,
)
def avg_pool2d_grad(
    xp,
    g,
    like: Spec,
    *,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
):
    """avg_pool2d's gradient for an input in the shape of `like`, g being that of its result.

    >>> avg_pool2d_grad(
    ...     ones((1, 1, 1, 1)), zeros((1, 1, 2, 2)), kernel=(2, 2), stride=(2, 2), padding=(0, 0), ceil_mode=False,
    ...     count_include_pad=True, divisor=None,
    ... ).tolist()
    [[[[0.25, 0.25], [0.25, 0.25]]]]
    """
    height, width = like.shape[2:]
    each = g / (divisor or _divisors(xp, like.shape[2:], kernel, stride, padding, ceil_mode, count_include_pad))
    (rows, columns), (sh, sw), (ph, pw) = g.shape[2:], stride, padding
    # with ceil_mode windows hang over the end
    ends = [(n - 1) * s + k for n, s, k in zip(g.shape[2:], stride, kernel, strict=True)]
    out = xp.zeros((*like.shape[:2], max(height + ph, ends[0]), max(width + pw, ends[1])), g.dtype)
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            out[:, :, i : i + sh * rows : sh, j : j + sw * columns : sw] += each
    return out[:, :, ph : ph + height, pw : pw + width]


@avg_pool2d_grad.vjp
def _(ct, *, kernel, stride, padding, ceil_mode, count_include_pad, divisor):
    pooled = avg_pool2d(
        ct,
        kernel=kernel,
        stride=stride,
        padding=padding,
        ceil_mode=ceil_mode,
        count_include_pad=count_include_pad,
        divisor=divisor,
    )
    return pooled, None


# --- windows that divide a plane evenly


def _adaptive_spec(a: Spec, *, output_size: Pair) -> Spec:
    return Spec(divided_sizes("adaptive_avg_pool2d", a, output_size), a.dtype)


@primitive(
    infer=_adaptive_spec,
    kinds="f",
    flops=lambda a, out, output_size: a.size,
    samples=ADAPTIVE_SAMPLES,
    public=False,
)
def adaptive_avg_pool2d(xp, a, *, output_size: tuple[int, ...]):
    """The mean of each of output_size windows that divide a plane evenly.

    >>> adaptive_avg_pool2d(tensor([[[[1.0, 2.0], [4.0, 3.0]]]]), output_size=(1, 2)).tolist()
    [[[[2.5, 2.5]]]]
    """
    out = xp.empty((*a.shape[:2], *output_size), a.dtype)
    for i, j, window in divided(a, output_size):
        out[:, :, i, j] = a[window].mean((2, 3))
    return out


@adaptive_avg_pool2d.vjp
def _(ct, a: Spec, *, output_size):
    return adaptive_avg_pool2d_grad(ct, a, output_size=output_size)


@primitive(
    rule="like_second",
    kinds="f",
    flops=lambda g, like, out, output_size: out.size + g.size,
    samples=tuple(
        sample((*s.inputs[0][:2], *s.attributes["output_size"]), s.inputs[0], **s.attributes) for s in ADAPTIVE_SAMPLES
    ),
    public=False,
)
def adaptive_avg_pool2d_grad(xp, g, like: Spec, *, output_size: tuple[int, ...]):
    """adaptive_avg_pool2d's gradient for an input in the shape of `like`, g being that of its result.

    >>> adaptive_avg_pool2d_grad(ones((1, 1, 1, 1)), zeros((1, 1, 2, 2)), output_size=(1, 1)).tolist()
    [[[[0.25, 0.25], [0.25, 0.25]]]]
    """
    out = xp.zeros(like.shape, g.dtype)
    for i, j, window in divided(out, output_size):
        part = out[window]
        part += g[:, :, i : i + 1, j : j + 1] / (part.shape[2] * part.shape[3])
    return out


@adaptive_avg_pool2d_grad.vjp
def _(ct, *, output_size):
    return adaptive_avg_pool2d(ct, output_size=output_size), None
