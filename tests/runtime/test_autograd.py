"""The graph, its leaves and versions, the backward pass, and the lives of what takes part."""

import gc
import math
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import AutogradError, Tensor, _core


def leaf(values: Any) -> Tensor:
    return rt.tensor(values, dtype=rt.float64, requires_grad=True)


def test_gradients_of_several_uses_add_up() -> None:
    x = leaf([1.0, 2.0])
    (x * x + 3.0 * x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [5.0, 7.0]


def test_gradients_accumulate_over_passes_into_one_tensor() -> None:
    x = leaf([1.0, 2.0])
    (2.0 * x).sum().backward()
    first = x.grad
    (3.0 * x).sum().backward()
    assert x.grad is first and first.tolist() == [5.0, 5.0]


def test_a_tensor_that_is_no_scalar_needs_a_gradient() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2.0
    with pytest.raises(AutogradError, match=r"needs a tensor with one element, this one has shape \(2,\)"):
        y.backward()
    y.backward(gradient=rt.tensor([1.0, 10.0], dtype=rt.float64))
    assert x.grad is not None and x.grad.tolist() == [2.0, 20.0]


@pytest.mark.parametrize("gradient", [rt.ones(3, dtype=rt.float64), rt.ones(2, dtype=rt.float32)])
def test_a_gradient_of_another_shape_or_dtype_is_refused(gradient: Tensor) -> None:
    with pytest.raises(AutogradError, match=r"but the tensor is float64 \(2,\)"):
        (leaf([1.0, 2.0]) * 2.0).backward(gradient=gradient)


def test_backward_of_what_needs_no_gradient_says_so() -> None:
    with pytest.raises(AutogradError, match="does not require grad"):
        rt.ones(1).backward()


def test_backward_of_a_leaf_is_its_own_gradient() -> None:
    x = leaf(3.0)
    x.backward()
    assert x.grad is not None and x.grad.item() == 1.0


def test_the_graph_can_be_walked() -> None:
    x, w = leaf([[1.0]]), leaf([[2.0]])
    y = (x @ w).sum()
    assert y.grad_fn is not None and y.grad_fn.name() == "SumBackward0" and not y.is_leaf
    (matmul, output), *rest = y.grad_fn.next_functions
    assert (matmul.name(), output, rest) == ("MatmulBackward0", 0, [])
    ends = [node for node, _ in matmul.next_functions]
    assert [e.name() for e in ends] == ["AccumulateGrad", "AccumulateGrad"]
    assert ends[0].variable is x and ends[1].variable is w


def test_nodes_keep_their_identity() -> None:
    y = leaf(1.0) * 2.0
    assert y.grad_fn is y.grad_fn
    assert (y * 3.0).grad_fn.next_functions[0][0] is y.grad_fn  # type: ignore[union-attr]


def test_a_second_backward_needs_retain_graph() -> None:
    x = leaf(2.0)
    y = (x * x).exp()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad is not None and x.grad.item() == pytest.approx(2 * 4 * math.exp(4))
    with pytest.raises(AutogradError, match=r"second time.*retain_graph=True"):
        y.backward()


def test_saved_values_are_freed_by_backward() -> None:
    x = rt.ones(1000, requires_grad=True)
    y = x.exp().exp().sum()
    before = rt.memory_stats()["allocated_bytes"]
    y.backward()
    assert before - rt.memory_stats()["allocated_bytes"] >= 4000  # two saved outputs go, one gradient comes


def test_no_grad_and_enable_grad_nest() -> None:
    x = leaf(1.0)
    with rt.no_grad():
        assert not rt.is_grad_enabled() and (x * 2.0).grad_fn is None
        with rt.enable_grad():
            assert (x * 2.0).requires_grad
        assert not rt.is_grad_enabled()
    assert rt.is_grad_enabled()

    @rt.no_grad()
    def quiet() -> Tensor:
        return x * 2.0

    assert not quiet().requires_grad


def test_recording_is_switched_for_one_thread() -> None:
    seen: list[bool] = []
    with rt.no_grad():
        thread = threading.Thread(target=lambda: seen.append(rt.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_detach_shares_memory_and_version() -> None:
    x = leaf([1.0, 2.0])
    y = x.detach()
    assert not y.requires_grad and y.data_ptr() == x.data_ptr()
    y.add_(1.0)
    assert x.detach().tolist() == [2.0, 3.0] and x._version == y._version == 1


def test_only_float_tensors_require_gradients() -> None:
    with pytest.raises(AutogradError, match="only float tensors"):
        rt.arange(3).requires_grad_()


def test_comparisons_cut_the_graph() -> None:
    assert not (leaf([1.0]) > 0.0).requires_grad


def test_a_gradient_arrives_in_the_leafs_dtype() -> None:
    x = rt.ones(2, requires_grad=True)
    (x * rt.tensor([1.0, 2.0], dtype=rt.float64)).sum().backward()
    assert x.grad is not None and x.grad.dtype is rt.float32 and x.grad.tolist() == [1.0, 2.0]


def test_a_saved_tensor_changed_in_place_fails_at_backward() -> None:
    x = leaf([1.0, 2.0])
    y = x.exp()
    z = (y * 1.0).sum()
    with rt.no_grad():
        y.add_(1.0)
    with pytest.raises(
        AutogradError,
        match=r"modified by an inplace operation: float64 \(2,\), output 0 of ExpBackward0, "
        r"is at version 1; expected version 0",
    ):
        z.backward()


def test_a_view_changed_in_place_counts_for_its_base() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    y = x * 1.0
    z = (y * y).sum()
    with rt.no_grad():
        y[0].zero_()
    with pytest.raises(AutogradError, match="modified by an inplace operation"):
        z.backward()


def test_a_leaf_is_not_changed_in_place_while_recording() -> None:
    x = leaf([1.0])
    with pytest.raises(AutogradError, match="leaf"):
        x.add_(1.0)
    with rt.no_grad():
        x.add_(1.0)
    assert x.detach().tolist() == [2.0] and x.is_leaf


def test_in_place_ops_are_part_of_the_graph() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2.0
    y.add_(1.0)
    y *= x.detach()
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 4.0]


def test_a_view_of_what_changed_is_refused_rather_than_wrong() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2.0
    view = y[0]
    y.mul_(3.0)
    with pytest.raises(AutogradError, match="make the view again"):
        view * 1.0
    y[0].backward()
    assert x.grad is not None and x.grad.tolist() == [6.0, 0.0]


def test_second_derivatives() -> None:
    x = leaf([0.3, 0.7])
    (x * x).exp().sum().backward(create_graph=True)
    first, x.grad = x.grad, None
    assert first is not None and first.requires_grad
    first.sum().backward()
    v = np.array([0.3, 0.7])
    np.testing.assert_allclose(x.grad.numpy(), (2 + 4 * v * v) * np.exp(v * v), rtol=1e-12)  # type: ignore[union-attr]


def test_third_derivatives() -> None:
    x = leaf(1.5)
    y = x * x * x * x
    for expected in (4 * 1.5**3, 12 * 1.5**2, 24 * 1.5):
        x.grad = None
        y.backward(create_graph=True)
        y = x.grad  # type: ignore[assignment]
        assert y.item() == pytest.approx(expected)


def test_lists_and_several_outputs() -> None:
    a, b = leaf([[1.0, 2.0]]), leaf([[3.0, 4.0], [5.0, 6.0]])
    first, second = rt.split(rt.concat([a, b], axis=0), 2, axis=0)
    assert first.grad_fn is second.grad_fn
    (second * 10.0).sum().backward(retain_graph=True)  # no gradient arrives at the first part
    assert a.grad is not None and a.grad.tolist() == [[0.0, 0.0]]
    assert b.grad is not None and b.grad.tolist() == [[0.0, 0.0], [10.0, 10.0]]


def test_a_chain_of_a_million_nodes() -> None:
    x = rt.ones(1, requires_grad=True)
    y = x
    for _ in range(1_000_000):
        y = -y
    y.backward()
    assert x.grad is not None and x.grad.item() == 1.0
    del y


def test_a_long_chain_is_released_without_backward() -> None:
    nodes = rt.memory_stats()["live_nodes"]
    y = rt.ones(1, requires_grad=True)
    for _ in range(300_000):
        y = -y
    del y
    assert rt.memory_stats()["live_nodes"] == nodes


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


def test_threads_share_leaves_and_a_graph() -> None:
    x = leaf(np.ones(64))
    shared = (x * 2.0).exp().sum()
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(200):
                (x * 3.0).sum().backward()
                shared.backward(retain_graph=True)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    expected = 4 * 200 * (3.0 + 2.0 * math.exp(2.0))
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-9)  # type: ignore[union-attr]


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
