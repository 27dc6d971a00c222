"""Losses: their formulas, reductions, and targets that are refused."""

import math
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import nn
from perflab.runtime.nn import functional as F

A, B = rt.tensor([[1.0, 2.0], [3.0, 5.0]]), rt.tensor([[1.0, 4.0], [0.0, 5.5]])
EACH = {
    "mse_loss": (lambda r: F.mse_loss(A, B, reduction=r), [[0, 4], [9, 0.25]]),
    "l1_loss": (lambda r: F.l1_loss(A, B, reduction=r), [[0, 2], [3, 0.5]]),
    "smooth_l1_loss": (lambda r: F.smooth_l1_loss(A, B, reduction=r, beta=2.0), [[0, 1], [2, 0.0625]]),
    "huber_loss": (lambda r: F.huber_loss(A, B, reduction=r, delta=2.0), [[0, 2], [4, 0.125]]),
    "margin_ranking_loss": (
        lambda r: F.margin_ranking_loss(A, B, rt.ones(2, 2), 0.5, reduction=r),
        [[0.5, 2.5], [0, 1]],
    ),
    "cosine_embedding_loss": (
        lambda r: F.cosine_embedding_loss(
            rt.tensor([[1.0, 0.0]] * 3),
            rt.tensor([[0.0, 2.0], [3.0, 0.0], [3.0, 0.0]]),
            rt.tensor([1, 1, -1]),
            reduction=r,
        ),
        [1, 0, 1],
    ),
    "triplet_margin_loss": (
        lambda r: F.triplet_margin_loss(
            rt.zeros(2, 1), rt.tensor([[2.0], [1.0]]), rt.tensor([[1.0], [5.0]]), reduction=r
        ),
        [2, 0],
    ),
    "kl_div": (
        lambda r: F.kl_div(rt.log(rt.tensor([0.5, 0.5])), rt.tensor([0.0, 1.0]), reduction=r),
        [0, math.log(2)],
    ),
    "binary_cross_entropy": (
        lambda r: F.binary_cross_entropy(rt.tensor([0.25, 1.0, 0.0]), rt.tensor([1.0, 1.0, 1.0]), reduction=r),
        [math.log(4), 0, 100],
    ),
    "binary_cross_entropy_with_logits": (
        lambda r: F.binary_cross_entropy_with_logits(
            rt.tensor([0.0, -200.0, 200.0]),
            rt.tensor([0.5, 1.0, 0.0]),
            pos_weight=rt.tensor([1.0, 3.0, 3.0]),
            reduction=r,
        ),
        [math.log(2), 600, 200],
    ),
    "gaussian_nll_loss": (
        lambda r: F.gaussian_nll_loss(A, B, rt.tensor([1.0, 4.0]), reduction=r),
        [[0, 2], [(math.log(4) + 9 / 4) / 2, (math.log(4) + 0.0625) / 2]],
    ),
    "nll_loss": (
        lambda r: F.nll_loss(rt.tensor([[-1.0, -2.0], [-3.0, -4.0]]), rt.tensor([1, 0]), reduction=r),
        [2, 3],
    ),
}


