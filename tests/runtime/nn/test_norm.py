"""Normalisation: what has mean 0 and variance 1, and how running statistics move."""

from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import nn
from perflab.runtime.nn import functional as F

X = np.random.default_rng(0).normal(3, 2, (6, 4, 5, 3))


@pytest.mark.parametrize(
    ("layer", "axes"),
    [
        (nn.LayerNorm((5, 3), eps=0.0, dtype=rt.float64), (2, 3)),
        (nn.InstanceNorm2d(4, eps=0.0, dtype=rt.float64), (2, 3)),
        (nn.BatchNorm2d(4, eps=0.0, dtype=rt.float64), (0, 2, 3)),
        (nn.GroupNorm(1, 4, eps=0.0, dtype=rt.float64), (1, 2, 3)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
def test_mean_0_and_variance_1(layer: nn.Module, axes: tuple[int, ...]) -> None:
    out = layer(rt.tensor(X)).detach().numpy()
    np.testing.assert_allclose(out.mean(axes), 0, atol=1e-12)
    np.testing.assert_allclose(out.var(axes), 1, rtol=1e-12)


def test_the_mean_square_of_an_rms_norm_is_1() -> None:
    out = nn.RMSNorm(3, eps=0.0, dtype=rt.float64)(rt.tensor(X)).detach().numpy()
    np.testing.assert_allclose((out**2).mean(-1), 1, rtol=1e-12)
    small = F.rms_norm(rt.full((2,), 1e-4), 2)
    np.testing.assert_allclose(small.numpy(), 1e-4 / np.sqrt(1e-8 + np.finfo(np.float32).eps), rtol=1e-5)


def test_weight_and_bias_scale_and_shift_channels() -> None:
    w, b = rt.tensor([2.0, -1.0, 0.0, 1.0]), rt.tensor([0.0, 1.0, 5.0, 0.0])
    x = rt.tensor(X.astype(np.float32))
    plain = F.group_norm(x, 2).numpy()
    out = F.group_norm(x, 2, w, b).numpy()
    np.testing.assert_allclose(out[:, 1], 1 - plain[:, 1], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(out[:, 2], 5)


def test_running_statistics_follow_the_batches() -> None:
    layer = nn.BatchNorm2d(4, momentum=0.25, dtype=rt.float64)
    layer(rt.tensor(X))
    axes = (0, 2, 3)
    np.testing.assert_allclose(layer.running_mean.numpy(), 0.25 * X.mean(axes), rtol=1e-12)
    np.testing.assert_allclose(layer.running_var.numpy(), 0.75 + 0.25 * X.var(axes, ddof=1), rtol=1e-12)
    assert layer.num_batches_tracked.item() == 1
    layer.eval()
    out = layer(rt.tensor(X))
    mean, var = (s.numpy()[:, None, None] for s in (layer.running_mean, layer.running_var))
    np.testing.assert_allclose(out.detach().numpy(), (X - mean) / np.sqrt(var + 1e-5), rtol=1e-10)
    assert layer.num_batches_tracked.item() == 1
    layer.reset_running_stats()
    assert layer.running_mean.tolist() == [0] * 4 and layer.running_var.tolist() == [1] * 4


def test_without_momentum_they_are_the_mean_of_all_batches() -> None:
    layer = nn.BatchNorm1d(4, momentum=None, dtype=rt.float64)
    batches = np.random.default_rng(1).normal(size=(3, 5, 4))
    for batch in batches:
        layer(rt.tensor(batch))
    np.testing.assert_allclose(layer.running_mean.numpy(), batches.mean((0, 1)), rtol=1e-12)
    np.testing.assert_allclose(layer.running_var.numpy(), batches.var(1, ddof=1).mean(0), rtol=1e-12)


def test_untracked_statistics_are_the_batch_s_always() -> None:
    layer = nn.BatchNorm1d(4, track_running_stats=False).eval()
    assert list(layer.state_dict()) == ["weight", "bias"] and layer.running_mean is None
    out = layer(rt.randn(50, 4)).detach().numpy()
    np.testing.assert_allclose(out.mean(0), 0, atol=1e-6)


def test_the_state_has_pytorch_s_names() -> None:
    names = ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"]
    assert list(nn.BatchNorm2d(3).state_dict()) == names
    assert list(nn.InstanceNorm1d(3).state_dict()) == []
    assert list(nn.InstanceNorm1d(3, affine=True, track_running_stats=True).state_dict()) == names


def test_gradients_of_a_normalisation_are_orthogonal_to_it() -> None:
    """Shifting or stretching a row changes nothing, so its gradient has sum 0, and 0 along the row."""
    x = rt.tensor(X, requires_grad=True)
    weights = np.random.default_rng(2).normal(size=X.shape)
    (F.layer_norm(x, 3, eps=0.0) * rt.tensor(weights)).sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy().sum(-1), 0, atol=1e-10)
    np.testing.assert_allclose((x.grad.numpy() * X).sum(-1), 0, atol=1e-9)


CALLS: list[tuple[Any, type[Exception], str]] = [
    (lambda: F.layer_norm(rt.zeros(2, 3), 2), rt.ShapeError, r"\(2,\) is not for the last axes of \(2, 3\)"),
    (lambda: F.layer_norm(rt.zeros(2, 3), 3, rt.ones(2)), rt.ShapeError, r"weight has shape \(2,\), but \(3,\)"),
    (lambda: F.group_norm(rt.zeros(2, 3), 2), rt.ShapeError, r"2 groups do not divide the channels of \(2, 3\)"),
    (lambda: nn.GroupNorm(2, 3), rt.ArgumentError, "2 groups do not divide 3 channels"),
    (lambda: nn.BatchNorm1d(3)(rt.zeros(1, 3)), rt.ShapeError, "more than one value in each channel"),
    (lambda: nn.BatchNorm2d(3)(rt.zeros(2, 3)), rt.ShapeError, r"BatchNorm2d: the input has 4 axes, not \(2, 3\)"),
    (lambda: nn.BatchNorm1d(3)(rt.zeros(2, 4)), rt.ShapeError, r"running_mean has shape \(3,\), but \(4,\) is needed"),
    (lambda: F.batch_norm(rt.zeros(2, 3), None, None), rt.ArgumentError, "give running_mean and running_var both"),
    (lambda: nn.InstanceNorm1d(3)(rt.zeros(2, 3, 1)), rt.ShapeError, "more than one value in each channel"),
]


@pytest.mark.parametrize(("call", "error", "words"), CALLS)
def test_what_does_not_fit_is_refused_in_words(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()
