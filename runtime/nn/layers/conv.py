"""Convolutions and their transposes."""

import math
from typing import Any

from ..._core import Tensor
from ...creation import empty
from ...errors import ArgumentError
from ...spec import DType
from .. import functional as F
from .. import init
from ..functional.conv import Size, Sizes, both_ends, sizes
from ..module import Module
from ..parameter import Parameter

_MODES = ("zeros", "reflect", "replicate", "circular")


class _Conv(Module):
    """A convolution's sizes, weight and bias."""

    _axes: int
    _transposed = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size | str = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        *,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if padding_mode not in _MODES or (self._transposed and padding_mode != "zeros"):
            known = "zeros" if self._transposed else ", ".join(_MODES)
            raise ArgumentError(f"{name}: padding_mode is {known}, not {padding_mode!r}")
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise ArgumentError(f"{name}: {groups} groups do not divide channels {in_channels} and {out_channels}")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = sizes(name, "kernel_size", kernel_size, self._axes)
        self.stride = sizes(name, "stride", stride, self._axes)
        self.padding = padding if isinstance(padding, str) else sizes(name, "padding", padding, self._axes)
        self.dilation = sizes(name, "dilation", dilation, self._axes)
        self.groups = groups
        self.padding_mode = padding_mode
        channels = (in_channels, out_channels) if self._transposed else (out_channels, in_channels)
        self.weight = Parameter(
            empty((channels[0], channels[1] // groups, *self.kernel_size), device=device, dtype=dtype)
        )
        self.bias = Parameter(empty((out_channels,), device=device, dtype=dtype)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """PyTorch's initial values: uniform within 1 / sqrt(the size of weight[0])."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(max(math.prod(self.weight.shape[1:]), 1))
            init.uniform_(self.bias, -bound, bound)

    def _ended(self, input: Tensor) -> tuple[Tensor, Sizes | str]:
        """The input and the zeros that are still to be added: none where padding_mode has lengthened it already."""
        if self.padding_mode == "zeros":
            return input, self.padding
        before, after = both_ends(type(self).__name__, self.padding, self.kernel_size, self.stride, self.dilation)
        pairs = [pair for both in zip(reversed(before), reversed(after), strict=True) for pair in both]
        return F.pad(input, pairs, self.padding_mode), (0,) * self._axes

    def extra_repr(self) -> str:
        presets: dict[str, Any] = {
            "padding": (0,) * self._axes,
            "dilation": (1,) * self._axes,
            "output_padding": (0,) * self._axes,
            "groups": 1,
            "padding_mode": "zeros",
        }
        given = [
            f"{name}={getattr(self, name)}" for name in presets if getattr(self, name, presets[name]) != presets[name]
        ]
        bias = [] if self.bias is not None else ["bias=False"]
        shown = [f"kernel_size={self.kernel_size}", f"stride={self.stride}", *given, *bias]
        return f"{self.in_channels}, {self.out_channels}, {', '.join(shown)}"


class Conv1d(_Conv):
    """functional.conv1d with its weight and bias: (N, in_channels, length) to (N, out_channels, length)."""

    _axes = 1

    def forward(self, input: Tensor) -> Tensor:
        input, padding = self._ended(input)
        return F.conv1d(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv2d(_Conv):
    """functional.conv2d with its weight and bias: (N, in_channels, rows, columns) to (N, out_channels, ...)."""

    _axes = 2

    def forward(self, input: Tensor) -> Tensor:
        input, padding = self._ended(input)
        return F.conv2d(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class _ConvTranspose(_Conv):
    _transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        output_padding: Size = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size = 1,
        padding_mode: str = "zeros",
        *,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        given = (stride, padding, dilation, groups, bias, padding_mode)
        super().__init__(in_channels, out_channels, kernel_size, *given, device=device, dtype=dtype)
        self.output_padding = sizes(type(self).__name__, "output_padding", output_padding, self._axes)

    def _more(self, input: Tensor, output_size: Size | None) -> tuple[int, ...]:
        """The output_padding that leads to output_size."""
        if output_size is None:
            return self.output_padding
        name = type(self).__name__
        assert not isinstance(self.padding, str)
        least = [
            (n - 1) * s - 2 * p + d * (k - 1) + 1
            for n, s, p, d, k in zip(
                input.shape[-self._axes :], self.stride, self.padding, self.dilation, self.kernel_size, strict=True
            )
        ]
        wanted = sizes(name, "output_size", output_size, self._axes)
        return tuple(w - n for w, n in zip(wanted, least, strict=True))


class ConvTranspose1d(_ConvTranspose):
    """functional.conv_transpose1d with its weight and bias: (N, in_channels, length) to (N, out_channels, length)."""

    _axes = 1

    def forward(self, input: Tensor, output_size: Size | None = None) -> Tensor:
        """output_size: the length, of those that a stride makes possible."""
        assert not isinstance(self.padding, str)
        more = self._more(input, output_size)
        return F.conv_transpose1d(
            input, self.weight, self.bias, self.stride, self.padding, more, self.groups, self.dilation
        )


class ConvTranspose2d(_ConvTranspose):
    """functional.conv_transpose2d with weight and bias: (N, in_channels, rows, columns) to (N, out_channels, ...)."""

    _axes = 2

    def forward(self, input: Tensor, output_size: Size | None = None) -> Tensor:
        """output_size: rows and columns, of those that a stride makes possible."""
        assert not isinstance(self.padding, str)
        more = self._more(input, output_size)
        return F.conv_transpose2d(
            input, self.weight, self.bias, self.stride, self.padding, more, self.groups, self.dilation
        )