@pytest.mark.parametrize("name", EACH)
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_values_and_reductions(name: str, reduction: str) -> None:
    call, each = EACH[name]
    wanted = np.array(each) if reduction == "none" else getattr(np, reduction)(each)
    np.testing.assert_allclose(call(reduction).numpy(), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", EACH)
def test_other_reductions_are_refused(name: str) -> None:
    with pytest.raises(rt.ArgumentError, match=rf"{name}: reduction is mean, sum or none, not 'batch'"):
        EACH[name][0]("batch")


def test_batchmean_divides_by_the_batch_alone() -> None:
    p = rt.tensor([[0.25, 0.75], [0.5, 0.5]])
    q = rt.log(rt.tensor([[0.5, 0.5], [0.5, 0.5]]))
    whole = 0.25 * math.log(0.5) + 0.75 * math.log(1.5)
    assert F.kl_div(q, p, reduction="batchmean").item() == pytest.approx(whole / 2)
    assert F.kl_div(q, p).item() == pytest.approx(whole / 4)
    assert F.kl_div(q, rt.log(p), reduction="sum", log_target=True).item() == pytest.approx(whole)


def test_weights_and_ignored_targets_shape_the_mean() -> None:

    x = rt.tensor([[0.0, 0.0], [0.0, math.log(3)], [5.0, 5.0]])
    y = rt.tensor([0, 0, -100])
    w = rt.tensor([3.0, 1.0])
    losses = [math.log(2), math.log(4), 0]
    assert F.cross_entropy(x, y, reduction="none").tolist() == pytest.approx(losses)
    assert F.cross_entropy(x, y).item() == pytest.approx(sum(losses) / 2)
    assert F.cross_entropy(x, y, w, reduction="sum").item() == pytest.approx(3 * sum(losses))
    y = rt.tensor([0, 1, -100])
    assert F.cross_entropy(x, y, w).item() == pytest.approx((3 * math.log(2) + math.log(4 / 3)) / 4)
    assert math.isnan(F.cross_entropy(x, rt.full((3,), -100)).item())
    layer, y = nn.CrossEntropyLoss(w, ignore_index=1), rt.tensor([0, 1, 1])
    assert list(layer.state_dict()) == ["weight"]
    assert layer(x, y).item() == F.cross_entropy(x[:1], y[:1]).item()


def test_smoothed_labels_are_probabilities() -> None:
    x = rt.randn(4, 3, dtype=rt.float64)
    y = np.array([2, 0, 1, 1])
    soft = 0.8 * np.eye(3)[y] + 0.2 / 3
    smooth = F.cross_entropy(x, rt.tensor(y), label_smoothing=0.2).item()
    assert smooth == pytest.approx(F.cross_entropy(x, rt.tensor(soft)).item(), rel=1e-12)
    p = np.exp(x.numpy())
    wanted = -(soft * np.log(p / p.sum(1, keepdims=True))).sum(1).mean()
    assert smooth == pytest.approx(wanted, rel=1e-12)


def test_a_wrong_certainty_costs_something_finite() -> None:
    x = rt.tensor([0.0, 1.0, 0.0, 1.0], requires_grad=True)
    loss = F.binary_cross_entropy(x, rt.tensor([1.0, 0.0, 0.0, 1.0]), reduction="sum")
    assert loss.item() == 200
    loss.backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), [-1e12, 1e12, 0, 0])


def test_distances_and_angles() -> None:
    x, y = rt.tensor([[3.0, 4.0], [0.0, 0.0]]), rt.tensor([[4.0, 3.0], [1.0, 1.0]])
    assert F.cosine_similarity(x, y).tolist() == pytest.approx([24 / 25, 0])
    assert F.normalize(x).numpy() == pytest.approx(np.array([[0.6, 0.8], [0, 0]]))
    assert F.normalize(x, p=1.0, dim=0)[:, 0].tolist() == [1, 0]
    assert F.normalize(x, p=math.inf)[0].tolist() == [0.75, 1]
    assert nn.PairwiseDistance(p=1.0, eps=0.0)(x, y).tolist() == [2, 2]
    zero = rt.zeros(1, 2, requires_grad=True)
    F.normalize(zero).sum().backward()
    assert zero.grad is not None and np.all(np.isfinite(zero.grad.numpy()))


