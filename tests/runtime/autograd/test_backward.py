"""Passes over several tensors, and to chosen inputs: autograd.backward, autograd.grad, backward(inputs=)."""

from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import AutogradError, Tensor
from perflab.runtime.autograd import backward, grad


def leaf(values: Any) -> Tensor:
    return rt.tensor(values, dtype=rt.float64, requires_grad=True)


def values(t: Tensor | None) -> Any:
    assert t is not None
    return t.tolist()


def test_several_tensors_in_one_pass() -> None:
    x = leaf([1.0, 2.0])
    shared = x * x
    calls: list[Any] = []
    shared.register_hook(lambda g: calls.append(g.tolist()))
    backward([shared.sum(), shared * 3.0, x], [None, rt.ones(2, dtype=rt.float64), rt.ones(2, dtype=rt.float64)])
    assert values(x.grad) == [9.0, 17.0] and calls == [[4.0, 4.0]]


def test_a_tensor_and_what_depends_on_it() -> None:
    x = leaf(2.0)
    y = x * x
    backward([y, y * y])
    assert values(x.grad) == 4.0 + 4 * 8.0


def test_gradients_are_one_for_each_tensor() -> None:
    x = leaf([1.0, 2.0])
    with pytest.raises(AutogradError, match="has 2 gradients for 1 tensors"):
        backward(x * 2.0, [None, None])
    with pytest.raises(AutogradError, match=r"needs a tensor with one element, this one has shape \(2,\)"):
        backward([x.sum(), x * 2.0])


def test_backward_to_chosen_inputs() -> None:
    x, y = leaf(2.0), leaf(3.0)
    inner = x * y
    ran: list[str] = []
    branch = y * 5.0
    branch.register_hook(lambda g: ran.append("branch"))
    (inner * inner + branch).backward(inputs=[x])
    assert values(x.grad) == 2 * 6.0 * 3.0 and y.grad is None and ran == []


def test_backward_to_an_inner_tensor_and_a_single_one() -> None:
    x, y = leaf(2.0), leaf(3.0)
    inner = x * y
    (inner * inner).backward(inputs=inner)
    assert values(inner.grad) == 12.0 and x.grad is None and y.grad is None
    with pytest.raises(AutogradError, match="inputs is empty"):
        (x * 1.0).backward(inputs=[])


def test_grad_touches_no_leaf() -> None:
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    inner = x * y
    gx, gi, gx2 = grad((inner * inner).sum(), (x, inner, x))
    assert values(gi) == [6.0, 16.0] and values(gx) == values(gx2) == [18.0, 64.0]
    assert x.grad is None and y.grad is None and inner.grad is None


def test_grad_runs_only_what_leads_to_its_inputs() -> None:
    x, y = leaf(2.0), leaf(3.0)
    inner = x * 1.0
    ran: list[str] = []
    inner.register_hook(lambda g: ran.append("inner"))
    z = inner * y
    assert values(grad(z, y, retain_graph=True)[0]) == 2.0 and ran == []
    assert values(grad(z, inner)[0]) == 3.0 and ran == ["inner"]


def test_grad_ends_at_its_inputs_also_where_the_graph_behind_was_used_up() -> None:
    x = leaf(3.0)
    y = x * x
    y.backward()
    assert values(grad(y * y, y)[0]) == 18.0


def test_grad_of_an_output_itself() -> None:
    x = leaf([1.0, 2.0])
    y = x * 3.0
    weights = rt.tensor([5.0, 7.0], dtype=rt.float64)
    gy, gx = grad(y, (y, x), grad_outputs=weights)
    assert values(gy) == [5.0, 7.0] and values(gx) == [15.0, 21.0]
    assert values(grad(x, x, grad_outputs=weights)[0]) == [5.0, 7.0]


def test_unused_inputs() -> None:
    x, unused = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = (x * 2.0).sum()
    with pytest.raises(AutogradError, match=r"input 1 was not used in the graph.*allow_unused=True"):
        grad(y, (x, unused), retain_graph=True)
    gx, none = grad(y, (x, unused), retain_graph=True, allow_unused=True)
    assert values(gx) == [2.0, 2.0] and none is None
    assert values(grad(y, unused, materialize_grads=True)[0]) == [0.0, 0.0]
    with pytest.raises(ValueError, match="leave allow_unused out"):
        grad(y, x, allow_unused=False, materialize_grads=True)


def test_what_grad_refuses() -> None:
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    with pytest.raises(AutogradError, match="input 0 does not require grad"):
        grad(y, rt.ones(2))
    with pytest.raises(AutogradError, match="is_grads_batched is not there"):
        grad(y, x, is_grads_batched=True)
    with pytest.raises(AutogradError, match="inputs is empty"):
        grad(y, ())
    with pytest.raises(AutogradError, match="does not require grad"):
        grad(rt.ones(1), x)


def test_a_hessian_by_double_backward() -> None:
    start = np.array([0.5, -1.0, 2.0])
    x = leaf(start)
    (first,) = grad((x[0] * x[1] * x[2]).exp() + (x * x * x).sum(), x, create_graph=True)
    assert first is not None
    rows = [values(grad(first[i], x, retain_graph=True)[0]) for i in range(3)]
    a, b, c = start
    e = np.exp(a * b * c)
    expected = e * np.array(
        [
            [(b * c) ** 2, c + a * b * c * c, b + a * b * b * c],
            [c + a * b * c * c, (a * c) ** 2, a + a * a * b * c],
            [b + a * b * b * c, a + a * a * b * c, (a * b) ** 2],
        ]
    ) + np.diag(6 * start)
    np.testing.assert_allclose(rows, expected, rtol=1e-12)


def test_a_gradient_penalty() -> None:
    w, x = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([[0.5, -1.0]])
    (gx,) = grad(((x @ w) * (x @ w)).sum(), x, create_graph=True)
    assert gx is not None
    (gx * gx).sum().backward()
    xv, wv = x.detach().numpy(), w.detach().numpy()
    g = 2 * xv @ wv @ wv.T  # and the loss is g g^T
    expected = 4 * (xv.T @ (g @ wv) + g.T @ (xv @ wv))
    np.testing.assert_allclose(w.grad.numpy(), expected, rtol=1e-12)  # type: ignore[union-attr]
