"""Attention."""

import math
from typing import Any

import numpy as np

from ..._core import Tensor, from_numpy
from ...errors import ArgumentError, DTypeError, ShapeError
from ...op import sample
from ...ops.compare import eq
from ...ops.pointwise import where
from ...ops.reduce import amax
from ...ops.shape import transpose
from ...ops.softmax import softmax
from ...registry import composite
from .dropout import dropout


def causal_mask(rows: int, columns: int, dtype: Any, like: Tensor | None = None) -> Tensor:
    """0 where a query may look at a key, at its own place and before, and -inf behind it; where `like` is."""
    return from_numpy(np.triu(np.full((rows, columns), -np.inf, dtype), 1), like)


def attend(query: Tensor, key: Tensor, mask: Tensor | None, dropout_p: float, scale: float) -> Tensor:
    """How much each query, (..., L, E), takes of each value, by the keys, (..., S, E): (..., L, S).

    mask: bools, True where a query may look at a key, or numbers that are added. A query that may look at none takes 0.
    """
    scores: Tensor = (query * scale) @ transpose(key, -2, -1)
    if mask is None:
        return dropout(softmax(scores, -1), dropout_p)
    if mask.dtype.kind == "b":
        scores = where(mask, scores, -math.inf)
    elif mask.dtype.kind == "f":
        scores = scores + mask
    else:
        raise DTypeError(f"attention: a mask holds bools or floats, not {mask.dtype.name}")
    blind = eq(amax(scores.detach(), axis=-1, keepdims=True), -math.inf)
    if blind.is_cpu and not blind.numpy().any():  # a device is not waited for
        return dropout(softmax(scores, -1), dropout_p)
    return dropout(where(blind, 0, softmax(where(blind, 0, scores), -1)), dropout_p)


@composite(
    samples=(
        sample((2, 3, 4), (2, 5, 4), (2, 5, 2)),
        sample((3, 4), (3, 4), (3, 2), is_causal=True, scale=0.3),
        sample((3, 4), (2, 4), (2, 2), attn_mask=np.array([[True, False], [False, False], [True, True]])),
        sample((3, 4), (2, 4), (2, 2), attn_mask=np.array([[0.5, -1.0], [2.0, 0.0], [0.0, -np.inf]])),
    ),
    public=False,
)
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """softmax(query @ key.mT * scale) @ value (Vaswani and others, 2017).

    query: (..., L, E), key: (..., S, E), value: (..., S, V); the result is (..., L, V). attn_mask broadcasts to
    (..., L, S): bools, True where a query may look at a key, or numbers that are added to the scores. is_causal: query
    i looks at keys 0 to i. scale: 1 / sqrt(E) by default. dropout_p is applied always: give 0 when not training.

    >>> scaled_dot_product_attention(zeros(1, 2), zeros(2, 2), tensor([[1.0], [3.0]])).tolist()
    [[2.0]]
    """
    fit = min(query.ndim, key.ndim, value.ndim) > 1 and query.shape[-1] == key.shape[-1]
    if not fit or key.shape[-2] != value.shape[-2]:
        raise ShapeError(
            "scaled_dot_product_attention: query (..., L, E), key (..., S, E) and value (..., S, V) are needed, not "
            f"{query.shape}, {key.shape} and {value.shape}"
        )
    if is_causal:
        if attn_mask is not None:
            raise ArgumentError("scaled_dot_product_attention: give either attn_mask or is_causal")
        attn_mask = causal_mask(query.shape[-2], key.shape[-2], query.dtype.numpy, query)
    weights = attend(
        query, key, attn_mask, dropout_p, 1 / math.sqrt(max(query.shape[-1], 1)) if scale is None else scale
    )
    out: Tensor = weights @ value
    return out
