"""Convolutions, and windows as columns. Sizes are numbers, or tuples with one for each axis."""

import math

from ..._core import Tensor, empty, lowered
from ...errors import ArgumentError, ShapeError
from ...ops import conv
from ...ops import fold as planes
from ...ops.shape import expand, reshape, squeeze, unslice, unsqueeze

Size = int | tuple[int, ...]
Sizes = tuple[int, ...]


def sizes(name: str, what: str, value: Size, axes: int) -> Sizes:
    """A number for each axis: `value` itself, or the same for all."""
    if isinstance(value, int):
        return (value,) * axes
    if len(value) != axes:
        raise ArgumentError(f"{name}: {what} is a number or {axes} of them, not {value}")
    return tuple(value)


def batched(name: str, input: Tensor, axes: int) -> Tensor:
    """input with a batch of one where it has none. Raises ShapeError for another number of axes."""
    if input.ndim not in (axes + 1, axes + 2):
        wanted = ", ".join(["N", "channels", *(["rows", "columns"] if axes == 2 else ["length"])])
        raise ShapeError(f"{name}: the input is ({wanted}), or without N, not {input.shape}")
    return unsqueeze(input, 0) if input.ndim == axes + 1 else input


def _like(a: Tensor, shape: Sizes) -> Tensor:
    """A tensor of a shape, for ops that read nothing else of it."""
    made: Tensor = expand(empty((1,), a.dtype, a._device), shape)
    return made


