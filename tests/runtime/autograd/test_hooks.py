"""Hooks of tensors, leaves and nodes: what they see, what they may replace, and in which order they run."""

from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import AutogradError, Tensor
from perflab.runtime.autograd import graph


def leaf(values: Any) -> Tensor:
    return rt.tensor(values, dtype=rt.float64, requires_grad=True)


def values(t: Tensor | None) -> Any:
    assert t is not None
    return t.tolist()


def test_a_hook_of_a_leaf_sees_the_whole_gradient_once() -> None:
    x = leaf([1.0, 2.0])
    seen: list[Any] = []
    x.register_hook(lambda g: seen.append(g.tolist()))
    (x * x + 3.0 * x).sum().backward()
    assert seen == [[5.0, 7.0]] and values(x.grad) == [5.0, 7.0]


def test_a_hook_replaces_the_gradient_before_it_is_accumulated() -> None:
    x = leaf([1.0, 2.0])
    x.grad = rt.tensor([100.0, 100.0], dtype=rt.float64)
    x.register_hook(lambda g: g * 2.0)
    x.register_hook(lambda g: g + 1.0)  # in the order of registration
    (x * 3.0).sum().backward()
    assert values(x.grad) == [107.0, 107.0]


def test_a_hook_of_an_inner_tensor_runs_before_the_node_behind_it() -> None:
    x = leaf([1.0, 2.0])
    y = x * 5.0
    y.register_hook(lambda g: g * 10.0)
    (y + y).sum().backward()
    assert values(x.grad) == [100.0, 100.0]


def test_a_handle_removes_its_hook() -> None:
    x = leaf(1.0)
    first, second = x.register_hook(lambda g: g * 2.0), x.register_hook(lambda g: g * 3.0)
    first.remove()
    first.remove()
    (x * 1.0).backward()
    assert values(x.grad) == 3.0
    second.remove()
    (x * 1.0).backward()
    assert values(x.grad) == 4.0
    with x.register_hook(lambda g: g * 100.0):
        pass
    (x * 1.0).backward()
    assert values(x.grad) == 5.0


def test_hooks_belong_to_one_output_of_a_node() -> None:
    x = leaf([1.0, 2.0])
    first, second = rt.split(x * 1.0, 1)
    second.register_hook(lambda g: g * 10.0)
    (first + second).sum().backward()
    assert values(x.grad) == [1.0, 10.0]


def test_retain_grad_runs_after_the_hooks_whenever_it_was_called() -> None:
    x = leaf([1.0, 2.0])
    y = x * 5.0
    assert not y.retains_grad
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad and not x.retains_grad
    y.register_hook(lambda g: g * 10.0)
    y.sum().backward(retain_graph=True)
    assert values(y.grad) == [10.0, 10.0]
    y.sum().backward()
    assert values(y.grad) == [20.0, 20.0]


def test_retain_grad_of_a_leaf_changes_nothing() -> None:
    x = leaf(1.0)
    x.retain_grad()
    (x * 2.0).backward()
    assert values(x.grad) == 2.0 and not x.retains_grad


def test_hooks_stay_with_the_values_and_retained_gradients_follow_the_tensor() -> None:
    x = leaf([1.0, 2.0])
    y = x * 5.0
    before: list[Any] = []
    after: list[Any] = []
    y.retain_grad()
    y.register_hook(lambda g: before.append(g.tolist()))
    y.mul_(3.0)
    y.register_hook(lambda g: after.append(g.tolist()))
    y.sum().backward()
    assert before == [[3.0, 3.0]] and after == [[1.0, 1.0]]  # of the values before the change, and after it
    assert values(y.grad) == [1.0, 1.0] and y.retains_grad


def test_a_retained_gradient_follows_a_base_whose_view_was_changed() -> None:
    x = leaf([1.0, 2.0])
    y = x * 1.0
    y.retain_grad()
    y[0].mul_(3.0)
    (y * 2.0).sum().backward()
    assert values(y.grad) == [2.0, 2.0] and values(x.grad) == [6.0, 2.0]


