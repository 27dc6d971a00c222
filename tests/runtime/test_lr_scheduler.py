"""Schedules of learning rates against their closed forms."""

import copy
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import nn, optim
from perflab.runtime.optim import lr_scheduler as S

EPOCHS = 25


def optimizer(*lrs: float, kind: Any = optim.SGD, **options: Any) -> optim.Optimizer:
    return kind([{"params": [nn.Parameter(rt.ones(1))], "lr": lr} for lr in lrs or (1.0,)], **options)  # type: ignore[no-any-return]


def rates(scheduler: S.LRScheduler, epochs: int = EPOCHS) -> list[float]:
    """The first group's learning rate in each epoch."""
    found = []
    for _ in range(epochs):
        found.append(scheduler.optimizer.param_groups[0]["lr"])
        assert scheduler.get_last_lr()[0] == found[-1]
        scheduler.optimizer.step()
        scheduler.step()
    return found


def cosine(epoch: float, period: float, low: float = 0.0) -> float:
    return low + (1 - low) * (1 + math.cos(math.pi * epoch / period)) / 2


def restarts(epoch: int) -> float:
    start, length = 0, 3
    while epoch >= start + length:
        start, length = start + length, length * 2
    return cosine(epoch - start, length, 0.1)


def triangle(epoch: int) -> float:
    at = epoch % 6
    return 0.5 + 1.5 * (at / 4 if at <= 4 else (6 - at) / 2)


def one_cycle(step: int) -> float:  # 25 steps, 10 of them upwards: the top lies at 9
    if step <= 9:
        return 2 + (0.2 - 2) * (1 + math.cos(math.pi * step / 9)) / 2
    return 0.02 + (2 - 0.02) * (1 + math.cos(math.pi * (step - 9) / 15)) / 2


