"""Elementwise functions at the places where the sweep's samples do not go: bounds, halves, zeros, infinities."""

import math

import numpy as np
import pytest

from perflab import runtime as rt

inf, nan = math.inf, math.nan


def test_halves_are_rounded_to_even_and_remainders_take_the_divisor_s_sign() -> None:
    assert rt.round(rt.tensor([-1.5, -0.5, 0.5, 2.5])).tolist() == [-2, 0, 0, 2]
    assert rt.remainder(rt.tensor([5, -5, 5, -5]), rt.tensor([3, 3, -3, -3])).tolist() == [2, 1, -1, -2]
    assert rt.fmod(rt.tensor([5, -5, 5, -5]), rt.tensor([3, 3, -3, -3])).tolist() == [2, -2, 2, -2]
    assert rt.floor_divide(rt.tensor([5, -5, 5, -5]), rt.tensor([3, 3, -3, -3])).tolist() == [1, -2, -2, 1]
    assert rt.floor_divide(rt.tensor([inf, 7.5]), rt.tensor([2.0, -2.0])).tolist() == [inf, -4]


def test_steps_have_a_gradient_of_0() -> None:
    for step in (rt.floor, rt.ceil, rt.trunc, rt.round, rt.sign):
        x = rt.tensor([0.3, -1.7, 2.0], requires_grad=True)
        step(x).sum().backward()
        assert x.grad is not None and x.grad.tolist() == [0, 0, 0]


def test_clamp_passes_the_gradient_at_its_bounds_and_not_beyond() -> None:
    x = rt.tensor([-2.0, -1.0, 0.5, 1.0, 3.0], requires_grad=True)
    rt.clamp(x, min=-1, max=1).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [0, 1, 1, 1, 0]
    low = rt.tensor([0.0, 0.0, 0.0, 2.0, 0.0], requires_grad=True)
    rt.clip(x.detach(), low).sum().backward()
    assert low.grad is not None and low.grad.tolist() == [1, 1, 0, 1, 0]


def test_clip_without_bounds_is_a_copy() -> None:
    x = rt.tensor([1.0, 2.0])
    copy = rt.clip(x)
    copy.zero_()
    assert x.tolist() == [1, 2]


def test_logarithms_of_sums_do_not_overflow() -> None:
    assert rt.logsumexp(rt.tensor([[1000.0, -inf], [-inf, -inf]]), dim=1).tolist() == [1000, -inf]
    assert rt.logaddexp(rt.tensor([inf, -inf, -inf]), rt.tensor([inf, -inf, 3.0])).tolist() == [inf, -inf, 3]


def test_xlogy_is_0_beside_0_but_not_beside_nan() -> None:
    out = rt.xlogy(rt.tensor([0.0, 0.0, 2.0]), rt.tensor([0.0, nan, math.e])).tolist()
    assert out[0] == 0 and math.isnan(out[1]) and out[2] == pytest.approx(2)


def test_isclose_and_nan_to_num_know_infinities_and_nan() -> None:
    a, b = rt.tensor([inf, -inf, nan, 1.0]), rt.tensor([inf, inf, nan, 1.1])
    assert rt.isclose(a, b).tolist() == [True, False, False, False]
    assert rt.isclose(a, b, equal_nan=True, rtol=0.2).tolist() == [True, False, True, True]
    assert not rt.allclose(a, b) and rt.allclose(a[:1], b[:1])
    top = float(np.finfo(np.float32).max)
    assert rt.nan_to_num(a).tolist() == [top, -top, 0, 1]


def test_erf_and_erfc_add_up_to_1() -> None:
    x = rt.tensor(np.linspace(-3, 3, 13))
    np.testing.assert_allclose((rt.erf(x) + rt.erfc(x)).numpy(), 1, rtol=1e-15)
    assert rt.erf(rt.tensor(0.5)).item() == pytest.approx(0.5204998778, rel=1e-6)
    assert rt.erfc(rt.tensor(np.array(10.0))).item() == pytest.approx(2.0884875837625446e-45, rel=1e-12)