def test_a_hook_after_accumulation_sees_the_leaf() -> None:
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    order: list[str] = []

    def step(p: Tensor) -> None:
        assert p is x and values(p.grad) == [7.0, 8.0]
        with rt.no_grad():
            p -= 0.5 * p.grad  # type: ignore[operator]
        p.grad = None
        order.append("accumulated")

    x.register_hook(lambda g: order.append("hook"))
    handle = x.register_post_accumulate_grad_hook(step)
    (x * y + x * 4.0).sum().backward()
    assert order == ["hook", "accumulated"] and x.grad is None
    assert x.detach().tolist() == [1.0 - 3.5, 2.0 - 4.0]
    handle.remove()
    (x * 2.0).sum().backward()
    assert values(x.grad) == [2.0, 2.0]


def test_a_leaf_is_done_as_soon_as_its_gradient_is_complete() -> None:
    early, late = leaf(2.0), leaf(3.0)
    order: list[str] = []
    late.register_post_accumulate_grad_hook(lambda p: order.append("late"))
    early.register_post_accumulate_grad_hook(lambda p: order.append("early"))
    middle = early * early
    middle.register_hook(lambda g: order.append("middle"))
    (middle * late * late).backward()
    assert order == ["late", "middle", "early"]
    assert values(late.grad) == 24.0 and values(early.grad) == 36.0


def test_hooks_of_a_node() -> None:
    x = leaf([1.0, 2.0])
    y = x * 3.0
    seen: list[Any] = []

    def after(grad_inputs: Any, grad_outputs: Any) -> Any:
        seen.append(("after", grad_inputs[0].tolist(), grad_outputs[0].tolist()))
        return (grad_inputs[0] * 100.0, *grad_inputs[1:])

    def before(grad_outputs: Any) -> Any:
        seen.append(("before", grad_outputs[0].tolist()))
        return (grad_outputs[0] * 2.0,)

    assert y.grad_fn is not None
    y.grad_fn.register_hook(after)
    handle = y.grad_fn.register_prehook(before)
    y.register_hook(lambda g: seen.append(("tensor", g.tolist())))
    y.sum().backward(retain_graph=True)
    assert seen == [("tensor", [1.0, 1.0]), ("before", [1.0, 1.0]), ("after", [6.0, 6.0], [2.0, 2.0])]
    assert values(x.grad) == [600.0, 600.0]
    handle.remove()
    x.grad = None
    y.sum().backward()
    assert values(x.grad) == [300.0, 300.0]


def test_hooks_of_an_accumulator() -> None:
    x = leaf(1.0)
    y = x * 2.0
    end = y.grad_fn.next_functions[0][0]  # type: ignore[union-attr]
    seen: list[Any] = []
    end.register_prehook(lambda grads: (grads[0] * 5.0,))
    end.register_hook(lambda grad_inputs, grad_outputs: seen.append((grad_inputs, values(x.grad))))
    y.backward()
    assert seen == [((), 10.0)] and values(x.grad) == 10.0


def test_hooks_run_for_gradients_that_are_asked_for() -> None:
    x, other = leaf(1.0), leaf(2.0)
    y = x * 3.0
    ran: list[str] = []
    x.register_hook(lambda g: g * 2.0)
    y.register_hook(lambda g: g * 10.0)
    x.register_post_accumulate_grad_hook(lambda p: ran.append("accumulated"))
    other.register_hook(lambda g: ran.append("other"))
    z = y * other
    assert [values(g) for g in rt.autograd.grad(z, (x, y), retain_graph=True)] == [120.0, 20.0]
    assert ran == [] and x.grad is None
    z.backward(inputs=[x])
    assert ran == ["accumulated"] and values(x.grad) == 120.0 and other.grad is None


def test_with_create_graph_hooks_are_part_of_the_graph() -> None:
    x = leaf(2.0)
    y = x * x
    y.register_hook(lambda g: g * x)  # dy/dx x = 2 x^2
    (first,) = rt.autograd.grad(y, x, create_graph=True)
    assert values(first) == 8.0
    (second,) = rt.autograd.grad(first, x)  # type: ignore[arg-type]
    assert values(second) == 8.0


def test_hooks_run_without_recording_and_with_it() -> None:
    x = leaf(2.0)
    modes: list[bool] = []
    x.register_hook(lambda g: modes.append(rt.is_grad_enabled()))
    (x * x).backward()
    (x * x).backward(create_graph=True)
    x.grad = None
    assert modes == [False, True] and rt.is_grad_enabled()


