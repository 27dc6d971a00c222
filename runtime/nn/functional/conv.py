"""Convolutions."""

from ..._core import Tensor, empty
from ...errors import ArgumentError, ShapeError
from ...ops import conv
from ...ops.shape import expand, reshape, squeeze, unslice, unsqueeze

Size = int | tuple[int, ...]


def sizes(name: str, what: str, value: Size, axes: int) -> tuple[int, ...]:
    """A number for each axis: `value` itself, or the same for all."""
    if isinstance(value, int):
        return (value,) * axes
    if len(value) != axes:
        raise ArgumentError(f"{name}: {what} is a number or {axes} of them, not {value}")
    return tuple(value)


def _padding(name: str, padding: Size | str, kernel: tuple[int, ...], stride: Size, dilation: Size) -> list[list[int]]:
    """Before and after each axis."""
    axes = len(kernel)
    if not isinstance(padding, str):
        return [[p, p] for p in sizes(name, "padding", padding, axes)]
    if padding == "valid":
        return [[0, 0]] * axes
    if padding != "same":
        raise ArgumentError(f"{name}: padding is a number, {axes} of them, 'same' or 'valid', not {padding!r}")
    if max(sizes(name, "stride", stride, axes)) > 1:
        raise ArgumentError(f"{name}: padding 'same' needs stride 1, not {stride}")
    whole = [d * (k - 1) for k, d in zip(kernel, sizes(name, "dilation", dilation, axes), strict=True)]
    return [[n // 2, n - n // 2] for n in whole]


def _pad_ends(input: Tensor, before: list[int], after: list[int]) -> Tensor:
    """Zeros around the last two axes."""
    start = (0,) * (input.ndim - 2) + tuple(before)
    shape = [n + b + a for n, b, a in zip(input.shape[-2:], before, after, strict=True)]
    like = expand(empty((1,), input.dtype), (*input.shape[:-2], *shape))
    padded: Tensor = unslice(input, like, start=start, size=input.shape, step=(1,) * input.ndim)
    return padded


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
    bias: (out,). stride, padding (zeros on both sides) and dilation: a number or (rows, columns); padding also "same",
    so that the result is as large as the input, or "valid", which is none. Raises ShapeError and ArgumentError.
    """
    if input.ndim not in (3, 4) or weight.ndim != 4:
        raise ShapeError(
            "conv2d: the input is (N, channels, rows, columns), or without N, and the weight has 4 axes, not "
            f"{input.shape} and {weight.shape}"
        )
    batch: Tensor = unsqueeze(input, 0) if input.ndim == 3 else input
    ends = _padding("conv2d", padding, weight.shape[2:], stride, dilation)
    before, after = [b for b, _ in ends], [a for _, a in ends]
    if before != after:
        batch, before = _pad_ends(batch, before, after), [0, 0]
    out: Tensor = conv.conv2d(
        batch,
        weight,
        stride=sizes("conv2d", "stride", stride, 2),
        padding=tuple(before),
        dilation=sizes("conv2d", "dilation", dilation, 2),
        groups=groups,
    )
    if bias is not None:
        out = out + reshape(bias, (-1, 1, 1))
    return squeeze(out, 0) if input.ndim == 3 else out
