"""Clipping gradients, and parameters as a vector."""

import math

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import nn


def parameters() -> list[nn.Parameter]:
    made = [nn.Parameter(rt.zeros(2)), nn.Parameter(rt.zeros(())), nn.Parameter(rt.zeros(3))]
    made[0].grad, made[1].grad = rt.tensor([3.0, 0.0]), rt.tensor(-4.0)
    return made


@pytest.mark.parametrize(("order", "norm"), [(2.0, 5.0), (1.0, 7.0), (math.inf, 4.0), (3.0, 91 ** (1 / 3))])
def test_gradients_are_scaled_to_a_norm(order: float, norm: float) -> None:
    held = parameters()
    assert nn.utils.clip_grad_norm_(held, 1.0, order).item() == pytest.approx(norm)
    assert held[0].grad is not None and held[1].grad is not None and held[2].grad is None
    np.testing.assert_allclose(held[0].grad.numpy(), [3 / norm, 0], rtol=1e-5)
    assert held[1].grad.item() == pytest.approx(-4 / norm, rel=1e-5)
    assert nn.utils.clip_grad_norm_(iter(held), 100.0, order).item() == pytest.approx(1, rel=1e-5)
    assert held[1].grad.item() == pytest.approx(-4 / norm, rel=1e-5)


def test_a_norm_that_is_not_finite() -> None:
    held = parameters()
    held[1].grad = rt.tensor(float("nan"))
    with pytest.raises(rt.AutogradError, match=r"the total norm of order 2.0 is nan"):
        nn.utils.clip_grad_norm_(held, 1.0, error_if_nonfinite=True)
    assert math.isnan(nn.utils.clip_grad_norm_(held, 1.0).item())
    assert nn.utils.clip_grad_norm_([nn.Parameter(rt.zeros(1))], 1.0).item() == 0
    with pytest.raises(rt.ArgumentError, match="norm_type is a number above 0 or inf, not 0"):
        nn.utils.clip_grad_norm_(held, 1.0, 0)


def test_gradients_are_cut_by_value() -> None:
    held = parameters()
    nn.utils.clip_grad_value_(held, 2.5)
    assert held[0].grad is not None and held[1].grad is not None
    assert held[0].grad.tolist() == [2.5, 0] and held[1].grad.item() == -2.5
    nn.utils.clip_grad_value_(held[1], 1)
    assert held[1].grad.item() == -1


def test_parameters_become_a_vector_and_back() -> None:
    held = [nn.Parameter(rt.tensor([[1.0, 2.0]])), nn.Parameter(rt.tensor(3.0))]
    vector = nn.utils.parameters_to_vector(held)
    assert vector.tolist() == [1, 2, 3]
    (vector * rt.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert held[0].grad is not None and held[0].grad.tolist() == [[1, 10]]
    nn.utils.vector_to_parameters(rt.tensor([4.0, 5.0, 6.0]), held)
    assert held[0].tolist() == [[4, 5]] and held[1].item() == 6 and held[0].is_leaf
    with pytest.raises(rt.ShapeError, match=r"3 elements are wanted, the vector has shape \(2,\)"):
        nn.utils.vector_to_parameters(rt.ones(2), held)
