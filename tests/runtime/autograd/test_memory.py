"""The lives of what takes part in a graph."""

import gc
import itertools
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from perflab import runtime as rt
from perflab.runtime import Tensor, _core, nn


def leaf(values: Any) -> Tensor:
    return rt.tensor(values, dtype=rt.float64, requires_grad=True)


def test_saved_values_are_freed_by_backward() -> None:
    x = rt.ones(1000, requires_grad=True)
    y = x.exp().exp().sum()
    before = rt.memory.live_stats()["allocated_bytes"]
    y.backward()
    assert before - rt.memory.live_stats()["allocated_bytes"] >= 4000  # two saved outputs go, one gradient comes


def test_a_training_step_leaves_nothing_behind() -> None:
    w = rt.randn(4, 4).requires_grad_()

    def step() -> None:
        (rt.relu(w @ w) + w).softmax(-1).sum().backward()

    step()
    before = rt.memory.live_stats()
    for _ in range(50):
        step()
    after = rt.memory.live_stats()
    for key in ("allocated_bytes", "live_tensors", "live_nodes"):
        assert after[key] == before[key], key


class Tagged(Tensor):
    """A subclass with state."""


def test_a_wrapper_with_state_survives_in_the_graph() -> None:
    p = Tagged(rt.ones(3)).requires_grad_()
    p.tag = "mine"  # type: ignore[attr-defined]
    alive = weakref.ref(p)
    y = (p * 2.0).sum()
    del p
    gc.collect()
    for _ in range(2):  # revived more than once
        variable = y.grad_fn.next_functions[0][0].next_functions[0][0].variable  # type: ignore[union-attr]
        assert type(variable) is Tagged and variable.tag == "mine" and alive() is variable
        del variable
        gc.collect()
    del y
    gc.collect()
    assert alive() is None


def test_a_subclass_may_not_define_del() -> None:
    with pytest.raises(TypeError, match="may not define __del__"):
        type("Bad", (Tensor,), {"__del__": lambda self: None})


def test_grad_keeps_its_identity() -> None:
    x = leaf([1.0])
    (x * 2.0).sum().backward()
    assert x.grad is x.grad
    grad = x.grad
    del x
    assert grad is not None and grad.tolist() == [2.0]


def test_memory_statistics_name_their_parts() -> None:
    assert set(_core.live_stats()) == {"allocated_bytes", "reserved_bytes", "live_tensors", "live_nodes"}


def live() -> dict[str, int]:
    gc.collect()
    stats = rt.memory.live_stats()
    return {key: stats[key] for key in ("allocated_bytes", "live_tensors", "live_nodes")}


def test_saved_values_are_freed_while_the_pass_goes_on() -> None:
    """Each of ten steps saves 4 MB; when a hook is called, those of the steps before it in the pass are gone."""
    x = rt.ones(1_000_000, requires_grad=True)
    during: list[int] = []
    y = x
    for _ in range(10):
        y = y.tanh()
        y.register_hook(lambda g: during.append(rt.memory.live_stats()["allocated_bytes"]))
    loss = y.sum()
    del y
    loss.backward()
    steps = [a - b for a, b in itertools.pairwise(during)]
    assert len(steps) == 9 and all(step >= 3_900_000 for step in steps[1:])


class Marker:
    """Something whose end can be seen."""


def collected(make: Callable[[Marker], None]) -> bool:
    """Whether the collector finds the cycle that `make` builds through a marker, and nothing is left of it."""
    before = live()
    marker = Marker()
    alive = weakref.ref(marker)
    make(marker)
    del marker
    gc.collect()
    return alive() is None and live() == before


def through_a_hook(marker: Marker) -> None:
    y = rt.ones(2, requires_grad=True) * 2.0
    y.register_hook(lambda g: print(y, marker))


def through_a_hook_of_a_leaf(marker: Marker) -> None:
    x = rt.ones(2, requires_grad=True)
    x.register_hook(lambda g: print(x, marker))


def through_a_hook_after_accumulation(marker: Marker) -> None:
    x = rt.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda p: print(x, marker))


def through_a_hook_registered_late(marker: Marker) -> None:
    y = rt.ones(2, requires_grad=True) * 2.0
    z = (y * 3.0).sum()
    y.register_hook(lambda g: print(z, marker))


