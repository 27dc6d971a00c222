"""Pooling: one element for each window. Sizes are numbers, or tuples with one for each axis.

A stride is the kernel's size by default. With `ceil_mode` a last window may hang over the end.
"""

from typing import Any

from ..._core import Tensor
from ...errors import ArgumentError
from ...ops import avg_pool, max_pool
from ...ops.shape import squeeze, unsqueeze
from .conv import Size, Sizes, batched, sizes

Pooled = Tensor | tuple[Tensor, Tensor]


def _planes(name: str, input: Tensor, axes: int) -> Tensor:
    """input as (N, channels, rows, columns)."""
    batch = batched(name, input, axes)
    return unsqueeze(batch, 2) if axes == 1 else batch


def _restored(out: Tensor, input: Tensor, axes: int) -> Tensor:
    """The axes of out that _planes did not add."""
    if axes == 1:
        out = squeeze(out, 2)
    return out if input.ndim == axes + 2 else squeeze(out, 0)


def _windows(name: str, axes: int, **given: Size) -> dict[str, Sizes]:
    """Each size for two axes; a plane of one row has windows of one row."""
    row = {"kernel": 1, "stride": 1, "padding": 0, "dilation": 1}
    return {
        what: sizes(name, what, value, 2) if axes == 2 else (row[what], *sizes(name, what, value, 1))
        for what, value in given.items()
    }


def _max_pool(
    name: str,
    axes: int,
    input: Tensor,
    kernel: Size,
    stride: Size | None,
    padding: Size,
    dilation: Size,
    ceil_mode: bool,
    return_indices: bool,
) -> Pooled:
    planes = _planes(name, input, axes)
    step = kernel if stride is None else stride
    windows: dict[str, Any] = _windows(name, axes, kernel=kernel, stride=step, padding=padding, dilation=dilation)
    out = _restored(max_pool.max_pool2d(planes, ceil_mode=ceil_mode, **windows), input, axes)
    if not return_indices:
        return out
    return out, _restored(max_pool.max_pool2d_indices(planes, ceil_mode=ceil_mode, **windows), input, axes)


def max_pool1d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Pooled:
    """max_pool2d over one axis: input (N, channels, length), or without N."""
    return _max_pool("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Pooled:
    """The largest element of each window of input: (N, channels, rows, columns), or without N.

    Padding counts as -inf. return_indices: where in its plane each is, counted row by row, comes as well.
    Raises ShapeError and ArgumentError for sizes that do not fit.
    """
    return _max_pool("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def _avg_pool(
    name: str,
    axes: int,
    input: Tensor,
    kernel: Size,
    stride: Size | None,
    padding: Size,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> Tensor:
    if divisor == 0:
        raise ArgumentError(f"{name}: divisor_override must not be 0")
    planes = _planes(name, input, axes)
    step = kernel if stride is None else stride
    windows: dict[str, Any] = _windows(name, axes, kernel=kernel, stride=step, padding=padding)
    out = avg_pool.avg_pool2d(
        planes, ceil_mode=ceil_mode, count_include_pad=count_include_pad, divisor=divisor, **windows
    )
    return _restored(out, input, axes)


def avg_pool1d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """avg_pool2d over one axis: input (N, channels, length), or without N."""
    return _avg_pool("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of input: (N, channels, rows, columns), or without N.

    count_include_pad: whether the zeros of the padding count. divisor_override: what sums are divided by instead.
    Raises ShapeError and ArgumentError for sizes that do not fit.
    """
    return _avg_pool(
        "avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


# --- windows that divide the input evenly


def _parts(name: str, input: Tensor, output_size: int | tuple[int | None, ...] | None, axes: int) -> Sizes:
    """How many windows each axis of a plane has; None keeps the size."""
    given = (output_size,) * axes if output_size is None or isinstance(output_size, int) else output_size
    if len(given) != axes:
        raise ArgumentError(f"{name}: output_size is a number or {axes} of them, not {output_size}")
    parts = tuple(n if p is None else p for n, p in zip(input.shape[-axes:], given, strict=True))
    return (1, *parts) if axes == 1 else parts


def _adaptive_max(
    name: str, axes: int, input: Tensor, output_size: int | tuple[int | None, ...] | None, return_indices: bool
) -> Pooled:
    planes, parts = _planes(name, input, axes), _parts(name, input, output_size, axes)
    out = _restored(max_pool.adaptive_max_pool2d(planes, output_size=parts), input, axes)
    if not return_indices:
        return out
    return out, _restored(max_pool.adaptive_max_pool2d_indices(planes, output_size=parts), input, axes)


def adaptive_max_pool1d(input: Tensor, output_size: int | tuple[int], return_indices: bool = False) -> Pooled:
    """The largest element of each of output_size windows that divide the last axis evenly."""
    return _adaptive_max("adaptive_max_pool1d", 1, input, output_size, return_indices)


def adaptive_max_pool2d(
    input: Tensor, output_size: int | tuple[int | None, int | None] | None, return_indices: bool = False
) -> Pooled:
    """The largest element of each of output_size windows that divide a plane evenly; None keeps an axis as it is."""
    return _adaptive_max("adaptive_max_pool2d", 2, input, output_size, return_indices)


def _adaptive_avg(name: str, axes: int, input: Tensor, output_size: int | tuple[int | None, ...] | None) -> Tensor:
    planes, parts = _planes(name, input, axes), _parts(name, input, output_size, axes)
    return _restored(avg_pool.adaptive_avg_pool2d(planes, output_size=parts), input, axes)


def adaptive_avg_pool1d(input: Tensor, output_size: int | tuple[int]) -> Tensor:
    """The mean of each of output_size windows that divide the last axis evenly."""
    return _adaptive_avg("adaptive_avg_pool1d", 1, input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: int | tuple[int | None, int | None] | None) -> Tensor:
    """The mean of each of output_size windows that divide a plane evenly; None keeps an axis as it is."""
    return _adaptive_avg("adaptive_avg_pool2d", 2, input, output_size)
