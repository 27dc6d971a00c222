"""Optimizers, learning-rate schedules, clipping and state dicts beside PyTorch's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import nn, optim

pytestmark = pytest.mark.torch


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


OPTIMIZERS: dict[str, Callable[..., Any]] = {
    "SGD": lambda o, p: o.SGD(p, 0.1, weight_decay=0.1, maximize=True),
    "SGD momentum": lambda o, p: o.SGD(p, 0.1, momentum=0.9, dampening=0.1, weight_decay=0.1),
    "SGD nesterov": lambda o, p: o.SGD(p, 0.1, momentum=0.9, nesterov=True),
    "Adam": lambda o, p: o.Adam(p, 0.1, weight_decay=0.1),
    "Adam amsgrad": lambda o, p: o.Adam(p, 0.1, (0.5, 0.6), amsgrad=True, maximize=True),
    "AdamW": lambda o, p: o.AdamW(p, 0.1, weight_decay=0.1, amsgrad=True),
    "RMSprop": lambda o, p: o.RMSprop(p, 0.1, weight_decay=0.1),
    "RMSprop all": lambda o, p: o.RMSprop(p, 0.1, alpha=0.9, momentum=0.9, centered=True, maximize=True),
    "Adagrad": lambda o, p: o.Adagrad(p, 0.1, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.1),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_agree_step_by_step(torch: Any, name: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(s).astype(dtype) for s in ((3, 5), (7,), ())]
    ours = [nn.Parameter(rt.tensor(v)) for v in values]
    theirs = [torch.nn.Parameter(torch.tensor(v)) for v in values]
    mine, reference = OPTIMIZERS[name](optim, ours), OPTIMIZERS[name](torch.optim, theirs)
    tolerance = {"rtol": 1e-12} if dtype == "float64" else {"rtol": 1e-4, "atol": 1e-5}
    for step in range(12):
        for p, q in zip(ours, theirs, strict=True):
            g = np.asarray(rng.standard_normal(p.shape), dtype)
            p.grad, q.grad = (None, None) if step == 3 and p.ndim == 1 else (rt.tensor(g), torch.tensor(g))
        mine.step()
        reference.step()
        for p, q in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), **tolerance)
    options = reference.state_dict()["param_groups"][0]
    assert {k: options[k] for k in mine.param_groups[0] if k not in ("params", "decoupled_weight_decay")} == {
        k: v for k, v in mine.state_dict()["param_groups"][0].items() if k not in ("params", "decoupled_weight_decay")
    }
    kept = reference.state[theirs[0]]
    assert set(mine.state[ours[0]]) == {key for key, value in kept.items() if value is not None}


SCHEDULES: dict[str, Callable[[Any, Any], Any]] = {
    "LambdaLR": lambda s, o: s.LambdaLR(o, [lambda e: 0.9**e, lambda e: 1 / (e + 1)]),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda e: 0.9),
    "StepLR": lambda s, o: s.StepLR(o, 3),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [2, 5, 5], gamma=0.5),
    "ConstantLR": lambda s, o: s.ConstantLR(o),
    "LinearLR": lambda s, o: s.LinearLR(o, 0.5, 0.1, 7),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.9),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, 11, 0.9),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 4, 0.01),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
    "CyclicLR": lambda s, o: s.CyclicLR(o, [0.1, 0.2], 1.0, 3, mode="triangular2"),
    "CyclicLR exp_range": lambda s, o: s.CyclicLR(o, 0.1, 1.0, 3, 5, mode="exp_range", gamma=0.95),
    "CyclicLR scale_fn": lambda s, o: s.CyclicLR(o, 0.1, 1.0, 4, scale_fn=lambda x: 1 / x),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, [1.0, 2.0], 30),
    "OneCycleLR linear": lambda s, o: s.OneCycleLR(
        o, 1.0, epochs=3, steps_per_epoch=10, three_phase=True, anneal_strategy="linear"
    ),
    "SequentialLR": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, total_iters=5), s.CosineAnnealingLR(o, 10), s.StepLR(o, 2)], [5, 15]
    ),
    "SequentialLR restarts": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 3), s.CosineAnnealingWarmRestarts(o, 4), s.ExponentialLR(o, 0.9)], [3, 12]
    ),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler(
        [s.LinearLR(o, 0.1, total_iters=4), s.CosineAnnealingLR(o, 6), s.MultiplicativeLR(o, lambda e: 0.95)]
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_agree(torch: Any, name: str) -> None:
    def groups(make: Any) -> list[dict[str, Any]]:
        return [{"params": [make()], "lr": lr} for lr in (0.5, 2.0)]

    ours = optim.SGD(groups(lambda: nn.Parameter(rt.ones(1))), momentum=0.5)
    theirs = torch.optim.SGD(groups(lambda: torch.nn.Parameter(torch.ones(1))), momentum=0.5)
    mine, reference = SCHEDULES[name](optim.lr_scheduler, ours), SCHEDULES[name](torch.optim.lr_scheduler, theirs)
    for _ in range(28):
        for key in ("lr", "momentum"):
            np.testing.assert_allclose(
                [g[key] for g in ours.param_groups], [g[key] for g in theirs.param_groups], rtol=1e-9, atol=1e-12
            )
        np.testing.assert_allclose(mine.get_last_lr(), reference.get_last_lr(), rtol=1e-9, atol=1e-12)
        for step in (ours, theirs, mine, reference):
            step.step()


@pytest.mark.parametrize("options", [{}, {"cooldown": 2}, {"mode": "max"}, {"threshold_mode": "abs", "threshold": 0.1}])
def test_plateaus_agree(torch: Any, options: dict[str, Any]) -> None:
    ours = optim.SGD([nn.Parameter(rt.ones(1))], 1.0)
    theirs = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], 1.0)
    mine = optim.lr_scheduler.ReduceLROnPlateau(ours, patience=1, min_lr=1e-3, **options)
    reference = torch.optim.lr_scheduler.ReduceLROnPlateau(theirs, patience=1, min_lr=1e-3, **options)
    for value in np.random.default_rng(0).uniform(-1, 1, 40):
        mine.step(value)
        reference.step(value)
        assert ours.param_groups[0]["lr"] == theirs.param_groups[0]["lr"]


@pytest.mark.parametrize("order", [1.0, 2.0, 3.5, float("inf")])
def test_clipping_agrees(torch: Any, order: float) -> None:
    rng = np.random.default_rng(0)
    gradients = [rng.standard_normal(s).astype(np.float32) for s in ((3, 4), (5,))]
    ours = [nn.Parameter(rt.zeros(g.shape)) for g in gradients]
    theirs = [torch.nn.Parameter(torch.zeros(g.shape)) for g in gradients]
    for p, q, g in zip(ours, theirs, gradients, strict=True):
        p.grad, q.grad = rt.tensor(g), torch.tensor(g)
    norm = nn.utils.clip_grad_norm_(ours, 0.5, order)
    assert norm.item() == pytest.approx(torch.nn.utils.clip_grad_norm_(theirs, 0.5, order).item(), rel=1e-6)
    for p, q in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-5)  # type: ignore[union-attr]


def test_initial_values_have_the_reference_s_spread(torch: Any) -> None:
    for name, options in (
        ("xavier_uniform_", {"gain": 2.0}),
        ("xavier_normal_", {}),
        ("kaiming_uniform_", {"mode": "fan_out", "nonlinearity": "relu"}),
        ("kaiming_normal_", {"a": 0.3}),
        ("trunc_normal_", {"std": 0.5, "a": -0.4, "b": 1.0}),
        ("orthogonal_", {"gain": 3.0}),
    ):
        mine = getattr(nn.init, name)(rt.empty(40, 30, 5), **options).numpy()
        reference = getattr(torch.nn.init, name)(torch.empty(40, 30, 5), **options).numpy()
        assert mine.std() == pytest.approx(reference.std(), rel=0.06), name
        assert mine.min() == pytest.approx(reference.min(), rel=0.35), name
    for name in ("linear", "conv2d", "sigmoid", "tanh", "relu", "selu"):
        assert nn.init.calculate_gain(name) == torch.nn.init.calculate_gain(name)
