"""Normalisation."""

from collections.abc import Sequence

from ..._core import Tensor
from ...creation import ones, zeros
from ...errors import ShapeError
from ...ops import norm


def layer_norm(
    input: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """input with mean 0 and variance 1 over its last axes, times weight, plus bias (Ba and others, 2016).

    normalized_shape: the sizes of these axes, and the shape of weight and bias. eps is added to the variance.
    Raises ShapeError where the shapes do not fit.
    """
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not shape or input.shape[input.ndim - len(shape) :] != shape:
        raise ShapeError(f"layer_norm: normalized_shape {shape} is not for the last axes of {input.shape}")
    scale = ones(shape, dtype=input.dtype) if weight is None else weight
    shift = zeros(shape, dtype=input.dtype) if bias is None else bias
    if scale.shape != shape:
        raise ShapeError(f"layer_norm: weight has shape {scale.shape}, normalized_shape is {shape}")
    out: Tensor = norm.layer_norm(input, scale, shift, eps=eps)
    return out
