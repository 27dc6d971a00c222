"""Affine maps."""

from ..._core import Tensor
from ...ops.shape import transpose


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.mT + bias. input: (..., in), weight: (out, in), bias: (out,); the result is (..., out)."""
    out: Tensor = input @ transpose(weight, -2, -1)
    return out if bias is None else out + bias
