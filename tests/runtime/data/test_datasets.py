"""Datasets, samplers, and samples that become batches."""

from collections import namedtuple
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import data

Point = namedtuple("Point", "x y")


class Squares(data.Dataset[int]):
    def __init__(self, size: int) -> None:
        self.size = size

    def __getitem__(self, index: int) -> int:
        return index**2

    def __len__(self) -> int:
        return self.size


def test_rows_subsets_and_joined_datasets() -> None:
    rows = data.TensorDataset(rt.arange(4), rt.arange(8).reshape(4, 2))
    assert len(rows) == 4 and [t.tolist() for t in rows[2]] == [2, [4, 5]]
    some = data.Subset(Squares(10), [3, 5, 7])
    assert len(some) == 3 and some[1] == 25 and some.__getitems__([0, 2]) == [9, 49]
    joined = Squares(3) + Squares(2)
    assert [joined[i] for i in range(5)] == [0, 1, 4, 0, 1] and joined[-1] == 1 and len(joined) == 5
    with pytest.raises(IndexError, match="index 5 is outside of a ConcatDataset of 5 samples"):
        joined[5]
    with pytest.raises(rt.ShapeError, match=r"one number of rows are wanted, not \[2, 3\]"):
        data.TensorDataset(rt.zeros(2), rt.zeros(3))
    with pytest.raises(NotImplementedError, match=r"Dataset defines no __getitem__\(self, index\)"):
        data.Dataset()[0]


def test_random_split_leaves_no_sample_out() -> None:
    first, second = data.random_split(Squares(10), [7, 3], rt.Generator().manual_seed(1))
    again, _ = data.random_split(Squares(10), [7, 3], rt.Generator().manual_seed(1))
    assert len(first) == 7 and list(first.indices) == list(again.indices) != list(range(7))
    assert sorted([*first.indices, *second.indices]) == list(range(10))
    assert [len(part) for part in data.random_split(Squares(11), [0.5, 0.3, 0.2])] == [6, 3, 2]
    with pytest.raises(rt.ArgumentError, match=r"lengths \[3, 3\] do not add up to the 10 samples, nor to 1"):
        data.random_split(Squares(10), [3, 3])


def test_samplers() -> None:
    source = Squares(5)
    assert list(data.SequentialSampler(source)) == [0, 1, 2, 3, 4]
    rt.manual_seed(0)
    orders = [tuple(data.RandomSampler(source)) for _ in range(20)]
    assert all(sorted(order) == [0, 1, 2, 3, 4] for order in orders) and len(set(orders)) > 10
    fixed = [list(data.RandomSampler(source, generator=rt.Generator().manual_seed(3))) for _ in range(2)]
    assert fixed[0] == fixed[1]
    more = data.RandomSampler(source, num_samples=8)
    assert len(more) == len(found := list(more)) == 8 and sorted(found[:5]) == [0, 1, 2, 3, 4]
    drawn = list(data.RandomSampler(source, replacement=True, num_samples=3000))
    assert len(drawn) == 3000 and np.bincount(drawn).min() > 500
    assert sorted(data.SubsetRandomSampler([2, 4, 6])) == [2, 4, 6]
    weighted = list(data.WeightedRandomSampler([0.0, 1.0, 3.0], 4000))
    assert np.bincount(weighted, minlength=3)[0] == 0 and np.mean(np.array(weighted) == 2) == pytest.approx(
        0.75, abs=0.03
    )
    assert sorted(data.WeightedRandomSampler([1, 5, 1], 3, replacement=False)) == [0, 1, 2]
    batches = data.BatchSampler(data.SequentialSampler(source), 2, drop_last=False)
    assert list(batches) == [[0, 1], [2, 3], [4]] and len(batches) == 3
    short = data.BatchSampler(range(5), 2, drop_last=True)
    assert list(short) == [[0, 1], [2, 3]] and len(short) == 2
    for make in (
        lambda: data.BatchSampler([1], 0, False),
        lambda: data.RandomSampler(source, num_samples=0),
        lambda: data.WeightedRandomSampler([1.0], 0),
    ):
        with pytest.raises(rt.ArgumentError, match="must be "):
            make()


def test_samples_become_a_batch() -> None:
    def collated(*samples: Any) -> Any:
        return data.default_collate(samples)

    assert collated(rt.ones(2), rt.zeros(2)).tolist() == [[1, 1], [0, 0]]
    arrays = collated(np.zeros(3, np.float64), np.ones(3, np.float64))
    assert arrays.shape == (2, 3) and arrays.dtype is rt.float64
    assert (collated(1.0, 2.0).dtype, collated(1, 2).dtype, collated(True, False).dtype) == (
        rt.float64,
        rt.int64,
        rt.bool_,
    )
    assert collated(np.float32(1), np.float32(2)).dtype is rt.float32
    assert collated("a", "b") == ["a", "b"] and collated(b"a") == [b"a"]
    nested = collated({"x": (1, [2.0])}, {"x": (3, [4.0])})
    assert nested["x"][0].tolist() == [1, 3] and nested["x"][1][0].tolist() == [2, 4]
    points = collated(Point(1, 2), Point(3, 4))
    assert type(points) is Point and points.y.tolist() == [2, 4]
    with pytest.raises(rt.ArgumentError, match=r"the samples have \[1, 2\] parts"):
        collated([1], [1, 2])
    with pytest.raises(rt.ShapeError, match=r"samples of shapes \(1,\) and \(2,\): give collate_fn"):
        collated(rt.ones(1), rt.ones(1), rt.ones(2))
    with pytest.raises(TypeError, match="not object: give collate_fn"):
        collated(object())


def test_single_samples_are_converted() -> None:
    sample = data.default_convert(
        {"a": np.ones(2), "b": (1, np.int32(3)), "c": Point("x", np.zeros(1)), "d": rt.ones(1)}
    )
    assert type(sample["a"]) is rt.Tensor and sample["b"][0] == 1 and sample["b"][1].dtype is rt.int32
    assert sample["c"].x == "x" and type(sample["c"].y) is rt.Tensor
