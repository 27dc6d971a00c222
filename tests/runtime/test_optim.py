"""Optimizers against the formulas of PyTorch's documentation, written out in NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import nn, optim

Arrays = list[np.ndarray[Any, Any]]
SHAPES = [(3, 2), (4,), ()]
STEPS = 5


def sgd(
    p: Arrays, gradients: list[Arrays], lr: float, momentum: float, dampening: float, decay: float, nesterov: bool
) -> Arrays:
    p = [x.copy() for x in p]
    buffers: list[Any] = [None] * len(p)
    for step in gradients:
        for i, gradient in enumerate(step):
            g = gradient + decay * p[i]
            if momentum:
                buffers[i] = g if buffers[i] is None else momentum * buffers[i] + (1 - dampening) * g
                g = g + momentum * buffers[i] if nesterov else buffers[i]
            p[i] = p[i] - lr * g
    return p


def adamw(
    p: Arrays, gradients: list[Arrays], lr: float, betas: tuple[float, float], eps: float, decay: float
) -> Arrays:
    p = [x.copy() for x in p]
    m, v = [np.zeros_like(x) for x in p], [np.zeros_like(x) for x in p]
    for t, step in enumerate(gradients, 1):
        for i, g in enumerate(step):
            p[i] = p[i] * (1 - lr * decay)
            m[i] = betas[0] * m[i] + (1 - betas[0]) * g
            v[i] = betas[1] * v[i] + (1 - betas[1]) * g * g
            p[i] = p[i] - lr * (m[i] / (1 - betas[0] ** t)) / (np.sqrt(v[i] / (1 - betas[1] ** t)) + eps)
    return p


def start() -> tuple[Arrays, list[Arrays]]:
    random = np.random.default_rng(0)
    return [random.normal(size=s) for s in SHAPES], [[random.normal(size=s) for s in SHAPES] for _ in range(STEPS)]


def run(make: Callable[[list[nn.Parameter]], optim.Optimizer], dtype: rt.DType = rt.float64) -> Arrays:
    values, gradients = start()
    params = [nn.Parameter(rt.tensor(v, dtype=dtype)) for v in values]
    optimizer = make(params)
    for step in gradients:
        for p, g in zip(params, step, strict=True):
            p.grad = rt.tensor(g, dtype=dtype)
        optimizer.step()
    return [p.detach().numpy() for p in params]


def same(got: Arrays, wanted: Arrays, rtol: float = 1e-12) -> None:
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol)


@pytest.mark.parametrize(
    ("momentum", "dampening", "decay", "nesterov"),
    [
        (0.0, 0.0, 0.0, False),
        (0.0, 0.0, 0.1, False),
        (0.9, 0.0, 0.0, False),
        (0.9, 0.3, 0.1, False),
        (0.9, 0.0, 0.1, True),
    ],
)
def test_sgd(momentum: float, dampening: float, decay: float, nesterov: bool) -> None:
    same(
        run(lambda p: optim.SGD(p, 0.1, momentum, dampening, decay, nesterov)),
        sgd(*start(), 0.1, momentum, dampening, decay, nesterov),
    )


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_adamw(decay: float) -> None:
    wanted = adamw(*start(), 0.01, (0.8, 0.95), 1e-8, decay)
    same(run(lambda p: optim.AdamW(p, 0.01, (0.8, 0.95), weight_decay=decay)), wanted)
    same(run(lambda p: optim.AdamW(p, 0.01, (0.8, 0.95), weight_decay=decay), rt.float32), wanted, rtol=1e-4)


def test_adam_is_adamw_without_decay_and_maximize_turns_gradients_around() -> None:
    same(run(lambda p: optim.Adam(p, 0.01)), adamw(*start(), 0.01, (0.9, 0.999), 1e-8, 0.0))
    values, gradients = start()
    around = [[-g for g in step] for step in gradients]
    same(run(lambda p: optim.AdamW(p, 0.01, maximize=True)), adamw(values, around, 0.01, (0.9, 0.999), 1e-8, 0.01))
    same(run(lambda p: optim.SGD(p, 0.1, 0.9, maximize=True)), sgd(values, around, 0.1, 0.9, 0, 0, False))


def test_groups_have_their_own_options() -> None:
    def make(p: list[nn.Parameter]) -> optim.Optimizer:
        return optim.SGD([{"params": p[:1], "lr": 0.5}, {"params": p[1:]}], lr=0.1)

    values, gradients = start()
    fast = sgd(values[:1], [g[:1] for g in gradients], 0.5, 0, 0, 0, False)
    slow = sgd(values[1:], [g[1:] for g in gradients], 0.1, 0, 0, 0, False)
    same(run(make), [*fast, *slow])


@pytest.mark.parametrize("kind", [lambda p: optim.SGD(p, 0.1, 0.9), lambda p: optim.AdamW(p, 0.1)])
def test_parameters_without_gradient_stay_and_come_in_later(kind: Callable[[Any], optim.Optimizer]) -> None:
    a, b = (nn.Parameter(rt.ones(2)) for _ in range(2))
    both = kind([a, b])
    a.grad = rt.ones(2)
    both.step()
    assert b.tolist() == [1, 1] and a.tolist() != [1, 1]
    late = nn.Parameter(rt.ones(2))
    alone = kind([late])
    b.grad, late.grad = rt.ones(2), rt.ones(2)
    both.step()
    alone.step()
    assert b.tolist() == late.tolist()


def test_a_step_changes_the_version_of_what_a_graph_saved() -> None:
    p = nn.Parameter(rt.ones(2))
    loss = (p * p).sum()
    p.grad = rt.ones(2)
    optim.SGD([p], 0.1).step()
    with pytest.raises(rt.AutogradError, match="modified by an inplace operation"):
        loss.backward()


def test_step_computes_the_loss_first_and_zero_grad_empties() -> None:
    p = nn.Parameter(rt.ones(2))
    optimizer = optim.SGD([p], lr=1.0)

    def closure() -> rt.Tensor:
        optimizer.zero_grad()
        loss: rt.Tensor = (p * 0.25).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 0.5
    assert p.tolist() == [0.75, 0.75]
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is not None and p.grad.tolist() == [0, 0]
    optimizer.zero_grad()
    assert p.grad is None


@pytest.mark.parametrize("kind", [lambda p: optim.SGD(p, 0.1, 0.9), lambda p: optim.AdamW(p, 0.1)])
def test_state_goes_out_and_in(kind: Callable[[Any], optim.Optimizer]) -> None:
    first, second = nn.Parameter(rt.ones(2)), nn.Parameter(rt.ones(2))
    old, new = kind([first]), kind([second])
    for _ in range(3):
        first.grad = rt.tensor([1.0, -2.0])
        old.step()
    with rt.no_grad():
        second.copy_(first)
    new.load_state_dict(old.state_dict())
    assert list(old.state_dict()["state"]) == [0] and old.state_dict()["param_groups"][0]["params"] == [0]
    for p, optimizer in ((first, old), (second, new)):
        p.grad = rt.tensor([0.5, 0.5])
        optimizer.step()
    assert first.tolist() == second.tolist()


def test_what_does_not_fit_is_refused() -> None:
    p = nn.Parameter(rt.ones(2))
    for message, make in (
        ("there are no parameters", lambda: optim.SGD([])),
        ("lr must be at least 0, not -1", lambda: optim.SGD([p], -1)),
        (r"betas\[1\] must be at least 0 and below 1, not 1", lambda: optim.AdamW([p], betas=(0.9, 1))),
        ("nesterov needs a momentum", lambda: optim.SGD([p], nesterov=True)),
        ("it has no option speed", lambda: optim.SGD([{"params": [p], "speed": 1}])),
        ("a parameter is given twice", lambda: optim.SGD([p, p])),
        ("parameters are Tensors, not float", lambda: optim.SGD([1.0])),
        ("computed by MulBackward0: give leaves", lambda: optim.SGD([p * 2])),
    ):
        with pytest.raises(rt.ArgumentError, match=message):
            make()
    q = nn.Parameter(rt.ones(3))
    optimizer = optim.AdamW([q])
    q.grad = rt.ones(3)
    optimizer.step()
    other = optim.AdamW([p])
    with pytest.raises(rt.StateError, match=r"the state's exp_avg has shape \(3,\) for parameter 0 of shape \(2,\)"):
        other.load_state_dict(optimizer.state_dict())
    with pytest.raises(rt.StateError, match=r"groups of \[1\] parameters, this AdamW has \[2\]"):
        optim.AdamW([p, q]).load_state_dict(optimizer.state_dict())
    assert repr(other) == "AdamW(lr=0.001, betas=(0.9, 0.999), eps=1e-08, weight_decay=0.01, maximize=False)"


def test_a_small_network_learns() -> None:
    rt.manual_seed(0)
    x = rt.randn(64, 2)
    y = rt.from_numpy((x.numpy()[:, 0] * x.numpy()[:, 1] > 0).astype(np.int64))
    net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = optim.AdamW(net.parameters(), lr=0.02)
    for _ in range(200):
        loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1
