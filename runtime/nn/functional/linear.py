"""Affine and bilinear maps."""

import math

from ..._core import Tensor, lowered
from ...errors import ShapeError
from ...ops.shape import reshape, transpose, unsqueeze


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.mT + bias. input: (..., in), weight: (out, in), bias: (out,); the result is (..., out)."""
    shape = input.shape
    if len(shape) > 2:  # one product, and one for the weight's gradient
        input = reshape(input, (math.prod(shape[:-1]), shape[-1]))
    out: Tensor = input @ transpose(weight, -2, -1)
    if bias is not None:
        out = out + lowered(bias)
    return reshape(out, (*shape[:-1], weight.shape[0])) if len(shape) > 2 else out


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """The sums of input1[..., i] * weight[o, i, j] * input2[..., j], plus bias[o].

    input1: (..., in1), input2: (..., in2), weight: (out, in1, in2), bias: (out,); the result is (..., out).
    Raises ShapeError for shapes that do not fit.
    """
    lead, shape = input1.shape[:-1], weight.shape
    if weight.ndim != 3 or input2.shape[:-1] != lead or (input1.shape[-1], input2.shape[-1]) != shape[1:]:
        raise ShapeError(
            f"bilinear: weight {shape} needs inputs (..., {shape[-2]}) and (..., {shape[-1]}), not {input1.shape} and "
            f"{input2.shape}"
        )
    first, second = reshape(input1, (-1, shape[1])), reshape(input2, (-1, shape[2]))
    # (out, N, in2), then the sum over in2 as a product of matrices
    halves = transpose(first @ weight, 0, 1)
    out: Tensor = reshape(halves @ unsqueeze(second, -1), (*lead, shape[0]))
    return out if bias is None else out + lowered(bias)
