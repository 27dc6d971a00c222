"""Special functions and what else PyTorch has beside the array API, against known values."""

import math

import numpy as np
import pytest

from perflab import runtime as rt

EULER = 0.5772156649015329


def doubles(*values: float) -> rt.Tensor:
    return rt.tensor(list(values), dtype=rt.float64)


def test_lgamma() -> None:
    got = rt.lgamma(doubles(5, 0.5, -0.5, 0, -3, 1e306))
    wanted = [math.log(24), math.log(math.pi) / 2, math.log(2 * math.sqrt(math.pi)), math.inf, math.inf, math.inf]
    np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-15)


def test_digamma_and_its_derivatives() -> None:
    got = rt.digamma(doubles(1, 0.5, -0.5, 100)).numpy()
    wanted = [-EULER, -EULER - 2 * math.log(2), 2 - EULER - 2 * math.log(2), 4.600161852738087]
    np.testing.assert_allclose(got, wanted, rtol=3e-14)
    assert math.isnan(rt.digamma(doubles(-1)).item()) and rt.digamma(doubles(0)).item() == -math.inf
    zeta3 = 1.2020569031595942
    np.testing.assert_allclose(rt.polygamma(1, doubles(1, 0.5)).numpy(), [math.pi**2 / 6, math.pi**2 / 2], rtol=1e-14)
    np.testing.assert_allclose(rt.polygamma(2, doubles(1, 0.5)).numpy(), [-2 * zeta3, -14 * zeta3], rtol=1e-14)
    with pytest.raises(rt.ArgumentError, match="polygamma: n is the number of a derivative, from 0, not -1"):
        rt.polygamma(-1, doubles(1))


def test_erfinv_undoes_erf() -> None:
    x = np.array([1e-300, 1e-5, 0.3, 0.5, 1.7, 3.0, -2.5])
    np.testing.assert_allclose(rt.erfinv(rt.erf(rt.tensor(x))).numpy(), x, rtol=1e-11)
    assert rt.erfinv(doubles(1, -1)).tolist() == [math.inf, -math.inf] and math.isnan(rt.erfinv(doubles(1.5)).item())


def test_sinc_and_heaviside() -> None:
    np.testing.assert_allclose(rt.sinc(doubles(0, 0.5, 1, -1.5)).numpy(), np.sinc([0, 0.5, 1, -1.5]), atol=1e-16)
    assert rt.heaviside(rt.tensor([-1, 0, 2]), rt.tensor([7])).tolist() == [0, 7, 1]
    assert math.isnan(rt.heaviside(doubles(math.nan), 0.5).item())


def test_float_power_and_logspace() -> None:
    got = rt.float_power(rt.tensor([2, 3]), rt.tensor([-2, 2]))
    assert (got.dtype, got.tolist()) == (rt.float64, [0.25, 9])
    np.testing.assert_allclose(rt.logspace(-1, 2, 4).numpy(), [0.1, 1, 10, 100], rtol=1e-6)
    assert rt.logspace(0, 3, 4, base=2).tolist() == [1, 2, 4, 8]


def test_spread_and_mean_together() -> None:
    x = doubles(1, 2, 6)
    assert [t.item() for t in rt.var_mean(x, correction=1)] == [7, 3]
    assert [t.item() for t in rt.std_mean(x, unbiased=True)] == [math.sqrt(7), 3]
    assert [t.shape for t in rt.var_mean(rt.ones(2, 3), dim=1, keepdim=True)] == [(2, 1), (2, 1)]


def test_equal_neighbours_are_left_out() -> None:
    x = rt.tensor([[1, 1], [1, 1], [2, 1]])
    values, inverse, counts = rt.unique_consecutive(x, True, True, axis=0)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([[1, 1], [2, 1]], [0, 0, 1], [2, 1])
    assert rt.unique_consecutive(x).tolist() == [1, 2, 1]
    assert rt.unique_consecutive(rt.zeros(0), return_counts=True)[1].tolist() == []


def test_distances_of_rows() -> None:
    a, b = np.random.default_rng(0).normal(size=(2, 4, 3)), np.random.default_rng(1).normal(size=(5, 3))
    for p in (1.0, 2.0, 3.0, math.inf):
        wanted = np.linalg.norm(a[:, :, None] - b, ord=p, axis=-1)
        np.testing.assert_allclose(rt.cdist(rt.tensor(a), rt.tensor(b), p).numpy(), wanted, rtol=1e-13)