def units_off(found: np.ndarray, exact: np.ndarray) -> float:
    """The largest error of float32 numbers, in units in the last place."""
    unit = np.spacing(np.maximum(np.abs(exact).astype(np.float32), np.finfo(np.float32).tiny))
    return float(np.max(np.abs(found.astype(np.float64) - exact) / unit))


@pytest.mark.parametrize(
    ("name", "low", "high", "most"),
    [("expm1", -20, 80, 2), ("log1p", -0.99, 90, 2), ("erf", -5, 5, 3), ("erfc", -5, 9, 1), ("sigmoid", -80, 80, 3)],
)
def test_float32_functions_are_exact_to_units_in_the_last_place(name: str, low: float, high: float, most: int) -> None:
    x = np.concatenate([np.linspace(low, high, 20001), np.linspace(-0.6, 0.6, 20001), [1e-30, -1e-30, 1e-5]])
    x = x.astype(np.float32)
    exact = {"erf": np.vectorize(math.erf), "erfc": np.vectorize(math.erfc), "sigmoid": lambda v: 1 / (1 + np.exp(-v))}
    function = exact.get(name) or getattr(np, name)
    assert units_off(getattr(rt, name)(rt.tensor(x)).numpy(), function(x.astype(np.float64))) <= most


def test_float32_powers_are_exact_to_a_unit_in_the_last_place() -> None:
    base = np.exp(np.linspace(-80, 80, 30011)).astype(np.float32)
    exponent = (40 * np.sin(np.arange(30011)) / np.maximum(1, np.abs(np.log(base)))).astype(np.float32)
    wide = base.astype(np.float64), exponent.astype(np.float64)
    assert units_off(rt.pow(rt.tensor(base), rt.tensor(exponent)).numpy(), np.power(*wide)) <= 1
    for one in (2.5, -0.75, 0.5, 3.0, -1.0):
        near = base[14000:16000]
        assert units_off((rt.tensor(near) ** one).numpy(), near.astype(np.float64) ** one) <= 2


def test_powers_of_zeros_infinities_and_negative_numbers_are_c_s() -> None:
    values = [0.0, -0.0, 1.0, -1.0, inf, -inf, nan, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1e-45, 1e30]
    base, exponent = (x.ravel().astype(np.float32) for x in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        exact = np.power(base.astype(np.float64), exponent.astype(np.float64)).astype(np.float32)
    found = rt.pow(rt.tensor(base), rt.tensor(exponent)).numpy()
    np.testing.assert_array_equal(found, exact)
    np.testing.assert_array_equal(np.signbit(found)[found == found], np.signbit(exact)[found == found])
    for one in values:
        kept = exponent == np.float32(one)
        np.testing.assert_array_equal((rt.tensor(base[kept]) ** one).numpy(), exact[kept])


def test_bits_are_for_integers_and_bools() -> None:
    with pytest.raises(rt.DTypeError, match="bitwise_and: not defined for float32"):
        rt.bitwise_and(rt.tensor([1.0]), rt.tensor([1.0]))
    flags = rt.tensor([True, False])
    assert rt.bitwise_invert(flags).tolist() == [False, True]
    assert rt.bitwise_xor(flags, rt.tensor([True, True])).tolist() == [False, True]


def test_differences_of_what_is_joined() -> None:
    x = rt.tensor([[1, 4], [9, 16]])
    assert rt.diff(x, axis=0, prepend=rt.tensor([[0, 0]])).tolist() == [[1, 4], [8, 12]]
    assert rt.diff(rt.tensor([1, 4, 9, 16]), n=2, append=rt.tensor([25])).tolist() == [2, 2, 2]


def test_expm1_of_complex_infinities() -> None:
    got = rt.expm1(rt.tensor([complex(-inf, 1), complex(inf, 0)])).tolist()
    assert got == [-1, inf]


def test_tanh_of_complex_infinities_keeps_the_sign_of_the_angle() -> None:
    got = rt.tanh(rt.tensor([complex(inf, 2), complex(-inf, -2)])).tolist()
    assert got == [1, -1] and [math.copysign(1, z.imag) for z in got] == [1, -1]
