"""Pooling: one element for each window."""

from ..._core import Tensor
from ...errors import ShapeError
from ...ops import pool
from ...ops.shape import squeeze, unsqueeze
from .conv import Size, sizes


def max_pool2d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """The largest element of each window of input: (N, channels, rows, columns), or without N.

    Sizes are numbers or (rows, columns); stride is the kernel's size by default. Padding counts as -inf. ceil_mode: a
    last window may hang over the end. return_indices: where in its plane each is, counted row by row, comes as well.
    Raises ShapeError and ArgumentError.
    """
    if input.ndim not in (3, 4):
        raise ShapeError(f"max_pool2d: the input is (N, channels, rows, columns), or without N, not {input.shape}")
    kernel = sizes("max_pool2d", "kernel_size", kernel_size, 2)
    windows = {
        "kernel": kernel,
        "stride": kernel if stride is None else sizes("max_pool2d", "stride", stride, 2),
        "padding": sizes("max_pool2d", "padding", padding, 2),
        "dilation": sizes("max_pool2d", "dilation", dilation, 2),
        "ceil_mode": ceil_mode,
    }
    batch = unsqueeze(input, 0) if input.ndim == 3 else input
    out = [pool.max_pool2d(batch, **windows)]
    if return_indices:
        out.append(pool.max_pool2d_indices(batch, **windows))
    if input.ndim == 3:
        out = [squeeze(x, 0) for x in out]
    return tuple(out) if return_indices else out[0]
