"""Reductions and statistics: corrections, zeros, ties, NaN, dtypes."""

import math

import numpy as np
import pytest

from perflab import runtime as rt

VALUES = np.random.default_rng(0).normal(size=(3, 4, 5))


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2)])
@pytest.mark.parametrize("correction", [0, 1, 1.5])
def test_var_and_std_are_numpy_s(axis: int | tuple[int, ...] | None, correction: float) -> None:
    x = rt.tensor(VALUES)
    got = rt.var(x, axis=axis, correction=correction, keepdims=True)
    np.testing.assert_allclose(got.numpy(), np.var(VALUES, axis=axis, ddof=correction, keepdims=True))  # type: ignore[call-overload]
    got = rt.std(x, axis=axis, correction=correction)
    np.testing.assert_allclose(got.numpy(), np.std(VALUES, axis=axis, ddof=correction))  # type: ignore[call-overload]


def test_unbiased_is_a_correction_of_1() -> None:
    x = rt.tensor([1.0, 2.0, 6.0])
    assert rt.var(x, unbiased=True).item() == rt.var(x, correction=1).item() == 7
    assert math.isnan(rt.var(rt.tensor([1.0]), unbiased=True).item())


@pytest.mark.parametrize(
    ("values", "gradient"),
    [([2.0, 3.0, 4.0], [12, 8, 6]), ([2.0, 0.0, 4.0], [0, 8, 0]), ([0.0, 0.0, 4.0], [0, 0, 0])],
)
def test_the_gradient_of_a_product_stands_zeros(values: list[float], gradient: list[float]) -> None:
    x = rt.tensor(values, requires_grad=True)
    rt.prod(x).backward()
    assert x.grad is not None and x.grad.tolist() == gradient


def test_the_second_gradient_of_a_product_stands_zeros() -> None:
    x = rt.tensor([[2.0, 0.0, 4.0], [3.0, 0.0, 0.0]], requires_grad=True)
    (first,) = rt.autograd.grad(rt.prod(x, axis=1).sum(), x, create_graph=True)
    assert first.tolist() == [[0, 8, 0], [0, 0, 0]]
    first.sum().backward()  # of each element the sum of products of the others but one
    assert x.grad is not None and x.grad.tolist() == [[4, 6, 2], [0, 3, 3]]


def test_equal_extrema_share_the_gradient() -> None:
    x = rt.tensor([[1.0, 1.0, 2.0], [3.0, 0.0, 0.0]], requires_grad=True)
    rt.min(x, axis=1).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[0.5, 0.5, 0], [0, 0.5, 0.5]]
    assert rt.argmin(x, axis=1).tolist() == [0, 1] and rt.argmin(x).item() == 4


def test_nan_is_left_out_by_nansum_and_nanmean_alone() -> None:
    x = rt.tensor([[1.0, math.nan], [3.0, 5.0]])
    assert rt.nansum(x, dim=1).tolist() == [1, 8] and rt.nanmean(x).item() == 3
    assert math.isnan(rt.min(x).item()) and math.isnan(rt.max(x).item())


def test_all_and_any_take_every_dtype() -> None:
    assert rt.all(rt.tensor([[1, 0], [2, 3]]), dim=1).tolist() == [False, True]
    assert rt.any(rt.tensor([[0.0, math.nan], [0.0, 0.0]]), axis=1).tolist() == [True, False]
    empty = rt.zeros(0)
    assert rt.all(empty).item() is True and rt.any(empty).item() is False


def test_sums_and_products_in_a_dtype() -> None:
    x = rt.tensor([200, 100], dtype=rt.uint8)
    assert (rt.sum(x).dtype, rt.sum(x).item()) == (rt.uint64, 300)
    assert (rt.sum(x, dtype=rt.uint8).dtype, rt.sum(x, dtype=rt.uint8).item()) == (rt.uint8, 44)
    assert (rt.prod(x, dtype=rt.float32).dtype, rt.prod(x, dtype=rt.float32).item()) == (rt.float32, 20000)
    y = rt.tensor([1.0, 2.0], requires_grad=True)
    rt.sum(y, dtype=rt.float64).backward()
    assert y.grad is not None and (y.grad.dtype, y.grad.tolist()) == (rt.float32, [1, 1])


def test_the_place_of_an_extremum_is_along_one_axis() -> None:
    with pytest.raises(rt.ShapeError, match="argmin: it looks along one axis, not 2"):
        rt.argmin(rt.ones(2, 3), axis=(0, 1))


def test_the_gradient_of_a_spread_of_0_is_0() -> None:
    x = rt.tensor([2.0, 2.0], requires_grad=True)
    rt.std(x).backward()
    assert x.grad is not None and x.grad.tolist() == [0, 0]
