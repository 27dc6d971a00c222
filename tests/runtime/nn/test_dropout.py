"""Dropout: how often, how much, what the gradient sees, and that eval() ends it."""

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import nn
from perflab.runtime.nn import functional as F


def test_elements_are_zero_with_probability_p_and_the_mean_stays() -> None:
    rt.manual_seed(0)
    out = F.dropout(rt.ones(200, 200), 0.3).numpy()
    assert set(np.unique(out)) == {0.0, np.float32(1 / 0.7)}
    assert (out == 0).mean() == pytest.approx(0.3, abs=0.01)
    assert out.mean() == pytest.approx(1, abs=0.02)


def test_the_gradient_passes_where_the_elements_did() -> None:
    x = rt.randn(50, requires_grad=True)
    out = F.dropout(x, 0.5)
    out.sum().backward()
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy() != 0, out.detach().numpy() != 0)


def test_the_same_seed_drops_the_same() -> None:
    rt.manual_seed(3)
    first = F.dropout(rt.ones(100)).tolist()
    assert F.dropout(rt.ones(100)).tolist() != first
    rt.manual_seed(3)
    assert F.dropout(rt.ones(100)).tolist() == first


def test_nothing_happens_after_eval() -> None:
    x = rt.randn(2, 3, 4)
    for layer in (nn.Dropout(0.9), nn.Dropout1d(0.9), nn.Dropout2d(0.9), nn.AlphaDropout(0.9)):
        assert layer.eval()(x) is x
        assert layer.train()(x).tolist() != x.tolist()
    assert F.dropout(x, 0.0) is x
    assert np.all(F.dropout(x, 1.0).numpy() == 0)


def test_whole_channels() -> None:
    rt.manual_seed(0)
    for out in (F.dropout2d(rt.ones(40, 50, 2, 3)), F.dropout1d(rt.ones(40, 50, 6))):
        flat = out.numpy().reshape(40, 50, 6)
        assert np.all(flat == flat[..., :1])
        assert (flat[..., 0] == 0).mean() == pytest.approx(0.5, abs=0.05)
    assert F.dropout1d(rt.ones(50, 6)).shape == (50, 6)
    with pytest.raises(rt.ShapeError, match=r"dropout2d: the input has 3 or 4 axes, not \(2, 2\)"):
        F.dropout2d(rt.ones(2, 2))


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    rt.manual_seed(0)
    out = F.alpha_dropout(rt.randn(300, 300), 0.4, training=True).numpy()
    assert out.mean() == pytest.approx(0, abs=0.02)
    assert out.var() == pytest.approx(1, abs=0.03)


def test_in_place() -> None:
    x = rt.ones(100)
    out = F.dropout(x, inplace=True)
    assert out.data_ptr() == x.data_ptr() and 0.0 in x.tolist()


def test_a_p_that_is_no_probability_is_refused() -> None:
    with pytest.raises(rt.ArgumentError, match="dropout: p is a probability, from 0 to 1, not 1"):
        F.dropout(rt.ones(1), 1.5)
    with pytest.raises(rt.ArgumentError, match="Dropout2d: p is a probability"):
        nn.Dropout2d(-0.1)
    assert repr(nn.Dropout(0.1)) == "Dropout(p=0.1, inplace=False)"
