"""Ops whose shape rule is Python and says several outputs, which come as a named tuple."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.profiler import profile
from perflab.runtime import registry
from perflab.runtime.op import sample
from perflab.runtime.registry import OPS, primitive
from perflab.runtime.spec import Spec, int64


@pytest.fixture(scope="module")
def polar() -> Iterator[Any]:
    """Of x and y: their product, the number of axes as int64, and the sum of squares."""

    @primitive(
        infer=lambda x, y: (x, Spec((), int64), x),
        returns=("product", "rank", "squares"),
        kinds="f",
        flops=lambda x, y, out: 4 * out.product.size,
        samples=(sample((2, 3), (2, 3)),),
    )
    def several_polar(xp, x, y):
        """Three results.

        >>> several_polar(tensor([1.0]), tensor([2.0])).squares.tolist()
        [5.0]
        """
        return x * y, np.int64(x.ndim), x * x + y * y

    @several_polar.vjp
    def _(ct, x, y, out):
        product, _, squares = ct
        return product * y + squares * x * 2, product * out.product / y + squares * y * 2

    registry.check(OPS["several_polar"])
    yield several_polar
    del OPS["several_polar"]


X, Y = np.array([1.0, 2.0, -3.0]), np.array([4.0, 0.5, 2.0])


def test_the_result_is_a_named_tuple(polar: Any) -> None:
    found = polar(rt.tensor(X), rt.tensor(Y))
    assert type(found).__name__ == "several_polar_result" and found._fields == ("product", "rank", "squares")
    product, rank, squares = found
    assert product is found.product
    np.testing.assert_array_equal(product.numpy(), X * Y)
    np.testing.assert_array_equal(squares.numpy(), X * X + Y * Y)
    assert (rank.item(), rank.dtype) == (1, int64)


def test_gradients_flow_into_each_float_output(polar: Any) -> None:
    x, y = (rt.tensor(a, requires_grad=True) for a in (X, Y))
    found = polar(x, y)
    assert not found.rank.requires_grad and found.rank.grad_fn is None
    assert found.product.grad_fn is found.squares.grad_fn
    assert found.product.grad_fn.name() == "SeveralPolarBackward0"
    found.squares.sum().backward()  # no gradient arrives at the product: zeros stand in
    np.testing.assert_allclose(x.grad.numpy(), 2 * X)
    x.grad = y.grad = None
    product, _, squares = polar(x, y)
    (product * 3 + squares).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 3 * Y + 2 * X)
    np.testing.assert_allclose(y.grad.numpy(), 3 * X + 2 * Y)


def test_a_gradient_may_be_differentiated_again(polar: Any) -> None:
    x, y = (rt.tensor(a, requires_grad=True) for a in (X, Y))
    product, _, squares = polar(x, y)
    (product * squares).sum().backward(create_graph=True)  # f = xy(x^2 + y^2)
    np.testing.assert_allclose(x.grad.detach().numpy(), 3 * X**2 * Y + Y**3)
    np.testing.assert_allclose(y.grad.detach().numpy(), 3 * Y**2 * X + X**3)
    slope = (x.grad * y.grad).sum()
    x.grad = y.grad = None
    slope.backward()
    fx, fy = 3 * X**2 * Y + Y**3, 3 * Y**2 * X + X**3
    fxx, fxy, fyy = 6 * X * Y, 3 * X**2 + 3 * Y**2, 6 * X * Y
    np.testing.assert_allclose(x.grad.numpy(), fxx * fy + fx * fxy)
    np.testing.assert_allclose(y.grad.numpy(), fxy * fy + fx * fyy)


def test_an_op_with_several_outputs_may_be_called_by_a_gradient(polar: Any) -> None:
    @primitive(rule="same", flops=lambda a, out: 0, samples=(sample((2,)),), public=False)
    def calls_polar(xp, a):
        """a, with a gradient of three times itself.

        >>> calls_polar(tensor([1.0])).tolist()
        [1.0]
        """
        return a

    @calls_polar.vjp
    def _(ct, a):
        found = polar(ct, a)
        return found.product * 3

    try:
        registry.check(OPS["calls_polar"])
        x = rt.tensor(X, requires_grad=True)
        calls_polar(x).backward(rt.tensor(Y))
        np.testing.assert_allclose(x.grad.numpy(), 3 * X * Y)
    finally:
        del OPS["calls_polar"]


def test_it_is_one_op_of_the_profile(polar: Any) -> None:
    x, y = (rt.tensor(a, requires_grad=True) for a in (X, Y))
    with profile() as p:
        polar(x, y).squares.sum().backward()
    counts = {row.name: row.count for row in p.key_averages().rows}
    assert counts["several_polar"] == 1


def test_a_rule_with_another_number_of_outputs_is_refused() -> None:
    @primitive(
        infer=lambda a: (a,),
        returns=("first", "second"),
        flops=lambda a, out: 0,
        samples=(sample((2,)),),
        differentiable=False,
    )
    def one_too_few(xp, a):
        """Nothing.

        >>> 1
        1
        """
        return a, a

    try:
        with pytest.raises(rt.ShapeError, match="one_too_few: its shape rule gave 1 outputs, it declares 2"):
            one_too_few(rt.ones(2))
    finally:
        del OPS["one_too_few"]
