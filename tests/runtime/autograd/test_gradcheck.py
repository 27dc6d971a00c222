"""gradcheck and gradgradcheck: gradients against finite differences."""

from typing import Any

import pytest

from perflab import runtime as rt
from perflab.runtime import AutogradError, Function, GradcheckError, Tensor
from perflab.runtime.autograd import gradcheck, gradgradcheck


def leaf(values: Any) -> Tensor:
    return rt.tensor(values, dtype=rt.float64, requires_grad=True)


class Wrong(Function):
    """Its gradient is right; the gradient of its gradient is not."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, factor: float) -> Tensor:
        ctx.save_for_backward(a)
        ctx.factor = factor
        return a * a

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
        (a,) = ctx.saved_tensors
        return g * a.detach() * 2.0 * ctx.factor, None


def test_right_gradients_pass() -> None:
    assert gradcheck(lambda a, b: (a @ b, a.exp()), (leaf([[1.0, 2.0]]), leaf([[3.0], [4.0]])))
    assert gradgradcheck(lambda a, b: a * b.exp(), (leaf([1.0]), leaf([0.5])))
    assert gradcheck(lambda a: a * 2.0, leaf([]))


def test_what_requires_no_grad_is_passed_on() -> None:
    assert gradcheck(lambda a, n, b: a * b * n, (leaf([1.0, 2.0]), 3.0, rt.tensor([1.0, 2.0])))


def test_a_wrong_gradient_shows_both_matrices() -> None:
    with pytest.raises(GradcheckError) as caught:
        gradcheck(lambda a: Wrong.apply(a, 1.5), leaf([1.0, 2.0]))
    message = str(caught.value)
    assert message.startswith("Jacobian mismatch for output 0 with respect to input 0,\nnumerical:\n[[2.")
    assert "analytical:\n[[3., 0.],\n [0., 6.]]" in message
    assert gradcheck(lambda a: Wrong.apply(a, 1.5), leaf([1.0, 2.0]), raise_exception=False) is False


def test_a_wrong_second_gradient_is_found() -> None:
    x = leaf([1.0, 2.0])
    assert gradcheck(lambda a: Wrong.apply(a, 1.0), x)
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"):
        gradgradcheck(lambda a: Wrong.apply(a, 1.0), x)
    assert gradgradcheck(lambda a: a * a, x, leaf([1.0, -1.0]))


def test_tolerances_decide() -> None:
    nearly = (lambda a: Wrong.apply(a, 1.001), leaf([1.0]))
    assert not gradcheck(*nearly, atol=0.0, rtol=1e-4, raise_exception=False)
    assert gradcheck(*nearly, atol=0.0, rtol=1e-2) and gradcheck(*nearly, atol=0.1, rtol=0.0)


def test_single_precision_is_warned_about() -> None:
    with pytest.warns(UserWarning, match="input 0 is float32: differences need float64"):
        gradcheck(lambda a: a * 2.0, rt.ones(1, requires_grad=True), eps=0.1, atol=0.1)


def test_nothing_to_check_is_said() -> None:
    with pytest.raises(AutogradError, match="none of the inputs requires grad"):
        gradcheck(lambda a: a, rt.ones(1))
    with pytest.raises(GradcheckError, match="no output of the function requires grad"):
        gradcheck(lambda a: a.detach(), leaf([1.0]))
