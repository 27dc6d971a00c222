"""Vectors for indices."""

from typing import Any

import numpy as np

from ..._core import Tensor, empty, from_numpy
from ...creation import zeros
from ...errors import ArgumentError, IndexOutOfRange, ShapeError
from ...ops.compare import ne
from ...ops.index import take, take_grad
from ...ops.pointwise import where
from ...ops.reduce import amax
from ...ops.shape import expand, reshape, unsqueeze


def row_of_padding(padding_idx: int, rows: int) -> int:
    """padding_idx counted from 0. Raises IndexOutOfRange where it is no row."""
    if not -rows <= padding_idx < rows:
        raise IndexOutOfRange(f"padding_idx {padding_idx} is not one of the {rows} rows")
    return padding_idx % rows


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """The rows of weight, (n, features), at the indices in input, of any shape: (*input.shape, features).

    padding_idx: a row that gets no gradient. Raises IndexOutOfRange for an index that is no row.
    """
    rows: Tensor = take(weight, input, 0, from_end=False)
    if padding_idx is None:
        return rows
    real = unsqueeze(ne(input, row_of_padding(padding_idx, weight.shape[0])), -1)
    out: Tensor = where(real, rows, rows.detach())
    return out


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    *,
    mode: str = "mean",
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sums, means or maxima of bags of rows of weight, (n, features): (bags, features).

    input: indices, (bags, indices), or (indices,) with offsets, where each bag starts; include_last_offset: the last is
    the end. mode: "sum", "mean" or "max"; of an empty bag it is 0. per_sample_weights: factors for "sum", in the
    shape of input. padding_idx: indices that do not count. Raises ShapeError, ArgumentError and IndexOutOfRange.
    """
    if mode not in ("sum", "mean", "max"):
        raise ArgumentError(f"embedding_bag: mode is sum, mean or max, not {mode!r}")
    if per_sample_weights is not None and mode != "sum":
        raise ArgumentError(f"embedding_bag: per_sample_weights are for mode sum, not {mode}")
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ShapeError(f"embedding_bag: the input is {input.shape}, per_sample_weights {per_sample_weights.shape}")
    bags, count = _bags(input, offsets, include_last_offset)
    flat, factors = reshape(input, (-1,)), per_sample_weights
    if factors is not None:
        factors = reshape(factors, (-1,))
    if padding_idx is not None:
        kept = np.flatnonzero(flat.numpy() != row_of_padding(padding_idx, weight.shape[0]))
        bags, flat = bags[kept], take(flat, from_numpy(kept, weight))
        factors = None if factors is None else take(factors, from_numpy(kept, weight))
    if mode == "max":
        return _largest(flat, weight, bags, count)
    rows = take(weight, flat, 0, from_end=False)
    if factors is not None:
        rows = rows * unsqueeze(factors, -1)
    like = expand(empty((1,), weight.dtype, weight._device), (count, weight.shape[1]))
    sums: Tensor = take_grad(rows, like, from_numpy(bags, weight), axis=0)
    if mode == "sum":
        return sums
    sizes = np.maximum(np.bincount(bags, minlength=count), 1).astype(weight.dtype.numpy)
    return sums / from_numpy(sizes[:, None], weight)


def _bags(input: Tensor, offsets: Tensor | None, include_last_offset: bool) -> tuple[np.ndarray[Any, Any], int]:
    """The bag of each index, and how many bags there are."""
    if input.ndim == 2 and offsets is None:
        return np.repeat(np.arange(input.shape[0]), input.shape[1]), input.shape[0]
    if input.ndim != 1 or offsets is None or offsets.ndim != 1:
        raise ShapeError(
            "embedding_bag: the input is (bags, indices), or (indices,) with offsets of shape (bags,), not "
            f"{input.shape}{' without offsets' if offsets is None else f' with {offsets.shape}'}"
        )
    ends = offsets.numpy().astype(np.int64)
    if not include_last_offset:
        ends = np.append(ends, input.shape[0])
    if ends.size == 0 or ends[0] != 0 or np.any(np.diff(ends) < 0) or ends[-1] > input.shape[0]:
        raise ArgumentError(f"embedding_bag: offsets start at 0, do not fall, and stay within {input.shape[0]} indices")
    return np.repeat(np.arange(ends.size - 1), np.diff(ends)), ends.size - 1


def _largest(flat: Tensor, weight: Tensor, bags: np.ndarray[Any, Any], count: int) -> Tensor:
    """The largest elements of each bag's rows: the bags as a table, filled up with -inf."""
    sizes = np.bincount(bags, minlength=count)
    starts = np.cumsum(sizes) - sizes
    places = starts[:, None] + np.arange(sizes.max(initial=1))
    real = from_numpy((places < (starts + sizes)[:, None])[..., None], weight)
    if flat.numel() == 0:
        return zeros((count, weight.shape[1]), dtype=weight.dtype, device=weight.device)
    table = take(take(weight, flat, 0, from_end=False), from_numpy(np.minimum(places, bags.size - 1), weight), 0)
    out: Tensor = where(from_numpy(sizes[:, None] > 0, weight), amax(where(real, table, -np.inf), axis=1), 0)
    return out
