"""Functions with a gradient written in Python."""

import gc
import weakref
from typing import Any

import pytest

from perflab import runtime as rt
from perflab.runtime import AutogradError, Function, Tensor


class Square(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        ctx.save_for_backward(a)
        return a * a

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (a,) = ctx.saved_tensors
        return 2.0 * a * g


def leaf(value: Any) -> Tensor:
    return rt.tensor(value, dtype=rt.float64, requires_grad=True)


def test_it_stands_in_the_graph_under_its_name() -> None:
    x = leaf([1.0, 3.0])
    y = Square.apply(x)
    assert y.grad_fn.name() == "SquareBackward" and y.grad_fn.next_functions[0][0].variable is x
    (y * 2.0).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [4.0, 12.0]


def test_it_is_differentiable_twice() -> None:
    x = leaf([1.0, 3.0])
    Square.apply(Square.apply(x)).sum().backward(create_graph=True)
    first, x.grad = x.grad, None
    assert first is not None and first.tolist() == [4.0, 4.0 * 27]
    first.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [12.0, 12.0 * 9]


def test_forward_is_not_recorded_and_without_inputs_that_need_it_there_is_no_history() -> None:
    assert Square.apply(rt.ones(2)).grad_fn is None
    with rt.no_grad():
        assert Square.apply(leaf([1.0])).grad_fn is None


class Pair(Function):
    """Two outputs, an argument that is no tensor, a saved output and a saved intermediate."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, factor: float) -> tuple[Tensor, Tensor]:
        e = a.exp()
        double = a * factor
        ctx.save_for_backward(e, double)
        ctx.factor = factor
        return e, a + 1.0

    @staticmethod
    def backward(ctx: Any, g_exp: Tensor, g_plus: Tensor) -> tuple[Tensor, None]:
        e, double = ctx.saved_tensors
        assert double.shape == e.shape and ctx.needs_input_grad == (True, False)
        return g_exp * e + g_plus, None


def test_several_outputs_and_missing_gradients_are_zeros() -> None:
    x = leaf([0.0, 1.0])
    e, plus = Pair.apply(x, 2.0)
    plus.sum().backward(retain_graph=True)
    assert x.grad is not None and x.grad.tolist() == [1.0, 1.0]
    x.grad = None
    (e.sum() + plus.sum()).backward()
    assert x.grad.tolist() == pytest.approx([2.0, 1.0 + 2.718281828459045])


def test_a_saved_tensor_changed_in_place_is_refused() -> None:
    x = leaf([1.0])
    y = x * 1.0
    z = Square.apply(y)
    with rt.no_grad():
        y.add_(1.0)
    with pytest.raises(AutogradError, match="SquareBackward, is at version 1; expected version 0"):
        z.sum().backward()


class Wrong(Function):
    gives: Any = ()

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        return a * b

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return Wrong.gives


@pytest.mark.parametrize(
    ("gives", "message"),
    [
        ((), "Wrong.backward returned 0 gradients, but forward took 2 arguments"),
        ((None, None, 3), "returned 3 gradients"),
        ((1.0, None), "gradient 0 is a float, not a Tensor or None"),
    ],
)
def test_wrong_gradients_are_named(gives: Any, message: str) -> None:
    Wrong.gives = gives
    with pytest.raises(AutogradError, match=message):
        Wrong.apply(leaf(1.0), leaf(2.0)).backward()


def test_more_nones_at_the_end_are_ignored() -> None:
    x, y = leaf(1.0), leaf(2.0)
    Wrong.gives = (rt.tensor(5.0, dtype=rt.float64), None, None)
    Wrong.apply(x, y).backward()
    assert x.grad is not None and x.grad.item() == 5.0 and y.grad is None


class Failing(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        return a * 1.0

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        raise LookupError("on purpose")


def test_an_exception_comes_out_with_its_own_traceback() -> None:
    with pytest.raises(LookupError, match="on purpose") as caught:
        (Failing.apply(leaf(1.0)) * 2.0).backward()
    assert caught.traceback[-1].name == "backward"


class Reentrant(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        ctx.save_for_backward(a)
        return a * a

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (a,) = ctx.saved_tensors
        inner = a.detach().requires_grad_()
        with rt.enable_grad():
            (inner * inner).sum().backward()
        assert inner.grad is not None
        return g * inner.grad


def test_a_backward_inside_a_backward() -> None:
    x = leaf([3.0])
    (Reentrant.apply(x * 2.0) * 1.0).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [24.0]


def test_a_cycle_through_a_context_is_collected() -> None:
    class Marker:
        pass

    class Cyclic(Function):
        @staticmethod
        def forward(ctx: Any, a: Tensor, hold: list[Any]) -> Tensor:
            ctx.hold = hold
            return a * 2.0

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
            return g, None

    marker = Marker()
    alive = weakref.ref(marker)
    hold: list[Any] = [marker]
    y = Cyclic.apply(leaf(1.0), hold) * 2 * 3
    hold.append(y)  # y -> nodes -> ctx -> hold -> y
    del y, hold, marker
    gc.collect()
    assert alive() is None
