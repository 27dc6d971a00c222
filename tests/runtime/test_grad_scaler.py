"""GradScaler: steps that are scaled, left out, and adapted to."""

import pytest

from perflab import runtime as rt
from perflab.runtime import nn, optim
from perflab.runtime.amp import GradScaler


def start(**options: float) -> tuple[nn.Parameter, optim.SGD, GradScaler]:
    p = nn.Parameter(rt.tensor([1.0, 2.0]))
    return p, optim.SGD([p], lr=1.0), GradScaler(init_scale=8.0, **options)  # type: ignore[arg-type]


def test_a_scaled_step_is_the_plain_one() -> None:
    p, optimizer, scaler = start(growth_interval=2)
    for scale in (8, 8, 16):
        assert scaler.get_scale() == scale
        optimizer.zero_grad()
        loss = scaler.scale((p * 0.25).sum())
        loss.backward()
        assert p.grad is not None and p.grad.tolist() == [scale / 4] * 2
        scaler.step(optimizer)
        assert p.grad.tolist() == [0.25, 0.25]
        scaler.update()
    assert p.tolist() == [0.25, 1.25]
    first, second = scaler.scale([rt.tensor(1.0), rt.tensor(2.0)])
    assert (first.item(), second.item()) == (16, 32)


@pytest.mark.parametrize("poison", [float("inf"), float("nan"), -float("inf")])
def test_a_step_that_overflowed_is_left_out(poison: float) -> None:
    p, optimizer, scaler = start()
    p.grad = rt.tensor([1.0, poison])
    assert scaler.step(optimizer) is None
    scaler.update()
    assert p.tolist() == [1, 2] and scaler.get_scale() == 4
    p.grad = rt.tensor([4.0, 8.0])
    scaler.step(optimizer)
    assert p.tolist() == [0, 0]


def test_gradients_are_unscaled_once_for_clipping() -> None:
    p, optimizer, scaler = start()
    scaler.scale((p * rt.tensor([3.0, 4.0])).sum()).backward()
    scaler.unscale_(optimizer)
    assert nn.utils.clip_grad_norm_([p], 1.0).item() == 5
    with pytest.raises(rt.StateError, match=r"unscale_\(\) is called twice"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    assert p.tolist() == pytest.approx([0.4, 1.2])
    with pytest.raises(rt.StateError, match=r"unscale_\(\) is called after step\(\)"):
        scaler.unscale_(optimizer)
    with pytest.raises(rt.StateError, match=r"step\(\) is called twice"):
        scaler.step(optimizer)


def test_two_optimizers_share_a_scale() -> None:
    p, first, scaler = start()
    q = nn.Parameter(rt.ones(1))
    second = optim.SGD([q], lr=1.0)
    p.grad, q.grad = rt.tensor([8.0, 8.0]), rt.tensor([float("inf")])
    scaler.step(first)
    scaler.step(second)
    scaler.update()
    assert p.tolist() == [0, 1] and q.item() == 1 and scaler.get_scale() == 4


def test_states_and_switching_off() -> None:
    _, optimizer, scaler = start(growth_interval=3)
    scaler.unscale_(optimizer)
    scaler.update()
    other = GradScaler()
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()
    assert scaler.state_dict()["scale"] == 8 and scaler.state_dict()["_growth_tracker"] == 1
    scaler.update(32.0)
    assert scaler.get_scale() == 32
    off = GradScaler(enabled=False)
    p, optimizer, _ = start()
    p.grad = rt.ones(2)
    assert off.scale(p) is p and off.get_scale() == 1 and off.state_dict() == {} and not off.is_enabled()
    off.unscale_(optimizer)
    off.step(optimizer)
    off.update()
    assert p.tolist() == [0, 1]
    off.load_state_dict({})
    with pytest.raises(rt.StateError, match="of a scaler that was not enabled"):
        scaler.load_state_dict({})


def test_what_cannot_be_is_refused() -> None:
    p, optimizer, scaler = start()
    for error, message, call in (
        (rt.StateError, r"update\(\) came before any step\(\)", scaler.update),
        (rt.ArgumentError, "growth_factor must be above 1", lambda: GradScaler(growth_factor=1)),
        (rt.ArgumentError, "backoff_factor must be below 1", lambda: GradScaler(backoff_factor=1)),
        (rt.ArgumentError, "device 'gpu' is not there", lambda: GradScaler("gpu")),
        (rt.ArgumentError, "a step with a closure", lambda: scaler.step(optimizer, lambda: p)),
        (TypeError, "scale takes Tensors, not float", lambda: scaler.scale(1.0)),
    ):
        with pytest.raises(error, match=message):
            call()
