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


def adam(p: Arrays, gradients: list[Arrays], lr: float, decay: float) -> Arrays:
    """Adam with weight decay in the gradient, and amsgrad."""
    p = [x.copy() for x in p]
    m, v, top = ([np.zeros_like(x) for x in p] for _ in range(3))
    for t, step in enumerate(gradients, 1):
        for i, gradient in enumerate(step):
            g = gradient + decay * p[i]
            m[i] = 0.9 * m[i] + 0.1 * g
            v[i] = 0.999 * v[i] + 0.001 * g * g
            top[i] = np.maximum(top[i], v[i])
            p[i] = p[i] - lr * (m[i] / (1 - 0.9**t)) / (np.sqrt(top[i] / (1 - 0.999**t)) + 1e-8)
    return p


def rmsprop(p: Arrays, gradients: list[Arrays], lr: float, decay: float, momentum: float, centered: bool) -> Arrays:
    p = [x.copy() for x in p]
    v, m, b = ([np.zeros_like(x) for x in p] for _ in range(3))
    for step in gradients:
        for i, gradient in enumerate(step):
            g = gradient + decay * p[i]
            v[i] = 0.99 * v[i] + 0.01 * g * g
            m[i] = 0.99 * m[i] + 0.01 * g
            b[i] = momentum * b[i] + g / (np.sqrt(v[i] - m[i] ** 2 * centered) + 1e-8)
            p[i] = p[i] - lr * b[i]
    return p


def adagrad(p: Arrays, gradients: list[Arrays], lr: float, lr_decay: float, decay: float, initial: float) -> Arrays:
    p = [x.copy() for x in p]
    total = [np.full_like(x, initial) for x in p]
    for t, step in enumerate(gradients):
        for i, gradient in enumerate(step):
            g = gradient + decay * p[i]
            total[i] = total[i] + g * g
            p[i] = p[i] - lr / (1 + t * lr_decay) * g / (np.sqrt(total[i]) + 1e-10)
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


def test_adam_with_decay_and_amsgrad() -> None:
    same(run(lambda p: optim.Adam(p, 0.01, weight_decay=0.1, amsgrad=True)), adam(*start(), 0.01, 0.1))


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("centered", [False, True])
def test_rmsprop(momentum: float, centered: bool) -> None:
    same(
        run(lambda p: optim.RMSprop(p, 0.01, weight_decay=0.1, momentum=momentum, centered=centered)),
        rmsprop(*start(), 0.01, 0.1, momentum, centered),
        rtol=1e-9,
    )


def test_adagrad() -> None:
    same(
        run(lambda p: optim.Adagrad(p, 0.1, lr_decay=0.2, weight_decay=0.1, initial_accumulator_value=0.5)),
        adagrad(*start(), 0.1, 0.2, 0.1, 0.5),
    )


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam, optim.AdamW, optim.RMSprop, optim.Adagrad])
def test_maximize_is_minimizing_with_gradients_turned_around(kind: Any) -> None:
    up, down = nn.Parameter(rt.ones(3)), nn.Parameter(rt.ones(3))
    climbing, descending = kind([up], lr=0.1, maximize=True), kind([down], lr=0.1)
    for step in range(3):
        up.grad = rt.tensor([1.0, -2.0, 0.5 * step])
        down.grad = -up.grad
        climbing.step()
        descending.step()
    assert up.tolist() == down.tolist() != [1, 1, 1]


@pytest.mark.parametrize("dtype", [rt.float16, rt.bfloat16], ids=lambda d: d.name)
@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam, optim.AdamW, optim.RMSprop, optim.Adagrad])
def test_narrow_parameters_are_computed_with_in_float32_and_rounded(kind: Any, dtype: rt.DType) -> None:
    narrow, wide = nn.Parameter(rt.tensor([1.0, -3.0]).astype(dtype)), nn.Parameter(rt.tensor([1.0, -3.0]))
    for p in (narrow, wide):
        p.grad = rt.tensor([0.5, 2.0]).astype(p.dtype)
        kind([p], lr=0.1).step()
    assert narrow.dtype is dtype
    assert narrow.tolist() == wide.astype(dtype).tolist() != [1, -3]


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


