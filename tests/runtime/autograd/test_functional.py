"""autograd.functional: jacobian, hessian, vjp, jvp, vhp, hvp."""

from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import AutogradError, Tensor
from perflab.runtime.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp


def tensor(values: Any) -> Tensor:
    return rt.tensor(values, dtype=rt.float64)


MATRIX = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def linear(x: Tensor) -> Tensor:
    return tensor(MATRIX) @ x


def cubes(x: Tensor, y: Tensor) -> Tensor:
    return (x * x * x * y).sum()


def test_jacobian_of_a_linear_map_is_its_matrix() -> None:
    found = jacobian(linear, tensor([1.0, 1.0, 1.0]))
    assert found.tolist() == MATRIX.tolist() and not found.requires_grad


def test_jacobian_has_a_block_for_each_output_and_input() -> None:
    x, y = tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([5.0, 6.0])
    found = jacobian(lambda x, y: (x @ y, y * y), (x, y))
    assert [[block.shape for block in row] for row in found] == [[(2, 2, 2), (2, 2)], [(2, 2, 2), (2, 2)]]
    assert found[0][1].tolist() == x.tolist() and found[1][1].tolist() == [[10.0, 0.0], [0.0, 12.0]]
    assert found[0][0].tolist() == [[[5.0, 6.0], [0.0, 0.0]], [[0.0, 0.0], [5.0, 6.0]]]
    assert found[1][0].tolist() == np.zeros((2, 2, 2)).tolist()


def test_jacobian_of_empty_inputs_and_outputs() -> None:
    assert jacobian(lambda x: x * 2.0, rt.ones(0)).shape == (0, 0)
    assert jacobian(lambda x: x.sum(), rt.ones((0, 3))).shape == (0, 3)


def test_vjp_and_jvp_are_products_with_the_matrix() -> None:
    x = tensor([1.0, 1.0, 1.0])
    out, product = vjp(linear, x, tensor([1.0, 10.0]))
    assert out.tolist() == [6.0, 15.0] and product.tolist() == [41.0, 52.0, 63.0]
    out, product = jvp(linear, x, tensor([1.0, 10.0, 100.0]))
    assert out.tolist() == [6.0, 15.0] and product.tolist() == [321.0, 654.0]
    value, gradient = vjp(lambda a: (a * a).sum(), x)
    assert value.item() == 3.0 and gradient.tolist() == [2.0, 2.0, 2.0]
    value, slope = jvp(lambda a: a.exp(), tensor([0.0]))
    assert value.tolist() == slope.tolist() == [1.0]


def test_jvp_of_several_inputs_and_outputs() -> None:
    x, y = tensor([2.0]), tensor([3.0])
    outs, slopes = jvp(lambda a, b: (a * b, a + b), (x, y), (tensor([1.0]), tensor([10.0])))
    assert [o.item() for o in outs] == [6.0, 5.0] and [s.item() for s in slopes] == [23.0, 11.0]


def test_hessian_of_a_cubic() -> None:
    x, y = tensor([1.0, 2.0]), tensor([3.0, 5.0])
    found = hessian(cubes, (x, y))
    assert found[0][0].tolist() == [[18.0, 0.0], [0.0, 60.0]]
    assert found[0][1].tolist() == found[1][0].tolist() == [[3.0, 0.0], [0.0, 12.0]]
    assert found[1][1].tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert hessian(lambda a: (a * a).sum(), x).tolist() == [[2.0, 0.0], [0.0, 2.0]]
    assert hessian(lambda a: a.sum(), x).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_hvp_and_vhp() -> None:
    x, y = tensor([1.0, 2.0]), tensor([3.0, 5.0])
    v = (tensor([1.0, 1.0]), tensor([10.0, 0.0]))
    for product in (hvp, vhp):
        value, (to_x, to_y) = product(cubes, (x, y), v)
        assert value.item() == 43.0
        assert to_x.tolist() == [18.0 + 30.0, 60.0] and to_y.tolist() == [3.0, 12.0]


def test_create_graph_gives_results_that_can_be_differentiated() -> None:
    x = tensor([2.0]).requires_grad_()
    found = jacobian(lambda a: a * a * a, x, create_graph=True)
    assert found.tolist() == [[12.0]]
    assert rt.autograd.grad(found.sum(), x)[0].tolist() == [12.0]  # type: ignore[union-attr]
    _, product = hvp(lambda a: (a**4.0).sum(), x, tensor([1.0]), create_graph=True)
    assert product.tolist() == [48.0]
    assert rt.autograd.grad(product.sum(), x)[0].tolist() == [48.0]  # type: ignore[union-attr]


def test_the_inputs_are_left_alone() -> None:
    x = tensor([2.0]).requires_grad_()
    jacobian(lambda a: a * a, x)
    hessian(lambda a: (a * a).sum(), x)
    assert x.grad is None
    with rt.no_grad():
        assert jacobian(lambda a: a * a, x).tolist() == [[4.0]]


def test_strict_refuses_what_does_not_matter() -> None:
    x, y = tensor([1.0]), tensor([2.0])
    assert vjp(lambda a, b: a * 2.0, (x, y), tensor([1.0]))[1][1].tolist() == [0.0]
    with pytest.raises(AutogradError, match="vjp: the output does not depend on input 1, which strict=True refuses"):
        vjp(lambda a, b: a * 2.0, (x, y), tensor([1.0]), strict=True)
    with pytest.raises(AutogradError, match="jacobian: the output does not depend on input 0"):
        jacobian(lambda a: y, x, strict=True)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: vjp(linear, x), AutogradError, "v may be left out where it has one element"),
        (lambda x: vjp(linear, x, x), AutogradError, r"v has the shapes \[\(3,\)\], it needs \[\(2,\)\]"),
        (lambda x: hessian(linear, x), AutogradError, r"hessian: the function must return one element.*\(2,\)"),
        (lambda x: jacobian(linear, [x]), TypeError, "the input must be a Tensor or a tuple of them, not list"),
        (lambda x: jacobian(lambda a: 3.0, x), TypeError, "what the function returns must be a Tensor"),
    ],
)
def test_what_does_not_fit_is_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(tensor([1.0, 1.0, 1.0]))