SCHEDULES: dict[str, tuple[Callable[[Any], S.LRScheduler], Callable[[int], float]]] = {
    "LambdaLR": (lambda o: S.LambdaLR(o, lambda e: 1 / (1 + e)), lambda e: 1 / (1 + e)),
    "MultiplicativeLR": (lambda o: S.MultiplicativeLR(o, lambda e: 0.9), lambda e: 0.9**e),
    "StepLR": (lambda o: S.StepLR(o, 4, 0.5), lambda e: 0.5 ** (e // 4)),
    "MultiStepLR": (lambda o: S.MultiStepLR(o, [5, 2, 5]), lambda e: 0.1 ** ((e >= 2) + 2 * (e >= 5))),
    "ConstantLR": (lambda o: S.ConstantLR(o, 0.25, 4), lambda e: 0.25 if e < 4 else 1),
    "LinearLR": (lambda o: S.LinearLR(o, 0.25, 0.75, 4), lambda e: 0.25 + 0.5 * min(e, 4) / 4),
    "ExponentialLR": (lambda o: S.ExponentialLR(o, 0.9), lambda e: 0.9**e),
    "PolynomialLR": (lambda o: S.PolynomialLR(o, 10, 2.0), lambda e: (1 - min(e, 10) / 10) ** 2),
    "CosineAnnealingLR": (lambda o: S.CosineAnnealingLR(o, 5, 0.1), lambda e: cosine(e, 5, 0.1)),
    "CosineAnnealingWarmRestarts": (lambda o: S.CosineAnnealingWarmRestarts(o, 3, 2, 0.1), restarts),
    "CyclicLR": (lambda o: S.CyclicLR(o, 0.5, 2.0, 4, 2, cycle_momentum=False), triangle),
    "CyclicLR triangular2": (
        lambda o: S.CyclicLR(o, 0.5, 2.0, 4, 2, "triangular2", cycle_momentum=False),
        lambda e: 0.5 + (triangle(e) - 0.5) / 2 ** (e // 6),
    ),
    "CyclicLR exp_range": (
        lambda o: S.CyclicLR(o, 0.5, 2.0, 4, 2, "exp_range", 0.9, cycle_momentum=False),
        lambda e: 0.5 + (triangle(e) - 0.5) * 0.9**e,
    ),
    "OneCycleLR": (
        lambda o: S.OneCycleLR(o, 2.0, EPOCHS, pct_start=0.4, div_factor=10, final_div_factor=10, cycle_momentum=False),
        one_cycle,
    ),
    "SequentialLR": (
        lambda o: S.SequentialLR(o, [S.LinearLR(o, 0.5, 1.0, 4), S.ExponentialLR(o, 0.9)], [4]),
        lambda e: 0.5 + 0.5 * e / 4 if e < 4 else 0.9 ** (e - 4),
    ),
    "ChainedScheduler": (
        lambda o: S.ChainedScheduler([S.ConstantLR(o, 0.1, 4), S.ExponentialLR(o, 0.9)]),
        lambda e: (0.1 if e < 4 else 1) * 0.9**e,
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_follow_their_closed_forms(name: str) -> None:
    make, closed = SCHEDULES[name]
    np.testing.assert_allclose(rates(make(optimizer())), [closed(e) for e in range(EPOCHS)], rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_go_on_from_their_state(name: str) -> None:
    make, closed = SCHEDULES[name]
    first = make(optimizer())
    rates(first, 7)
    second = make(optimizer())
    second.optimizer.load_state_dict(first.optimizer.state_dict())
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    second.optimizer.step()
    np.testing.assert_allclose(rates(second, 18), [closed(e) for e in range(7, 25)], rtol=1e-10, atol=1e-14)


def test_groups_have_their_own_rates() -> None:
    o = optimizer(1.0, 4.0)
    scheduler = S.LambdaLR(o, [lambda e: 1, lambda e: 0.5**e])
    rates(scheduler, 2)
    assert scheduler.get_last_lr() == [1, 1]
    with pytest.raises(rt.ArgumentError, match="lr_lambda has 1 items for 2 groups"):
        S.LambdaLR(o, [lambda e: 1])
    assert [g["lr"] for g in S.StepLR(optimizer(1.0, 4.0), 1).optimizer.param_groups] == [1, 4]


def test_training_goes_on_at_a_later_epoch() -> None:
    o = optimizer()
    o.param_groups[0].update(initial_lr=1.0, lr=0.25)
    scheduler = S.StepLR(o, 2, 0.5, last_epoch=3)
    assert rates(scheduler, 4) == [0.25, 0.25, 0.125, 0.125]
    with pytest.raises(rt.StateError, match="group 0 has no initial_lr, which last_epoch=3 needs"):
        S.StepLR(optimizer(), 2, last_epoch=3)


def test_cycles_move_the_momentum_against_the_rate() -> None:
    o = optimizer(momentum=0.9)
    scheduler: S.LRScheduler = S.OneCycleLR(o, 1.0, 11, pct_start=0.5, anneal_strategy="linear", max_momentum=0.95)
    seen = []
    for _ in range(11):
        seen.append(o.param_groups[0]["momentum"])
        o.step()
        scheduler.step()
    top = 4.5
    wanted = [0.95 - 0.1 * (e / top if e <= top else (10 - e) / (10 - top)) for e in range(11)]
    np.testing.assert_allclose(seen, wanted)
    with pytest.raises(rt.ArgumentError, match="step 12 of 11: the schedule has ended"):
        scheduler.step()
    o = optimizer(kind=optim.Adam)
    S.CyclicLR(o, 0.1, 1.0, 2, base_momentum=0.8, max_momentum=0.9)
    assert o.param_groups[0]["betas"] == (0.9, 0.999)
    with pytest.raises(rt.ArgumentError, match="CyclicLR: Adagrad has no momentum: give cycle_momentum=False"):
        S.CyclicLR(optimizer(kind=optim.Adagrad), 0.1, 1.0)


def test_three_phases() -> None:
    o = optimizer()
    scheduler = S.OneCycleLR(
        o, 1.0, 20, pct_start=0.25, anneal_strategy="linear", three_phase=True, cycle_momentum=False,
        div_factor=10, final_div_factor=10,
    )  # fmt: skip
    found = rates(scheduler, 20)
    np.testing.assert_allclose([found[0], found[4], found[8], found[19]], [0.1, 1.0, 0.1, 0.01])


def test_warm_restarts_go_to_fractions_of_an_epoch() -> None:
    o = optimizer()
    scheduler = S.CosineAnnealingWarmRestarts(o, 3, 2, 0.1)
    for epoch in (0.5, 2.9, 3.0, 4.5, 9.25, 1.0):
        scheduler.step(epoch)
        start, length = (0, 3) if epoch < 3 else (3, 6) if epoch < 9 else (9, 12)
        assert o.param_groups[0]["lr"] == pytest.approx(cosine(epoch - start, length, 0.1))
    plain = S.CosineAnnealingWarmRestarts(optimizer(), 4)
    plain.step(9.0)
    assert plain.get_last_lr()[0] == pytest.approx(cosine(1, 4))


@pytest.mark.parametrize(
    ("options", "values", "wanted"),
    [
        ({"patience": 1}, [3, 2, 2, 2, 2, 2], [1, 1, 1, 0.1, 0.1, 0.01]),
        ({"patience": 0, "cooldown": 2}, [1, 1, 1, 1, 1], [1, 0.1, 0.1, 0.1, 0.01]),
        ({"patience": 0, "mode": "max"}, [1, 2, 1, 3], [1, 1, 0.1, 0.1]),
        ({"patience": 0, "threshold": 0.5, "threshold_mode": "abs"}, [3, 2.6, 2.4], [1, 0.1, 0.1]),
        ({"patience": 0, "threshold": 0.5, "mode": "max"}, [2, 2.9, 3.1], [1, 0.1, 0.1]),
        ({"patience": 0, "min_lr": 0.05}, [1, 1, 1, 1], [1, 0.1, 0.05, 0.05]),
    ],
)
def test_a_plateau_lowers_the_rate(options: dict[str, Any], values: list[float], wanted: list[float]) -> None:
    scheduler = S.ReduceLROnPlateau(optimizer(), **options)
    found = []
    for value in values:
        scheduler.step(rt.tensor(float(value)))
        found += scheduler.get_last_lr()
    np.testing.assert_allclose(found, wanted)


def test_a_step_before_the_optimizer_s_is_warned_of() -> None:
    scheduler = S.StepLR(optimizer(), 1)
    with pytest.warns(UserWarning, match=r"StepLR.step\(\) came before the optimizer's step\(\)"):
        scheduler.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scheduler.step()


def test_what_does_not_fit_is_refused() -> None:
    o, other = optimizer(), optimizer()
    plateau = S.ReduceLROnPlateau(o)
    for error, message, make in (
        (TypeError, "StepLR takes an Optimizer, not int", lambda: S.StepLR(3, 1)),  # type: ignore[arg-type]
        (TypeError, "lr_lambda is a function, not int", lambda: S.LambdaLR(o, 3)),
        (rt.ArgumentError, "step_size must be at least 1", lambda: S.StepLR(o, 0)),
        (rt.ArgumentError, "factor must be above 0 and at most 1", lambda: S.ConstantLR(o, 2.0)),
        (rt.ArgumentError, "start_factor must be above 0", lambda: S.LinearLR(o, 0.0)),
        (rt.ArgumentError, "end_factor must lie between", lambda: S.LinearLR(o, 0.5, 2.0)),
        (rt.ArgumentError, "T_max must be at least 1", lambda: S.CosineAnnealingLR(o, 0)),
        (rt.ArgumentError, "T_0 is an int of at least 1, not 1.5", lambda: S.CosineAnnealingWarmRestarts(o, 1.5)),  # type: ignore[arg-type]
        (rt.ArgumentError, "mode is triangular, triangular2 or exp_range", lambda: S.CyclicLR(o, 0, 1, mode="saw")),
        (rt.ArgumentError, "give total_steps, or epochs and steps_per_epoch", lambda: S.OneCycleLR(o, 1.0, epochs=3)),
        (rt.ArgumentError, "pct_start must lie between 0 and 1", lambda: S.OneCycleLR(o, 1.0, 10, pct_start=2.0)),
        (rt.ArgumentError, "anneal_strategy is cos or linear", lambda: S.OneCycleLR(o, 1.0, 10, anneal_strategy="x")),
        (rt.ArgumentError, "factor must be below 1", lambda: S.ReduceLROnPlateau(o, factor=1.0)),
        (rt.ArgumentError, "mode is min or max", lambda: S.ReduceLROnPlateau(o, "least")),
        (rt.ArgumentError, "threshold_mode is rel or abs", lambda: S.ReduceLROnPlateau(o, threshold_mode="x")),
        (rt.ArgumentError, "there are no schedulers", lambda: S.ChainedScheduler([])),
        (rt.ArgumentError, "a ReduceLROnPlateau, whose step takes a value", lambda: S.ChainedScheduler([plateau])),
        (rt.ArgumentError, "belongs to another optimizer", lambda: S.SequentialLR(o, [S.StepLR(other, 1)], [])),
        (
            rt.ArgumentError,
            "1 schedulers need a milestone fewer, not 1",
            lambda: S.SequentialLR(o, [S.StepLR(o, 1)], [3]),
        ),
    ):
        with pytest.raises(error, match=message):
            make()