def both_ends(name: str, padding: Size | str, kernel: Sizes, stride: Sizes, dilation: Sizes) -> tuple[Sizes, Sizes]:
    """The padding before and after each axis."""
    axes = len(kernel)
    if not isinstance(padding, str):
        both = sizes(name, "padding", padding, axes)
        return both, both
    if padding == "valid":
        return (0,) * axes, (0,) * axes
    if padding != "same":
        raise ArgumentError(f"{name}: padding is a number, {axes} of them, 'same' or 'valid', not {padding!r}")
    if max(stride) > 1:
        raise ArgumentError(f"{name}: padding 'same' needs stride 1, not {stride}")
    whole = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    return tuple(n // 2 for n in whole), tuple(n - n // 2 for n in whole)


def _padded(input: Tensor, before: Sizes, after: Sizes) -> Tensor:
    """input with zeros around its last axes."""
    lead = input.ndim - len(before)
    sides = zip(input.shape[lead:], before, after, strict=True)
    like = _like(input, (*input.shape[:lead], *(n + b + a for n, b, a in sides)))
    padded: Tensor = unslice(input, like, start=(0,) * lead + before, size=input.shape, step=(1,) * input.ndim)
    return padded


def _check_weight(name: str, weight: Tensor, axes: int) -> None:
    if weight.ndim != axes + 2:
        raise ShapeError(f"{name}: a weight has {axes + 2} axes, two of channels and the kernel's, not {weight.shape}")


def _finished(name: str, out: Tensor, bias: Tensor | None, batch: bool) -> Tensor:
    """The result with its bias, and without the batch where the input had none."""
    if bias is not None:
        if bias.shape != (out.shape[1],):
            raise ShapeError(f"{name}: a bias of shape {bias.shape} is not for {out.shape[1]} channels")
        out = out + reshape(lowered(bias), (-1, *[1] * (out.ndim - 2)))
    return out if batch else squeeze(out, 0)


def _conv(
    name: str,
    axes: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Size,
    padding: Size | str,
    dilation: Size,
    groups: int,
) -> Tensor:
    batch = batched(name, input, axes)
    _check_weight(name, weight, axes)
    steps, gaps = sizes(name, "stride", stride, axes), sizes(name, "dilation", dilation, axes)
    before, after = both_ends(name, padding, weight.shape[2:], steps, gaps)
    if before != after:
        batch, before = _padded(batch, before, after), (0,) * axes
    if axes == 1:  # a plane of one row
        batch, weight = unsqueeze(batch, 2), unsqueeze(weight, 2)
        steps, before, gaps = (1, *steps), (0, *before), (1, *gaps)
    out: Tensor = conv.conv2d(batch, weight, stride=steps, padding=before, dilation=gaps, groups=groups)
    return _finished(name, squeeze(out, 2) if axes == 1 else out, bias, input.ndim == axes + 2)


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size | str = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """conv2d over one axis: input (N, channels, length), or without N, weight (out, channels / groups, kernel)."""
    return _conv("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size | str = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """The products of weight with every window of input, plus bias.

    input: (N, channels, rows, columns), or without N; weight: (out, channels / groups, kernel rows, kernel columns);
    bias: (out,). padding: zeros on both sides; "same", so that the result is as large as the input, or "valid", for
    none. groups: the channels are divided into so many parts that are convolved apart.
    Raises ShapeError and ArgumentError for sizes that do not fit.
    """
    return _conv("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def _conv_transpose(
    name: str,
    axes: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Size,
    padding: Size,
    output_padding: Size,
    groups: int,
    dilation: Size,
) -> Tensor:
    batch = batched(name, input, axes)
    _check_weight(name, weight, axes)
    steps, ends = sizes(name, "stride", stride, axes), sizes(name, "padding", padding, axes)
    gaps, more = sizes(name, "dilation", dilation, axes), sizes(name, "output_padding", output_padding, axes)
    if any(not 0 <= m < max(s, d) for m, s, d in zip(more, steps, gaps, strict=True)):
        raise ArgumentError(f"{name}: output_padding {more} is not less than stride {steps} or dilation {gaps}")
    if batch.shape[1] != weight.shape[0]:
        raise ShapeError(
            f"{name}: a weight of shape {weight.shape} takes {weight.shape[0]} channels, not {batch.shape[1]}"
        )
    plane = tuple(
        (n - 1) * s - 2 * p + d * (k - 1) + m + 1
        for n, k, s, p, d, m in zip(batch.shape[2:], weight.shape[2:], steps, ends, gaps, more, strict=True)
    )
    if min(plane) < 1:
        raise ShapeError(f"{name}: an input of shape {input.shape} with padding {ends} leaves nothing: {plane}")
    if axes == 1:
        batch, weight = unsqueeze(batch, 2), unsqueeze(weight, 2)
        steps, ends, gaps, plane = (1, *steps), (0, *ends), (1, *gaps), (1, *plane)
    like = _like(input, (batch.shape[0], weight.shape[1] * groups, *plane))
    out: Tensor = conv.conv_transpose2d(batch, weight, like, stride=steps, padding=ends, dilation=gaps, groups=groups)
    return _finished(name, squeeze(out, 2) if axes == 1 else out, bias, input.ndim == axes + 2)


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size = 0,
    output_padding: Size = 0,
    groups: int = 1,
    dilation: Size = 1,
) -> Tensor:
    """conv_transpose2d over one axis: input (N, channels, length), weight (channels, out / groups, kernel)."""
    return _conv_transpose(
        "conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size = 0,
    output_padding: Size = 0,
    groups: int = 1,
    dilation: Size = 1,
) -> Tensor:
    """The transpose of conv2d: every element of input adds its multiple of weight to a window of the result.

    input: (N, channels, rows, columns), or without N; weight: (channels, out / groups, kernel rows, kernel columns).
    The result is so large that conv2d would give the input's size; with a stride several are, and output_padding adds
    to the smallest. Raises ShapeError and ArgumentError for sizes that do not fit.
    """
    return _conv_transpose(
        "conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


def unfold(input: Tensor, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1) -> Tensor:
    """Every window of input, (N, channels, rows, columns), as a column: (N, channels * kernel, windows)."""
    out: Tensor = planes.unfold_planes(
        batched("unfold", input, 2), **_windows("unfold", kernel_size, stride, padding, dilation)
    )
    return out if input.ndim == 4 else squeeze(out, 0)


def fold(
    input: Tensor, output_size: Size, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1
) -> Tensor:
    """Planes of output_size, to which each column of input, (N, channels * kernel, windows), is added as a window."""
    if input.ndim not in (2, 3):
        raise ShapeError(f"fold: the input is (N, channels * kernel, windows), or without N, not {input.shape}")
    batch = unsqueeze(input, 0) if input.ndim == 2 else input
    windows = _windows("fold", kernel_size, stride, padding, dilation)
    area = math.prod(windows["kernel"])
    if batch.shape[1] % area:
        raise ShapeError(f"fold: columns of {batch.shape[1]} elements do not divide into windows of {area}")
    like = _like(input, (batch.shape[0], batch.shape[1] // area, *sizes("fold", "output_size", output_size, 2)))
    out: Tensor = planes.fold_planes(batch, like, **windows)
    return out if input.ndim == 3 else squeeze(out, 0)


def _windows(name: str, kernel: Size, stride: Size, padding: Size, dilation: Size) -> dict[str, Sizes]:
    given = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation}
    return {what: sizes(name, what, value, 2) for what, value in given.items()}
