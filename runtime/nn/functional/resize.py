"""Planes in other sizes."""

import math

import numpy as np

from ..._core import Tensor, from_numpy
from ...errors import ArgumentError, ShapeError
from ...ops.index import take
from ...ops.shape import permute, reshape

_MODES = {"nearest": None, "nearest-exact": None, "linear": 1, "bilinear": 2}


def interpolate(
    input: Tensor,
    size: int | tuple[int, ...] | None = None,
    scale_factor: float | tuple[float, ...] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Tensor:
    """input, (N, channels, length) or (N, channels, rows, columns), in another size.

    size, or scale_factor: a number, or one for each axis. mode: "nearest"; "nearest-exact", by the pixels' centres;
    "linear" (of one axis) or "bilinear" (of two) between the neighbours. align_corners: of these, whether the first and
    last elements stay in place, instead of the edges. recompute_scale_factor: the ratio is that of the sizes instead.
    Raises ShapeError and ArgumentError.
    """
    axes = input.ndim - 2
    if mode not in _MODES:
        raise ArgumentError(f"interpolate: mode is one of {', '.join(_MODES)}, not {mode!r}")
    if axes not in (1, 2) or _MODES[mode] not in (None, axes):
        raise ShapeError(
            f"interpolate: {mode} takes {(_MODES[mode] or 'one or two')} axes after N and channels, not {axes}"
        )
    if (size is None) == (scale_factor is None):
        raise ArgumentError("interpolate: give either size or scale_factor")
    if align_corners is not None and _MODES[mode] is None:
        raise ArgumentError(f"interpolate: align_corners is for linear and bilinear, not {mode}")
    factors = _each("scale_factor", scale_factor, axes)
    if scale_factor is None:
        lengths = tuple(int(n) for n in _each("size", size, axes))
    else:
        lengths = tuple(math.floor(n * f) for n, f in zip(input.shape[2:], factors, strict=True))
    if min(lengths) < 1 or 0 in input.shape[2:]:
        raise ShapeError(f"interpolate: from {input.shape[2:]} to {lengths}: sizes are at least 1")
    for axis, (length, factor) in enumerate(zip(lengths, factors, strict=True), 2):
        ratio = input.shape[axis] / length if scale_factor is None or recompute_scale_factor else 1 / factor
        if _MODES[mode] is None:
            input = _nearest(input, axis, length, ratio, 0.5 if mode == "nearest-exact" else 0.0)
        else:
            input = _linear(input, axis, length, ratio, bool(align_corners))
    return input


def _each(what: str, given: float | tuple[float, ...] | None, axes: int) -> tuple[float, ...]:
    if given is None or isinstance(given, int | float):
        return (given or 0,) * axes
    if len(given) != axes:
        raise ArgumentError(f"interpolate: {what} is a number or {axes} of them, not {given}")
    return given


def _nearest(input: Tensor, axis: int, length: int, ratio: float, centre: float) -> Tensor:
    # PyTorch's CPU kernels compute the places in float32
    places = np.floor((np.arange(length, dtype=np.float32) + np.float32(centre)) * np.float32(ratio)).astype(np.int64)
    out: Tensor = take(input, from_numpy(np.minimum(places, input.shape[axis] - 1), input), axis)
    return out


def _linear(input: Tensor, axis: int, length: int, ratio: float, align_corners: bool) -> Tensor:
    last = input.shape[axis] - 1
    if align_corners:
        places = np.arange(length) * (last / (length - 1) if length > 1 else 0.0)
    else:
        places = np.maximum((np.arange(length) + 0.5) * ratio - 0.5, 0)
    before = np.minimum(np.floor(places).astype(np.int64), last)
    after = np.minimum(before + 1, last)
    shape = (-1, *[1] * (input.ndim - 1 - axis))
    weight = reshape(from_numpy((places - before).astype(input.dtype.numpy), input), shape)
    out: Tensor = (
        take(input, from_numpy(before, input), axis) * (1 - weight)
        + take(input, from_numpy(after, input), axis) * weight
    )
    return out


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(..., channels * r * r, rows, columns) to (..., channels, rows * r, columns * r) (Shi and others, 2016)."""
    r, (*lead, c, rows, columns) = upscale_factor, input.shape
    if r < 1 or c % (r * r):
        raise ShapeError(f"pixel_shuffle: {c} channels do not divide into {r} * {r}")
    n, k = math.prod(lead), c // (r * r)
    apart = permute(reshape(input, (n, k, r, r, rows, columns)), (0, 1, 4, 2, 5, 3))
    out: Tensor = reshape(apart, (*lead, k, rows * r, columns * r))
    return out


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Undo pixel_shuffle: (..., channels, rows * r, columns * r) to (..., channels * r * r, rows, columns)."""
    r, (*lead, c, rows, columns) = downscale_factor, input.shape
    if r < 1 or rows % r or columns % r:
        raise ShapeError(f"pixel_unshuffle: planes of {rows} x {columns} do not divide by {r}")
    n = math.prod(lead)
    apart = permute(reshape(input, (n, c, rows // r, r, columns // r, r)), (0, 1, 3, 5, 2, 4))
    out: Tensor = reshape(apart, (*lead, c * r * r, rows // r, columns // r))
    return out
