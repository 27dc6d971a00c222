"""Sequences of different lengths: padded to one length, or packed one step after the other.

A packed batch holds no padding: the elements of the first step of all sequences, then those of the second, and so on,
sequences of falling length.
"""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._core import Tensor, from_numpy
from ...creation import full
from ...errors import ArgumentError, ShapeError
from ...ops.index import take
from ...ops.shape import concat, reshape, transpose


class PackedSequence(NamedTuple):
    """What pack_padded_sequence makes and recurrent layers take.

    data: (sum of lengths, features ...). batch_sizes: how many sequences have each step, on the CPU. sorted_indices:
    the sequences' places in the order of falling length, unsorted_indices: back again; None where they came so.
    """

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None

    def runs(self) -> list[tuple[int, int, int]]:
        """Steps with equally many sequences: where their elements begin in data, how many steps, how many sequences."""
        found, start = [], 0
        for size, steps in itertools.groupby(self.batch_sizes.tolist()):
            count = len(list(steps))
            found.append((start, count, size))
            start += count * size
        return found


def pad_sequence(
    sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Sequences, each (its length, features ...), as one tensor (L, N, features ...), L being the largest length.

    batch_first: (N, L, ...). padding_side: "left" or "right", where padding_value stands.
    """
    if padding_side not in ("left", "right"):
        raise ArgumentError(f"pad_sequence: padding_side is left or right, not {padding_side!r}")
    if not sequences:
        raise ArgumentError("pad_sequence: there is no sequence: give at least one")
    most = max(len(s) for s in sequences)
    rows = []
    for s in sequences:
        if s.shape[1:] != sequences[0].shape[1:]:
            raise ShapeError(f"pad_sequence: the features of shapes {sequences[0].shape} and {s.shape} differ")
        padding = full((most - len(s), *s.shape[1:]), padding_value, dtype=s.dtype, device=s.device)
        rows.append(concat([s, padding] if padding_side == "right" else [padding, s]))
    padded = concat([reshape(row, (1, *row.shape)) for row in rows])
    return padded if batch_first else transpose(padded, 0, 1)  # type: ignore[no-any-return]


def unpad_sequence(padded_sequences: Tensor, lengths: Any, batch_first: bool = False) -> list[Tensor]:
    """The sequences, each (its length, features ...), in what pad_sequence made."""
    rows = padded_sequences if batch_first else transpose(padded_sequences, 0, 1)
    return [row[:n] for row, n in zip(rows, _lengths(lengths), strict=True)]


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """A padded batch, (L, N, features ...), or with batch_first (N, L, ...), without its padding.

    lengths: of the N sequences, a list or a tensor. Unless enforce_sorted is False they must fall. Raises ShapeError or
    ArgumentError for lengths that do not fit.
    """
    steps = transpose(input, 0, 1) if batch_first else input
    wanted = np.array(_lengths(lengths), np.int64)
    if wanted.shape != steps.shape[1:2]:
        raise ShapeError(f"pack_padded_sequence: {wanted.size} lengths for {steps.shape[1]} sequences of {input.shape}")
    if wanted.min(initial=1) < 1 or wanted.max(initial=0) > len(steps):
        raise ArgumentError(f"pack_padded_sequence: lengths are 1 to {len(steps)}, not {wanted.tolist()}")
    order = None
    if not enforce_sorted:
        order = np.argsort(-wanted, kind="stable")
        wanted = wanted[order]
    elif (np.diff(wanted) > 0).any():
        raise ArgumentError(
            f"pack_padded_sequence: lengths {wanted.tolist()} do not fall: sort them, or pass enforce_sorted=False"
        )
    there = np.arange(wanted.max(initial=0))[:, None] < wanted
    step, column = np.nonzero(there)
    places = step * steps.shape[1] + (column if order is None else order[column])
    data = take(reshape(steps, (-1, *steps.shape[2:])), from_numpy(places, steps))
    if order is None:
        return PackedSequence(data, from_numpy(there.sum(1)))
    return PackedSequence(data, from_numpy(there.sum(1)), from_numpy(order), from_numpy(np.argsort(order)))


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """A packed batch as (L, N, features ...), or with batch_first (N, L, ...), and its lengths, (N,).

    total_length: what L is, if it is to be more than the largest length.
    """
    sizes = np.asarray(sequence.batch_sizes)
    most = len(sizes) if total_length is None else total_length
    if most < len(sizes):
        raise ArgumentError(f"pad_packed_sequence: total_length {most} is less than the largest length, {len(sizes)}")
    there = np.arange(sizes.max(initial=0)) < sizes[:, None]
    places = np.full((most, there.shape[1]), len(sequence.data), np.int64)  # of padding, one row behind the data
    places[: len(sizes)][there] = np.arange(len(sequence.data))
    lengths = there.sum(0)
    if sequence.unsorted_indices is not None:
        back = np.asarray(sequence.unsorted_indices)
        places, lengths = places[:, back], lengths[back]
    padding = full((1, *sequence.data.shape[1:]), padding_value, dtype=sequence.data.dtype, device=sequence.data.device)
    padded = take(concat([sequence.data, padding]), from_numpy(places, padding))
    return (transpose(padded, 0, 1) if batch_first else padded), from_numpy(lengths)


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Sequences, each (its length, features ...), packed."""
    return pack_padded_sequence(pad_sequence(sequences), [len(s) for s in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences, each (its length, features ...), of a packed batch."""
    return unpad_sequence(*pad_packed_sequence(packed_sequences))


def _lengths(lengths: Any) -> list[int]:
    return [int(n) for n in (lengths.tolist() if isinstance(lengths, Tensor) else lengths)]
