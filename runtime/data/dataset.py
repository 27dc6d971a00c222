"""Datasets: samples by index, or one after the other."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Generic, TypeVar

from .._core import Tensor
from ..errors import ArgumentError, IndexOutOfRange, ShapeError
from ..generator import Generator
from ..random import randperm

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Samples by index. A subclass defines `__getitem__(index)`, and `__len__` for most samplers.

    `__getitems__(indices)`, where it is defined, fetches the samples of a batch at once.
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError(f"{type(self).__name__} defines no __getitem__(self, index)")

    def __add__(self, other: "Dataset[Any]") -> "ConcatDataset":
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """Samples one after the other. A subclass defines `__iter__`.

    With worker processes each iterates over a copy of its own: `get_worker_info()` tells them apart.
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} defines no __iter__(self)")


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Rows of tensors: sample i is a tuple of each tensor's row i."""

    def __init__(self, *tensors: Tensor) -> None:
        sizes = {t.shape[0] for t in tensors}
        if len(sizes) != 1:
            raise ShapeError(f"TensorDataset: tensors with one number of rows are wanted, not {sorted(sizes)}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].shape[0]


class Subset(Dataset[T_co]):
    """The samples of a dataset at these indices."""

    def __init__(self, dataset: Dataset[T_co], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: int) -> T_co:
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: Sequence[int]) -> list[T_co]:
        return fetch(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset[Any]):
    """The samples of several datasets, one dataset after the other."""

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ArgumentError("ConcatDataset: there are no datasets")
        for dataset in self.datasets:
            if isinstance(dataset, IterableDataset):
                raise ArgumentError("ConcatDataset: an IterableDataset has no samples by index")
        self.cumulative_sizes = list(accumulate(len(d) for d in self.datasets))  # type: ignore[arg-type]

    def __getitem__(self, index: int) -> Any:
        if not -len(self) <= index < len(self):
            raise IndexOutOfRange(f"index {index} is outside of a ConcatDataset of {len(self)} samples")
        index %= len(self)
        which = bisect_right(self.cumulative_sizes, index)
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which else 0)]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


def random_split(
    dataset: Dataset[T_co], lengths: Sequence[float], generator: Generator | None = None
) -> list[Subset[T_co]]:
    """Subsets of these lengths with no sample in two of them; lengths that add up to 1 are fractions.

    Of fractions, each is rounded down, and the samples that are left go to the first subsets.
    """
    total: int = len(dataset)  # type: ignore[arg-type]
    sizes = list(lengths)
    if math.isclose(sum(sizes), 1) and sum(sizes) <= 1 + 1e-9:
        if not all(0 <= size <= 1 for size in sizes):
            raise ArgumentError(f"random_split: fractions lie between 0 and 1, not {sizes}")
        sizes = [math.floor(total * size) for size in sizes]
        for i in range(total - int(sum(sizes))):
            sizes[i % len(sizes)] += 1
    if sum(sizes) != total:
        raise ArgumentError(f"random_split: lengths {sizes} do not add up to the {total} samples, nor to 1")
    order = randperm(total, generator=generator).tolist()
    ends = [int(end) for end in accumulate(sizes)]
    return [Subset(dataset, order[end - int(size) : end]) for end, size in zip(ends, sizes, strict=True)]


def fetch(dataset: Any, indices: Sequence[Any]) -> list[Any]:
    """The samples at these indices."""
    if hasattr(dataset, "__getitems__"):
        return list(dataset.__getitems__(indices))
    return [dataset[i] for i in indices]
