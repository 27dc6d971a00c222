"""Samples become a batch."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._core import Tensor
from ..creation import tensor
from ..errors import ArgumentError, ShapeError
from ..ops.shape import stack
from ..spec import float64


def default_collate(batch: Sequence[Any]) -> Any:
    """The samples with a new first axis: tensors and arrays are stacked, numbers become a tensor.

    Dicts, lists and tuples are collated part by part, into a dict or a list (of a named tuple, into one); strings and
    bytes stay in a list. Raises ShapeError for tensors of several shapes, TypeError for anything else.
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return _stacked(batch)
    if isinstance(first, np.ndarray):
        return _stacked([tensor(a) for a in batch])
    if isinstance(first, float):
        return tensor(list(batch), dtype=float64)
    if isinstance(first, bool | int | np.generic):
        return tensor(np.asarray(batch))
    if isinstance(first, str | bytes):
        return list(batch)
    if isinstance(first, Mapping):
        return {key: default_collate([sample[key] for sample in batch]) for key in first}
    if isinstance(first, tuple | list):
        sizes = {len(sample) for sample in batch}
        if len(sizes) > 1:
            raise ArgumentError(f"default_collate: the samples have {sorted(sizes)} parts: make them equally many")
        parts = [default_collate(part) for part in zip(*batch, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else parts
    raise TypeError(
        f"default_collate: samples are tensors, arrays, numbers, strings, dicts or lists of these, not "
        f"{type(first).__name__}: give collate_fn"
    )


def _stacked(samples: Sequence[Tensor]) -> Tensor:
    shapes = list(dict.fromkeys(sample.shape for sample in samples))
    if len(shapes) > 1:
        raise ShapeError(f"default_collate: there are samples of shapes {shapes[0]} and {shapes[1]}: give collate_fn")
    stacked: Tensor = stack(list(samples))
    return stacked


def default_convert(sample: Any) -> Any:
    """A sample with its arrays as tensors; what a DataLoader without batches does."""
    if isinstance(sample, np.ndarray | np.generic):
        return tensor(np.asarray(sample))
    if isinstance(sample, Mapping):
        return {key: default_convert(value) for key, value in sample.items()}
    if isinstance(sample, tuple) and hasattr(sample, "_fields"):
        return type(sample)(*(default_convert(part) for part in sample))
    if isinstance(sample, tuple | list):
        return [default_convert(part) for part in sample]
    return sample
