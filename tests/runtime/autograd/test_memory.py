"""The lives of what takes part in a graph."""

import gc
import weakref
from typing import Any

import pytest

from perflab import runtime as rt
from perflab.runtime import Tensor, _core


def leaf(values: Any) -> Tensor:
    return rt.tensor(values, dtype=rt.float64, requires_grad=True)


def test_saved_values_are_freed_by_backward() -> None:
    x = rt.ones(1000, requires_grad=True)
    y = x.exp().exp().sum()
    before = rt.memory_stats()["allocated_bytes"]
    y.backward()
    assert before - rt.memory_stats()["allocated_bytes"] >= 4000  # two saved outputs go, one gradient comes


def test_a_training_step_leaves_nothing_behind() -> None:
    w = rt.randn(4, 4).requires_grad_()

    def step() -> None:
        (rt.relu(w @ w) + w).softmax(-1).sum().backward()

    step()
    before = rt.memory_stats()
    for _ in range(50):
        step()
    after = rt.memory_stats()
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
    assert set(_core.memory_stats()) == {"allocated_bytes", "reserved_bytes", "live_tensors", "live_nodes"}
