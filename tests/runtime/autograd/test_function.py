"""Functions with a gradient written in Python."""

import gc
import weakref
from typing import Any

import pytest

from perflab import runtime as rt
from perflab.runtime import AutogradError, Function, Tensor
from perflab.runtime.autograd import once_differentiable

from .square import Square, leaf


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


class Affine(Function):
    """The setup_context style: forward takes no ctx."""

    @staticmethod
    def forward(x: Tensor, w: Tensor, shift: float) -> Tensor:
        return x * w + shift

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        x, w, ctx.shift = inputs
        ctx.save_for_backward(x, w, None)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        x, w, nothing = ctx.saved_tensors
        assert nothing is None and ctx.shift == 3.0
        return g * w, g * x, None


def test_setup_context() -> None:
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = Affine.apply(x, w, 3.0)
    assert y.tolist() == [6.0, 11.0]
    y.sum().backward()
    assert x.grad is not None and w.grad is not None
    assert (x.grad.tolist(), w.grad.tolist()) == ([3.0, 4.0], [1.0, 2.0])


def test_arguments_by_name_and_defaults() -> None:
    x, w = leaf(2.0), leaf(5.0)
    y = Affine.apply(shift=3.0, w=w, x=x)
    y.backward()
    assert (y.item(), x.grad.item(), w.grad.item()) == (13.0, 5.0, 2.0)  # type: ignore[union-attr]
    with pytest.raises(TypeError, match="unexpected keyword argument 'slope'"):
        Affine.apply(x, w, 3.0, slope=3.0)

    class Scaled(Function):
        @staticmethod
        def forward(ctx: Any, a: Tensor, factor: float = 2.0, *, square: bool = False) -> Tensor:
            ctx.slope = factor**2 if square else factor
            return a * ctx.slope

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Any:
            return g * ctx.slope, None

    class Doubled(Affine):
        @staticmethod
        def forward(x: Tensor, w: Tensor, shift: float = 3.0) -> Tensor:
            return x * w + shift

    for call, slope in ((lambda a: Scaled.apply(a), 2.0), (lambda a: Scaled.apply(a, factor=3.0, square=True), 9.0)):
        a = leaf(1.0)
        call(a).backward()
        assert a.grad is not None and a.grad.item() == slope
    assert Doubled.apply(x, w).item() == 13.0


@pytest.mark.parametrize("name", ["forward", "backward", "setup_context"])
def test_methods_must_be_static(name: str) -> None:
    with pytest.raises(TypeError, match=rf"Bad.{name} must be a static method: write @staticmethod above it"):
        type("Bad", (Function,), {name: lambda ctx, *args: None})


class SortOf(Function):
    """A differentiable output, one that is not, an int one, and one that is no tensor."""

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> tuple[Tensor, Tensor, Tensor, str]:
        constant = a * 0.0
        ctx.mark_non_differentiable(constant)
        ctx.set_materialize_grads(False)
        return a * 2.0, constant, rt.arange(2), "text"

    @staticmethod
    def backward(ctx: Any, g: Any, *others: Any) -> Tensor:
        assert others == (None, None, None)
        return g * 2.0


def test_outputs_without_gradient_and_outputs_that_are_no_tensors() -> None:
    x = leaf([1.0, 2.0])
    y, constant, ints, text = SortOf.apply(x)
    assert y.requires_grad and not constant.requires_grad and not ints.requires_grad and text == "text"
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 2.0]


def test_gradients_that_did_not_arrive() -> None:
    seen: list[Any] = []

    class Two(Function):
        @staticmethod
        def forward(ctx: Any, a: Tensor, materialize: bool) -> tuple[Tensor, Tensor]:
            ctx.set_materialize_grads(materialize)
            return a * 1.0, a * 2.0

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            seen.append([None if g is None else g.tolist() for g in gradients])
            return gradients[1] * 2.0, None

    for materialize in (True, False):
        Two.apply(leaf([1.0]), materialize)[1].backward()
    assert seen == [[[0.0], [1.0]], [None, [1.0]]]


def test_an_input_that_comes_back_is_another_tensor_with_the_same_memory() -> None:
    class Same(Function):
        @staticmethod
        def forward(ctx: Any, a: Tensor) -> Tensor:
            return a

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Tensor:
            return g * 7.0

    x = leaf([1.0])
    y = Same.apply(x)
    assert y is not x and x.is_leaf and y.data_ptr() == x.data_ptr()
    y.backward()
    assert x.grad is not None and x.grad.tolist() == [7.0]


class Shaped(Function):
    gives: Any = None

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        return a.sum()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return Shaped.gives


def test_gradients_of_other_shapes() -> None:
    x = leaf([[1.0, 2.0, 3.0]])
    Shaped.gives = rt.ones((4, 2, 3), dtype=rt.float64)
    Shaped.apply(x).backward()
    assert x.grad is not None and x.grad.tolist() == [[8.0, 8.0, 8.0]]  # summed down
    Shaped.gives = rt.ones((2, 3, 1), dtype=rt.float64)
    message = r"Shaped.backward returned an invalid gradient at index 0: got \[2, 3, 1\], but expected a shape "
    with pytest.raises(AutogradError, match=message + r"compatible with \[1, 3\]"):
        Shaped.apply(x).backward()


def test_gradients_come_in_the_dtype_of_their_inputs() -> None:
    x = rt.ones(2, requires_grad=True)
    Shaped.gives = rt.ones(2, dtype=rt.float64)
    Shaped.apply(x * 1.0).backward()
    assert x.grad is not None and x.grad.dtype is rt.float32


class Once(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        ctx.save_for_backward(a)
        return a * a

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> Tensor:
        assert not rt.is_grad_enabled()
        (a,) = ctx.saved_tensors
        return 2.0 * a * g


def test_once_differentiable() -> None:
    x = leaf([3.0])
    Once.apply(x).backward()
    assert x.grad is not None and x.grad.tolist() == [6.0]
    (first,) = rt.autograd.grad(Once.apply(x * 1.0) * x, x, create_graph=True)
    assert first is not None and first.tolist() == [27.0]
    with pytest.raises(AutogradError, match="differentiate twice through Once, whose backward is marked"):
        first.backward()


def test_needs_input_grad() -> None:
    seen: list[tuple[bool, ...]] = []

    class Asks(Function):
        @staticmethod
        def forward(ctx: Any, a: Tensor, b: Tensor, n: int) -> Tensor:
            seen.append(ctx.needs_input_grad)
            return a * b

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Any:
            return g * 2.0, g * 3.0, None

    x, constant = leaf([1.0]), rt.ones(1, dtype=rt.float64)
    Asks.apply(x, constant, 3).backward()
    assert seen == [(True, False, False)]
    assert x.grad is not None and x.grad.tolist() == [2.0] and constant.grad is None