def through_a_hook_of_a_node(marker: Marker) -> None:
    y = rt.ones(2, requires_grad=True) * 2.0
    y.grad_fn.register_hook(lambda a, b: print(y, marker))  # type: ignore[union-attr]


def through_a_node_that_holds_itself(marker: Marker) -> None:
    node = (rt.ones(2, requires_grad=True) * 2.0).grad_fn
    assert node is not None
    node.register_prehook(lambda a: print(node, marker))


def through_metadata(marker: Marker) -> None:
    y = rt.ones(2, requires_grad=True) * 2.0
    y.grad_fn.metadata["me"] = (y, marker)  # type: ignore[union-attr]


def through_an_attribute(marker: Marker) -> None:
    y = rt.ones(2, requires_grad=True) * 2.0
    y.me = (y, marker)  # type: ignore[attr-defined]


def through_the_base_of_a_view(marker: Marker) -> None:
    y = rt.ones(2, requires_grad=True) * 2.0
    view = y[0]
    y.register_hook(lambda g: print(view, marker))


def through_a_diamond(marker: Marker) -> None:
    y = rt.ones(2, requires_grad=True) * 2.0
    y.register_hook(lambda g: print(z, marker))
    z = (y * 3.0 + y).exp() * y


def through_a_context(marker: Marker) -> None:
    class Keeping(rt.Function):
        @staticmethod
        def forward(ctx: Any, a: Tensor, hold: list[Any]) -> Tensor:
            ctx.hold = hold
            out = a * 2.0
            ctx.save_for_backward(out)
            return out

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
            return g, None

    hold: list[Any] = [marker]
    hold.append(Keeping.apply(rt.ones(2, requires_grad=True), hold) * 3.0)


@pytest.mark.parametrize(
    "make",
    [
        through_a_hook,
        through_a_hook_of_a_leaf,
        through_a_hook_after_accumulation,
        through_a_hook_registered_late,
        through_a_hook_of_a_node,
        through_a_node_that_holds_itself,
        through_metadata,
        through_an_attribute,
        through_the_base_of_a_view,
        through_a_diamond,
        through_a_context,
    ],
)
def test_cycles_are_collected(make: Callable[[Marker], None]) -> None:
    make(Marker())  # what is made once, such as backward programs
    assert collected(make)


def test_steps_with_hooks_and_views_leave_nothing_behind() -> None:
    w = rt.randn(4, 4).requires_grad_()

    def step() -> None:
        y = w @ w
        y.register_hook(lambda g: g * 2.0)
        y.retain_grad()
        y[0].mul_(2.0)
        y[1:] = y[:3].detach().copy()
        (first,) = rt.autograd.grad(y.exp().sum(), w, create_graph=True)
        assert first is not None
        first.sum().backward()

    step()
    before = live()
    for _ in range(20):
        step()
    assert live() == before


def test_a_thousand_training_steps_with_everything_on_leave_nothing_behind() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 2))
    optimizer = rt.optim.AdamW(model.parameters(), lr=1e-3)
    x, seen = rt.randn(3, 4), 0

    class Square(rt.Function):
        @staticmethod
        def forward(ctx: Any, a: Tensor) -> Tensor:
            ctx.save_for_backward(a)
            return a * a

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Tensor:
            return 2.0 * ctx.saved_tensors[0] * g

    class Count(rt.DispatchMode):
        def __dispatch__(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            nonlocal seen
            seen += 1
            return op(*args, **kwargs)

    model[0].register_full_backward_hook(lambda module, grad_in, grad_out: None)
    model[3].weight.register_post_accumulate_grad_hook(lambda p: None)

    def step() -> None:
        with Count(), rt.autocast("cpu", rt.bfloat16), rt.autograd.graph.save_on_cpu():
            inner = rt.utils.checkpoint.checkpoint(model[:2], x, use_reentrant=False)
            inner.register_hook(lambda g: g * 1.0)
            out = Square.apply(model[2:](inner))
            out.retain_grad()
            loss = out.float().mean()
        with Count():
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    for _ in range(3):
        step()
    before, ops = live(), seen
    for _ in range(1000):
        step()
    assert live() == before
    assert seen - ops == 1000 * ops // 3 > 20_000