X = rt.zeros(4, 3)
Y = rt.zeros(4, dtype=int)
REFUSED: list[tuple[Any, type[Exception], str]] = [
    (lambda: F.cross_entropy(X, rt.tensor([0, 1, 2, 3])), rt.IndexOutOfRange, "target 3 is not one of the 3 classes"),
    (
        lambda: F.cross_entropy(X, rt.tensor([0, -1, 2, 2])),
        rt.IndexOutOfRange,
        "target -1 is not one .* ignore_index, -100",
    ),
    (lambda: F.cross_entropy(X, Y, rt.ones(2)), rt.ShapeError, r"one number for each of 3 classes, not \(2,\)"),
    (lambda: F.cross_entropy(X, Y, label_smoothing=2), rt.ArgumentError, "label_smoothing is from 0 to 1, not 2"),
    (lambda: F.nll_loss(X, rt.tensor([0, 1, 2, 3])), rt.IndexOutOfRange, "targets go from 0 to 3, .* classes 0 to 2"),
    (lambda: F.nll_loss(X, rt.zeros(3, dtype=int)), rt.ShapeError, r"needs a target of shape \(4,\), not \(3,\)"),
    (lambda: F.binary_cross_entropy(X + 2, X), rt.ArgumentError, "the input goes from 2.0 to 2.0, but probabilities"),
    (lambda: F.binary_cross_entropy(X, X[0]), rt.ShapeError, r"needs a target of its shape, not \(3,\)"),
    (lambda: F.binary_cross_entropy_with_logits(X, X[0]), rt.ShapeError, r"needs a target of its shape, not \(3,\)"),
    (lambda: F.gaussian_nll_loss(X, X, X - 1), rt.ArgumentError, "a variance is not negative, but there is -1.0"),
    (lambda: F.gaussian_nll_loss(X, X, rt.ones(2)), rt.ShapeError, r"needs a variance of its shape, not \(2,\)"),
    (lambda: F.cosine_embedding_loss(X, X, Y[:2]), rt.ShapeError, r"a target \(N,\) are needed"),
    (lambda: F.smooth_l1_loss(X, X, beta=-1), rt.ArgumentError, "beta is at least 0, not -1"),
    (lambda: F.huber_loss(X, X, delta=0), rt.ArgumentError, "delta is above 0, not 0"),
]


@pytest.mark.parametrize(("call", "error", "words"), REFUSED)
def test_what_does_not_fit_is_refused_in_words(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_shapes_that_broadcast_are_warned_of() -> None:
    with pytest.warns(UserWarning, match=r"mse_loss: input \(4, 1\) and target \(4,\) are broadcast"):
        assert F.mse_loss(rt.zeros(4, 1), rt.ones(4)).item() == 1


def test_losses_with_margins() -> None:
    x = rt.tensor([[0.5, -1.0, 2.0]])
    assert nn.HingeEmbeddingLoss(reduction="none")(x, rt.tensor([[1.0, -1.0, -1.0]])).tolist() == [[0.5, 2.0, 0.0]]
    assert nn.SoftMarginLoss(reduction="sum")(rt.tensor([0.0, 1000.0]), rt.tensor([1.0, -1.0])).item() == pytest.approx(
        1000.6931
    )
    assert nn.MultiMarginLoss()(x, rt.tensor([2])).item() == 0.0
    assert nn.MultiMarginLoss(p=2, weight=rt.tensor([3.0, 1.0, 1.0]))(x, rt.tensor([0])).item() == pytest.approx(
        3 * 6.25 / 3
    )
    with pytest.raises(rt.ShapeError, match="needs a target"):
        F.multi_margin_loss(x, rt.tensor(0))


def test_poisson_nll_loss() -> None:
    rate, count = rt.tensor([2.0]), rt.tensor([3.0])
    assert nn.PoissonNLLLoss(log_input=False, eps=0.0)(rate, count).item() == pytest.approx(2 - 3 * math.log(2))
    assert nn.PoissonNLLLoss()(rate.log(), count).item() == pytest.approx(2 - 3 * math.log(2))
    stirling = 3 * math.log(3) - 3 + 0.5 * math.log(2 * math.pi * 3)
    assert nn.PoissonNLLLoss(full=True)(rate.log(), count).item() == pytest.approx(2 - 3 * math.log(2) + stirling)