@pytest.mark.parametrize("hook", [lambda g: g[0], lambda g: g.astype(rt.float32)])
def test_a_hook_may_not_change_shape_or_dtype(hook: Any) -> None:
    x = leaf([1.0, 2.0])
    x.register_hook(hook)
    with pytest.raises(AutogradError, match=r"hook .*<lambda>' has changed the gradient from .* \(2,\) to"):
        (x * 2.0).sum().backward()


def test_a_hook_returns_a_tensor_or_none() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2.0
    y.register_hook(lambda g: 3)  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match="returned a int: return a Tensor, or None"):
        y.sum().backward()


def test_node_hooks_return_as_many_as_came() -> None:
    y = leaf([1.0, 2.0]) * 2.0
    y.grad_fn.register_prehook(lambda grads: (grads[0], grads[0]))  # type: ignore[union-attr]
    with pytest.raises(AutogradError, match="returned 2 gradients, but there are 1"):
        y.sum().backward()


def test_hooks_outlive_their_exceptions() -> None:
    x = leaf(2.0)
    y = x * x
    angry = [True]

    def hook(g: Tensor) -> Tensor:
        if angry.pop():
            raise LookupError("on purpose")
        return g * 10.0

    y.register_hook(hook)
    with pytest.raises(LookupError, match="on purpose"):
        y.backward(retain_graph=True)
    assert x.grad is None
    angry.append(False)
    y.backward()
    assert values(x.grad) == 40.0


def test_where_hooks_are_refused() -> None:
    plain, inner = rt.ones(1), leaf(1.0) * 2.0
    with pytest.raises(AutogradError, match="does not require grad"):
        plain.register_hook(lambda g: g)
    with pytest.raises(AutogradError, match="does not require grad"):
        plain.retain_grad()
    with pytest.raises(AutogradError, match="does not require grad"):
        plain.register_post_accumulate_grad_hook(lambda p: None)
    with pytest.raises(AutogradError, match="is for leaves"):
        inner.register_post_accumulate_grad_hook(lambda p: None)


def test_one_hook_for_several_tensors() -> None:
    x, y, unused = leaf([1.0, 2.0]), leaf([3.0, 4.0]), leaf([5.0, 6.0])
    inner = x * y
    calls: list[Any] = []
    handle = graph.register_multi_grad_hook(
        (x, unused, inner, y), lambda grads: calls.append([None if g is None else g.tolist() for g in grads])
    )
    for _ in range(2):
        inner.sum().backward(retain_graph=True)
    assert calls == [[[3.0, 4.0], None, [1.0, 1.0], [1.0, 2.0]]] * 2
    handle.remove()
    inner.sum().backward()
    assert len(calls) == 2


def test_one_hook_for_the_first_of_several_tensors() -> None:
    x, y = leaf(2.0), leaf(3.0)
    calls: list[float] = []
    with graph.register_multi_grad_hook((x, y), lambda g: calls.append(g.item()), mode="any"):
        for _ in range(2):
            (x * y).backward()
    assert len(calls) == 2 and set(calls) <= {2.0, 3.0}
    with pytest.raises(ValueError, match="it may be 'all' or 'any'"):
        graph.register_multi_grad_hook((x,), lambda g: None, mode="some")  # type: ignore[arg-type]


def test_gradients_kept_by_a_hook_are_not_overwritten() -> None:
    x = leaf(np.ones(4))
    kept: list[Tensor] = []
    y = x * 2.0
    y.register_hook(kept.append)  # type: ignore[arg-type]
    x.register_hook(kept.append)  # type: ignore[arg-type]
    (y * 3.0).exp().sum().backward()
    expected = 3.0 * np.exp(6.0) * np.ones(4)
    np.testing.assert_allclose(kept[0].numpy(), expected, rtol=1e-12)
    np.testing.assert_allclose(kept[1].numpy(), 2 * expected, rtol=1e-12)
    (y.detach() * x).sum().backward()
    np.testing.assert_allclose(kept[1].numpy(), 2 * expected, rtol=1e-12)
