"""Activations: values that their formulas give, and what `inplace` does."""

import math

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import nn
from perflab.runtime.nn import functional as F

X = np.array([-7.0, -1.0, -0.25, 0.0, 0.25, 1.0, 7.0])
NORMAL = np.array([0.5 * (1 + math.erf(x / math.sqrt(2))) for x in X])
SOFT = np.log1p(np.exp(X))
SIGMOID = 1 / (1 + np.exp(-X))
VALUES = {
    "relu": (nn.ReLU(), np.maximum(X, 0)),
    "relu6": (nn.ReLU6(), np.clip(X, 0, 6)),
    "hardtanh": (nn.Hardtanh(-0.5, 2.0), np.clip(X, -0.5, 2)),
    "leaky_relu": (nn.LeakyReLU(0.1), np.where(X > 0, X, 0.1 * X)),
    "elu": (nn.ELU(2.0), np.where(X > 0, X, 2 * np.expm1(X))),
    "selu": (nn.SELU(), 1.0507009873554805 * np.where(X > 0, X, 1.6732632423543772 * np.expm1(X))),
    "celu": (nn.CELU(0.5), np.where(X > 0, X, 0.5 * np.expm1(X / 0.5))),
    "gelu": (nn.GELU(), X * NORMAL),
    "gelu tanh": (
        nn.GELU("tanh"),
        0.5 * X * (1 + np.tanh(math.sqrt(2 / math.pi) * (X + 0.044715 * X**3))),
    ),
    "silu": (nn.SiLU(), X * SIGMOID),
    "mish": (nn.Mish(), X * np.tanh(SOFT)),
    "softplus": (nn.Softplus(), SOFT),
    "softplus of a threshold": (nn.Softplus(2.0, 1.0), np.where(2 * X > 1, X, np.log1p(np.exp(2 * X)) / 2)),
    "hardsigmoid": (nn.Hardsigmoid(), np.clip(X / 6 + 0.5, 0, 1)),
    "hardswish": (nn.Hardswish(), X * np.clip(X / 6 + 0.5, 0, 1)),
    "logsigmoid": (nn.LogSigmoid(), np.log(SIGMOID)),
    "sigmoid": (nn.Sigmoid(), SIGMOID),
    "tanh": (nn.Tanh(), np.tanh(X)),
    "softsign": (nn.Softsign(), X / (1 + np.abs(X))),
    "tanhshrink": (nn.Tanhshrink(), X - np.tanh(X)),
    "hardshrink": (nn.Hardshrink(), np.where(np.abs(X) > 0.5, X, 0)),
    "softshrink": (nn.Softshrink(), np.sign(X) * np.maximum(np.abs(X) - 0.5, 0)),
    "threshold": (nn.Threshold(0.1, -3.0), np.where(X > 0.1, X, -3)),
    "prelu": (nn.PReLU(dtype=rt.float64), np.where(X > 0, X, 0.25 * X)),
    "softmax": (nn.Softmax(0), np.exp(X) / np.exp(X).sum()),
    "log_softmax": (nn.LogSoftmax(0), X - np.log(np.exp(X).sum())),
    "softmin": (nn.Softmin(0), np.exp(-X) / np.exp(-X).sum()),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_of_the_formulas(name: str) -> None:
    layer, wanted = VALUES[name]
    np.testing.assert_allclose(layer(rt.tensor(X)).detach().numpy(), wanted, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("function", [F.relu, F.relu6, F.selu, F.silu, F.mish, F.elu, F.leaky_relu, F.hardswish])
def test_in_place_writes_into_the_input_and_keeps_its_history(function: object) -> None:
    assert callable(function)
    leaf = rt.tensor(X, requires_grad=True)
    moved = leaf * 1.0
    out = function(moved, inplace=True)
    assert out.data_ptr() == moved.data_ptr()
    assert moved.tolist() == function(leaf).tolist()
    (out * rt.tensor(X)).sum().backward()
    other = rt.tensor(X, requires_grad=True)
    (function(other) * rt.tensor(X)).sum().backward()
    assert leaf.grad is not None and other.grad is not None
    assert leaf.grad.tolist() == other.grad.tolist()


def test_gradients_at_the_bends() -> None:
    x = rt.tensor([-1.0, 0.0, 1.0], requires_grad=True)
    (F.hardtanh(x) + F.relu(x) + F.leaky_relu(x, 0.5)).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [0.5, 1.5, 2.0]


def test_far_from_zero_nothing_overflows() -> None:
    x = rt.tensor([-1000.0, 1000.0], requires_grad=True)
    for function, wanted in ((F.softplus, [0, 1000]), (F.elu, [-1, 1000]), (F.logsigmoid, [-1000, 0])):
        x.grad = None
        out = function(x)
        assert out.tolist() == wanted
        out.sum().backward()
        assert x.grad is not None and np.all(np.isfinite(x.grad.numpy()))


def test_halves_and_channels_that_do_not_fit() -> None:
    assert F.glu(rt.tensor([[1.0, 2.0, 0.0, 0.0]])).tolist() == [[0.5, 1.0]]
    with pytest.raises(rt.ShapeError, match="axis 1 is divided in two, but has size 3"):
        F.glu(rt.zeros(2, 3), 1)
    with pytest.raises(rt.ShapeError, match=r"one number or one for each of 3 channels, not \(2,\)"):
        F.prelu(rt.zeros(2, 3), rt.zeros(2))
    with pytest.raises(rt.ArgumentError, match="approximate is none or tanh, not 'erf'"):
        F.gelu(rt.zeros(1), "erf")
    with pytest.raises(rt.ArgumentError, match="min_val 2 is above max_val 1"):
        F.hardtanh(rt.zeros(1), 2, 1)
    with pytest.raises(rt.ArgumentError, match="lambd is at least 0, not -1"):
        F.softshrink(rt.zeros(1), -1)


def test_a_gumbel_softmax_chooses_with_the_probabilities_of_a_softmax() -> None:
    rt.manual_seed(0)
    p = np.array([0.1, 0.2, 0.7])
    logits = rt.tensor(np.tile(np.log(p), (4000, 1)), requires_grad=True)
    hard = F.gumbel_softmax(logits, hard=True)
    chosen = hard.detach().numpy()
    np.testing.assert_allclose(chosen.sum(1), 1, rtol=1e-12)
    assert set(np.unique(np.round(chosen, 12))) == {0.0, 1.0}
    np.testing.assert_allclose(chosen.mean(0), p, atol=0.03)
    (hard * rt.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert logits.grad is not None and np.any(logits.grad.numpy() != 0)
    soft = F.gumbel_softmax(logits.detach(), tau=0.5)
    np.testing.assert_allclose(soft.numpy().sum(1), 1, rtol=1e-12)
    assert soft.numpy().max() < 1


def test_their_options_are_shown() -> None:
    shown = nn.Sequential(nn.ReLU(inplace=True), nn.LeakyReLU(), nn.GELU("tanh"), nn.PReLU(3), nn.Softmax(1), nn.Tanh())
    assert [repr(layer) for layer in shown] == [
        "ReLU(inplace=True)",
        "LeakyReLU(negative_slope=0.01)",
        "GELU(approximate='tanh')",
        "PReLU(num_parameters=3)",
        "Softmax(dim=1)",
        "Tanh()",
    ]
