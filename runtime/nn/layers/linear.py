"""Affine maps, and changes of shape between layers."""

import math

from ... import _core
from ..._core import Tensor
from ...ops.shape import reshape, transpose
from ...spec import DType, float32
from .. import init
from ..module import Module
from ..parameter import Parameter


class Linear(Module):
    """input @ weight.mT + bias: (..., in_features) to (..., out_features)."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True, *, dtype: DType = float32) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(_core.empty((out_features, in_features), dtype))
        self.bias = Parameter(_core.empty((out_features,), dtype)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """PyTorch's initial values: uniform within 1 / sqrt(in_features)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features else 0.0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        out: Tensor = input @ transpose(self.weight, -2, -1)
        return out if self.bias is None else out + self.bias

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Identity(Module):
    """Its input; arguments for its making are ignored."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Flatten(Module):
    """The axes from start_dim to end_dim as one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        shape = input.shape
        first, last = self.start_dim % len(shape), self.end_dim % len(shape)
        flat: Tensor = reshape(input, (*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :]))
        return flat

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"
