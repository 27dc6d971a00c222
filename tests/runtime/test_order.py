"""Order, search and sets: values by NumPy, ties, NaN, and where the array API and PyTorch part."""

import math
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt

NAN = float("nan")


def test_the_array_api_s_sort_gives_values_and_pytorch_s_a_pair() -> None:
    x = rt.tensor([3.0, 1.0, 2.0])
    assert rt.sort(x).tolist() == [1, 2, 3]
    assert rt.sort(x, axis=0, descending=True).tolist() == [3, 2, 1]
    for pair in (x.sort(), rt.sort(x, 0), rt.sort(x, dim=0)):
        assert (pair.values.tolist(), pair.indices.tolist()) == ([1, 2, 3], [1, 2, 0])
    values, indices = x.sort(descending=True)
    assert (values.tolist(), indices.tolist()) == ([3, 2, 1], [0, 2, 1])


def test_extrema_of_all_along_an_axis_and_of_two_tensors() -> None:
    x = rt.tensor([[1.0, 5.0], [7.0, 2.0]])
    assert (x.max().item(), x.min().item(), rt.max(x).item()) == (7, 1, 7)
    assert rt.max(x, axis=1).tolist() == [5, 7] and rt.min(x, axis=(0, 1), keepdims=True).tolist() == [[1]]
    for pair in (x.max(1), x.max(dim=1), rt.max(x, 1), rt.max(x, dim=-1)):
        assert (pair.values.tolist(), pair.indices.tolist()) == ([5, 7], [1, 0])
    assert x.min(0, keepdim=True).values.tolist() == [[1, 2]]
    assert rt.max(x, rt.tensor([3.0])).tolist() == [[3, 5], [7, 3]]
    assert x.amax(dim=0).tolist() == [7, 5]


def test_the_gradient_of_an_extremum_along_an_axis_reaches_the_one_found() -> None:
    x = rt.tensor([[2.0, 2.0]], requires_grad=True)
    x.max(dim=1).values.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[1, 0]]


def test_equal_elements_keep_their_order() -> None:
    x = np.array([2, 1, 2, 1, 2])
    assert rt.argsort(rt.tensor(x)).tolist() == [1, 3, 0, 2, 4]
    assert rt.argsort(rt.tensor(x), descending=True).tolist() == [0, 2, 4, 1, 3]


def test_nan_counts_as_the_largest() -> None:
    x = rt.tensor([1.0, NAN, 0.0])
    assert rt.argsort(x).tolist() == [2, 0, 1] and rt.argsort(x, descending=True).tolist() == [1, 0, 2]
    assert x.topk(2).indices.tolist() == [1, 0] and x.topk(2, largest=False).indices.tolist() == [2, 0]
    assert math.isnan(x.median().item()) and math.isnan(rt.quantile(x, 0.5).item())


@pytest.mark.parametrize("largest", [True, False])
def test_topk_against_sorting(largest: bool) -> None:
    x = np.random.default_rng(0).normal(size=(4, 50, 3))
    values, indices = rt.tensor(x).topk(7, dim=1, largest=largest)
    want = np.sort(x, 1)[:, ::-1][:, :7] if largest else np.sort(x, 1)[:, :7]
    np.testing.assert_array_equal(values.numpy(), want)
    np.testing.assert_array_equal(np.take_along_axis(x, indices.numpy(), 1), want)


def test_middles() -> None:
    x = rt.tensor([[4.0, 1.0, 3.0, 2.0], [1.0, 1.0, 2.0, 2.0]])
    assert x.median().item() == 2
    assert (x.median(dim=1).values.tolist(), x.median(1).indices.tolist()) == ([2, 1], [3, 1])
    assert x.kthvalue(3, dim=1).values.tolist() == [3, 2]
    assert (x.mode(dim=1).values.tolist(), x.mode(1).indices.tolist()) == ([1, 1], [1, 1])
    assert rt.quantile(x, 0.25, axis=1).tolist() == [1.75, 1]
    for how in ("linear", "lower", "higher", "midpoint", "nearest"):
        ours = rt.quantile(x, rt.tensor([0.1, 0.6]), axis=1, interpolation=how)
        np.testing.assert_allclose(ours.numpy(), np.quantile(x.numpy(), [0.1, 0.6], axis=1, method=how), rtol=1e-6)


def test_places() -> None:
    x = rt.tensor([[0, 1], [2, 0]])
    assert [i.tolist() for i in rt.nonzero(x)] == [[0, 1], [1, 0]]
    assert x.nonzero().tolist() == rt.argwhere(x).tolist() == [[0, 1], [1, 0]]
    assert rt.tensor(1).nonzero().shape == (1, 0)
    assert x.count_nonzero().item() == 2 and x.count_nonzero(dim=0).tolist() == [1, 1]
    edges = rt.tensor([1.0, 3.0, 5.0])
    assert rt.searchsorted(edges, rt.tensor([3.0, 6.0])).tolist() == [1, 3]
    assert rt.searchsorted(edges, rt.tensor([3.0]), side="right").tolist() == [2]
    assert rt.searchsorted(rt.tensor([5.0, 1.0]), rt.tensor([2.0]), sorter=rt.tensor([1, 0])).tolist() == [1]
    assert rt.bucketize(rt.tensor([3, 4]), edges, right=True).tolist() == [2, 2]
    assert rt.isin(rt.tensor([1, 2, 3]), rt.tensor([2]), invert=True).tolist() == [True, False, True]


def test_sets() -> None:
    x = rt.tensor([[3, 1], [3, 2]])
    found = rt.unique_all(x)
    assert (found.values.tolist(), found.counts.tolist()) == ([1, 2, 3], [1, 1, 2])
    assert (found.indices.tolist(), found.inverse_indices.tolist()) == ([1, 3, 0], [[2, 0], [2, 1]])
    assert rt.unique_counts(rt.tensor([NAN, NAN])).counts.tolist() == [1, 1]
    assert x.unique().tolist() == rt.unique_values(x).tolist() == [1, 2, 3]
    rows, inverse, counts = rt.tensor([[1, 2], [0, 1], [1, 2]]).unique(return_inverse=True, return_counts=True, dim=0)
    assert (rows.tolist(), inverse.tolist(), counts.tolist()) == ([[0, 1], [1, 2]], [1, 0, 1], [1, 2])
    assert rt.bincount(rt.tensor([1, 1, 3]), weights=rt.tensor([0.5, 1.0, 2.0])).tolist() == [0, 1.5, 0, 2]
    assert rt.histc(rt.tensor([0.0, 1.0, 2.0, 9.0]), bins=2, min=0, max=2).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda x: x.topk(4), rt.ShapeError, "topk: k 4 does not lie between 0 and 3"),
        (lambda x: x.kthvalue(0), rt.ArgumentError, "kthvalue: k 0 does not lie between 1 and 3"),
        (lambda x: rt.quantile(x, 1.5), rt.ArgumentError, "from 0 to 1"),
        (lambda x: x.sort(dim=1), rt.ShapeError, "axis 1 is out of range"),
        (lambda x: rt.bincount(x), rt.ArgumentError, "counts ints from 0"),
        (lambda x: rt.nonzero(x[0]), rt.ShapeError, "0-d tensor has no axes"),
    ],
)
def test_what_is_refused(act: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        act(rt.tensor([1.0, 2.0, 3.0]))
