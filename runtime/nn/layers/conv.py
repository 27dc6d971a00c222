"""Convolutions."""

import math

from ... import _core
from ..._core import Tensor
from ...spec import DType, float32
from .. import functional as F
from .. import init
from ..functional.conv import Size, sizes
from ..module import Module
from ..parameter import Parameter


class Conv2d(Module):
    """functional.conv2d with its weight and bias: (N, in_channels, rows, columns) to (N, out_channels, ...)."""

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
        *,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = sizes("Conv2d", "kernel_size", kernel_size, 2)
        self.stride = sizes("Conv2d", "stride", stride, 2)
        self.padding = padding if isinstance(padding, str) else sizes("Conv2d", "padding", padding, 2)
        self.dilation = sizes("Conv2d", "dilation", dilation, 2)
        self.groups = groups
        self.weight = Parameter(_core.empty((out_channels, in_channels // groups, *self.kernel_size), dtype))
        self.bias = Parameter(_core.empty((out_channels,), dtype)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """PyTorch's initial values: uniform within 1 / sqrt(how many inputs each output has)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(math.prod(self.weight.shape[1:]))
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.conv2d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        return (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"padding={self.padding!r}"
        )