def test_hooks_around_a_step() -> None:
    p = nn.Parameter(rt.ones(1))
    calls: list[Any] = []

    class Halving(optim.Optimizer):
        def step(self, closure: Any = None) -> Any:
            for group in self.param_groups:
                for q in group["params"]:
                    q.data.mul_(0.5)
                    self.state[q]["steps"] = self.state[q].get("steps", 0) + 1
            return closure

    for optimizer in (optim.SGD([p]), Halving([p], {})):
        calls.clear()
        optimizer.register_step_pre_hook(lambda o, args, kwargs: calls.append("before"))
        handle = optimizer.register_step_post_hook(lambda o, args, kwargs: calls.append((args, kwargs)))
        optimizer.step()
        assert calls == ["before", ((), {})]
        handle.remove()
        optimizer.register_step_pre_hook(lambda o, args, kwargs: ((lambda: 7,), {}))
        result = optimizer.step(None)
        assert (result if result == 7 else result()) == 7 and len(calls) == 3
    assert p.item() == 0.25 and optimizer.state[p]["steps"] == 2


def test_groups_keep_what_users_put_there_and_can_come_later() -> None:
    p, q = nn.Parameter(rt.ones(1)), nn.Parameter(rt.ones(1))
    optimizer = optim.SGD([{"params": p, "name": "first"}], lr=1.0)
    optimizer.add_param_group({"params": iter([q]), "lr": 0.5})
    p.grad = q.grad = rt.ones(1)
    optimizer.step()
    assert (p.item(), q.item()) == (0, 0.5)
    state = optimizer.state_dict()
    assert state["param_groups"][0]["name"] == "first" and state["param_groups"][1]["params"] == [1]
    with pytest.raises(rt.ArgumentError, match="a parameter is given twice"):
        optimizer.add_param_group({"params": [q]})


def test_loaded_state_is_a_copy_in_the_parameters_dtype() -> None:
    p, q = nn.Parameter(rt.ones(2)), nn.Parameter(rt.ones(2, dtype=rt.float64))
    first, second = optim.Adam([p], betas=(0.5, 0.9)), optim.Adam([q])
    p.grad = rt.ones(2)
    first.step()
    second.load_state_dict(first.state_dict())
    state = second.state[q]
    assert state["exp_avg"].dtype is rt.float64 and state["exp_avg"].tolist() == [0.5, 0.5]
    assert state["step"] == 1 and second.param_groups[0]["betas"] == (0.5, 0.9)
    first.step()
    assert state["step"] == 1 and state["exp_avg"].tolist() == [0.5, 0.5]


def test_a_closure_records_under_no_grad() -> None:
    p = nn.Parameter(rt.ones(1))
    optimizer = optim.SGD([p], lr=1.0)

    def closure() -> rt.Tensor:
        loss: rt.Tensor = (p * 2).sum()
        loss.backward()
        return loss

    with rt.no_grad():
        assert optimizer.step(closure).item() == 2
    assert p.item() == -1


def test_what_does_not_fit_is_refused() -> None:
    p = nn.Parameter(rt.ones(2))
    for error, message, make in (
        (rt.ArgumentError, "there are no parameters", lambda: optim.SGD([])),
        (rt.ArgumentError, "lr must be at least 0, not -1", lambda: optim.SGD([p], -1)),
        (rt.ArgumentError, r"betas\[1\] must be at least 0 and below 1", lambda: optim.AdamW([p], betas=(0.9, 1))),
        (rt.ArgumentError, "nesterov needs a momentum", lambda: optim.SGD([p], nesterov=True)),
        (rt.ArgumentError, "a parameter is given twice", lambda: optim.SGD([p, p])),
        (rt.ArgumentError, "computed by MulBackward0: give leaves", lambda: optim.SGD([p * 2])),
        (TypeError, "parameters are Tensors, not float", lambda: optim.SGD([1.0])),
        (TypeError, r"not one Tensor: write SGD\(\[parameter\]\)", lambda: optim.SGD(p)),
        (TypeError, "lr is a number, not str", lambda: optim.AdamW([p], lr="x")),  # type: ignore[arg-type]
        (TypeError, "parameters in an order, and a set has none", lambda: optim.Adam({p})),
        (TypeError, "a list of parameters or of groups, not dict", lambda: optim.RMSprop({"params": [p]})),
        (TypeError, "a list of parameters or of groups, not int", lambda: optim.Adagrad(3)),  # type: ignore[arg-type]
        (TypeError, 'a dict with its parameters under "params"', lambda: optim.SGD([{"param": [p]}])),
    ):
        with pytest.raises(error, match=message):
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
    assert repr(optim.SGD([p])) == (
        "SGD(lr=0.001, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, maximize=False)"
    )


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
