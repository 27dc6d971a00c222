"""The windows of planes, over which convolutions and pooling go.

They have kernel, stride, padding and dilation as (rows, columns). With `ceil_mode` a last window may hang over the end,
as long as it starts inside the plane or its padding on the left.
"""

from collections.abc import Iterator
from typing import Any

Pair = tuple[int, ...]


def places(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool = False) -> int:
    """How many windows an axis has."""
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    count = (span + (stride - 1) * ceil_mode) // stride + 1
    return count - (ceil_mode and (count - 1) * stride >= size + padding)


def windows_of(
    xp: Any, a: Any, fill: float, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, ceil_mode: bool = False
) -> Any:
    """The windows of a, padded with `fill`: (N, channels, rows, columns, *kernel)."""
    pads = [(0, 0), (0, 0)]
    reach = []
    for size, k, s, p, d in zip(a.shape[2:], kernel, stride, padding, dilation, strict=True):
        end = (places(size, k, s, p, d, ceil_mode) - 1) * s + d * (k - 1) + 1 - size - p
        pads.append((p, max(end, 0)))
        reach.append(d * (k - 1) + 1)
    padded = xp.pad(a, pads, constant_values=fill)
    windows = xp.lib.stride_tricks.sliding_window_view(padded, tuple(reach), axis=(2, 3))
    return windows[:, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]


def _divided(size: int, parts: int) -> list[slice]:
    """An axis in so many windows, as equal as they can be; they overlap where it is no multiple."""
    return [slice(i * size // parts, -(-(i + 1) * size // parts)) for i in range(parts)]


def divided(a: Any, output_size: Pair) -> Iterator[tuple[int, int, tuple[Any, ...]]]:
    """Row and column of each window, and the subscript that cuts it out of a."""
    for i, rows in enumerate(_divided(a.shape[2], output_size[0])):
        for j, columns in enumerate(_divided(a.shape[3], output_size[1])):
            yield i, j, (slice(None), slice(None), rows, columns)
