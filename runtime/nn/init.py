"""Initial values, written into a tensor in place. Not recorded; the numbers come from runtime/random.py."""

import math
from typing import Any

import numpy as np

from .._core import Tensor
from ..errors import ShapeError
from ..random import generator


def _memory(tensor: Tensor) -> np.ndarray[Any, Any]:
    return np.asarray(tensor.detach())


def constant_(tensor: Tensor, value: float) -> Tensor:
    """`value` everywhere."""
    _memory(tensor)[...] = value
    return tensor


def zeros_(tensor: Tensor) -> Tensor:
    """Zeros."""
    return constant_(tensor, 0)


def ones_(tensor: Tensor) -> Tensor:
    """Ones."""
    return constant_(tensor, 1)


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Uniform in [a, b)."""
    values = generator().random(tensor.shape, dtype=tensor.dtype.numpy)
    _memory(tensor)[...] = a + (b - a) * values
    return tensor


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Normal with this mean and standard deviation."""
    values = generator().standard_normal(tensor.shape, dtype=tensor.dtype.numpy)
    _memory(tensor)[...] = mean + std * values
    return tensor


def kaiming_uniform_(tensor: Tensor, a: float = 0.0) -> Tensor:
    """Uniform with the bound sqrt(6 / ((1 + a * a) * fan_in)), for layers before a leaky relu of slope a."""
    bound = math.sqrt(6 / ((1 + a * a) * fan_in(tensor)))
    return uniform_(tensor, -bound, bound)


def fan_in(tensor: Tensor) -> int:
    """How many inputs each output of a weight (out, in, ...) has."""
    if tensor.ndim < 2:
        raise ShapeError(f"the fan of a weight needs at least 2 axes, this one has shape {tensor.shape}")
    return math.prod(tensor.shape[1:])
