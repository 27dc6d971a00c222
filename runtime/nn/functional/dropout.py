"""Dropout: elements that are 0 by chance while a model trains (Srivastava and others, 2014)."""

import math

from ..._core import Tensor
from ...errors import ArgumentError, ShapeError
from ...op import sample
from ...ops.cast import copy_
from ...ops.compare import ge
from ...ops.pointwise import where
from ...random import rand
from ...registry import composite

_SELU_LOWEST = -1.7580993408473766  # what selu gives to large negative numbers


def check_probability(name: str, p: float) -> None:
    """Raises ArgumentError for a p that is no probability."""
    if not 0 <= p <= 1:
        raise ArgumentError(f"{name}: p is a probability, from 0 to 1, not {p}")


def _chosen(input: Tensor, shape: tuple[int, ...], p: float) -> Tensor:
    """Bools that broadcast to input, each True with probability 1 - p."""
    kept: Tensor = ge(rand(shape, dtype=input.dtype, device=input.device), p)
    return kept


def _dropped(input: Tensor, kept: Tensor, p: float, inplace: bool) -> Tensor:
    out: Tensor = where(kept, input * (1 / (1 - p) if p < 1 else 0.0), 0)
    return copy_(input, out) if inplace else out


@composite(samples=(sample((3, 4)), sample((2, 3), p=0.2)), public=False)
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Each element is 0 with probability p and else divided by 1 - p; the input itself when not training.

    >>> dropout(tensor([1.0, 2.0]), training=False).tolist()
    [1.0, 2.0]
    """
    check_probability("dropout", p)
    return _dropped(input, _chosen(input, input.shape, p), p, inplace) if training and p else input


def _dropped_channels(
    name: str, input: Tensor, ranks: tuple[int, ...], p: float, training: bool, inplace: bool
) -> Tensor:
    check_probability(name, p)
    if input.ndim not in ranks:
        raise ShapeError(f"{name}: the input has {' or '.join(map(str, ranks))} axes, not {input.shape}")
    if not training or not p:
        return input
    channels = input.shape[:1] if input.ndim == 2 else input.shape[:2]
    return _dropped(input, _chosen(input, channels + (1,) * (input.ndim - len(channels)), p), p, inplace)


@composite(samples=(sample((2, 3, 2)),), public=False)
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """dropout of whole channels: input (N, channels, length), or without N.

    >>> dropout1d(tensor([[1.0, 2.0]]), p=1.0).tolist()
    [[0.0, 0.0]]
    """
    return _dropped_channels("dropout1d", input, (2, 3), p, training, inplace)


@composite(samples=(sample((2, 3, 2, 2)),), public=False)
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """dropout of whole channels: input (N, channels, rows, columns) or (N, channels, length).

    >>> dropout2d(tensor([[[1.0, 2.0]]]), p=1.0).tolist()
    [[[0.0, 0.0]]]
    """
    return _dropped_channels("dropout2d", input, (3, 4), p, training, inplace)


@composite(samples=(sample((3, 4), training=True),), public=False)
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """dropout after selu, which keeps mean 0 and variance 1 (Klambauer and others, 2017).

    >>> alpha_dropout(tensor([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    check_probability("alpha_dropout", p)
    if not training or not p:
        return input
    scale = 1 / math.sqrt((1 - p) * (1 + p * _SELU_LOWEST**2)) if p < 1 else 0.0
    kept = where(_chosen(input, input.shape, p), input, _SELU_LOWEST)
    out: Tensor = scale * kept - scale * _SELU_LOWEST * p
    return copy_(input, out) if inplace else out
