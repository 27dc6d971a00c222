"""The graph and its leaves: nodes that can be walked, gradients that add up, second derivatives."""

import math
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import AutogradError, Tensor


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


def test_comparisons_cut_the_graph() -> None:
    assert not (leaf([1.0]) > 0.0).requires_grad


def test_a_gradient_arrives_in_the_leafs_dtype() -> None:
    x = rt.ones(2, requires_grad=True)
    (x * rt.tensor([1.0, 2.0], dtype=rt.float64)).sum().backward()
    assert x.grad is not None and x.grad.dtype is rt.float32 and x.grad.tolist() == [1.0, 2.0]


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


def test_only_float_tensors_require_gradients() -> None:
    with pytest.raises(AutogradError, match="only float tensors"):
        rt.arange(3).requires_grad_()


def test_accumulators_have_an_identity() -> None:
    x = leaf(1.0)
    first, second = x * 2.0, x * 3.0
    ends = [t.grad_fn.next_functions[0][0] for t in (first, second)]  # type: ignore[union-attr]
    assert ends[0] is ends[1] and ends[0].variable is x and ends[0].next_functions == ()


def test_nodes_are_numbered_in_the_order_of_their_making() -> None:
    x = leaf(1.0)
    numbers = []
    y = x
    for _ in range(5):
        y = y * 2.0
        numbers.append(y.grad_fn._sequence_nr())  # type: ignore[union-attr]
    assert numbers == list(range(numbers[0], numbers[0] + 5))
    assert y.grad_fn.next_functions[0][0]._sequence_nr() == numbers[-2]  # type: ignore[union-attr]


def test_a_node_has_metadata() -> None:
    y = leaf(1.0) * 2.0
    node = y.grad_fn
    assert node is not None and node.metadata == {}
    node.metadata["where"] = 3
    del node
    assert y.grad_fn.metadata == {"where": 3}  # type: ignore[union-attr]


def test_what_saved_nothing_can_be_used_again() -> None:
    x = leaf([1.0, 2.0])
    y = (x + 1.0).sum()
    y.backward()
    y.backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 2.0]


def test_create_graph_keeps_the_graph_unless_told_otherwise() -> None:
    x = leaf(2.0)
    y = x * x
    y.backward(create_graph=True)
    y.backward(create_graph=True, retain_graph=False)
    x.grad = None
    with pytest.raises(AutogradError, match="second time"):
        y.backward()


def test_a_gradient_shared_by_two_leaves_is_not_one_tensor() -> None:
    x, y = leaf([1.0]), leaf([2.0])
    (x + y).sum().backward(create_graph=True)
    with rt.no_grad():
        x.grad.mul_(5.0)  # type: ignore[union-attr]
    assert x.grad.tolist() == [5.0] and y.grad.tolist() == [1.0]  # type: ignore[union-attr]
    x.grad = y.grad = None


def test_inputs_without_a_gradient_have_no_node() -> None:
    x, plain = leaf([1.0]), rt.ones(1, dtype=rt.float64)
    y = plain * x
    (first, second), (third, fourth) = y.grad_fn.next_functions, (x * 2.0).grad_fn.next_functions  # type: ignore[union-attr]
    assert first == fourth == (None, 0) and second[0].variable is x and third[0] is second[0]
    joined = rt.concat([plain, x]).grad_fn.next_functions  # type: ignore[union-attr]
    assert joined[0] == (None, 0) and joined[1][0].variable is x


def test_detach_in_place_cuts_the_graph() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2.0
    assert y.detach_() is y and y.is_leaf and not y.requires_grad
    with pytest.raises(AutogradError, match="of a view"):
        (x * 2.0)[0].detach_()
