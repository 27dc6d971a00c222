"""Vectors for indices."""

from ..._core import Tensor
from ...ops.index import take


def embedding(input: Tensor, weight: Tensor) -> Tensor:
    """The rows of weight, (n, features), at the indices in input, of any shape: (*input.shape, features)."""
    rows: Tensor = take(weight, input, 0)
    return rows
