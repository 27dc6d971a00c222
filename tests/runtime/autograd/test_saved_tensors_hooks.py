"""Saved-tensor hooks: what C++ nodes and Functions save goes through pack and unpack."""

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import AutogradError, Function, Tensor, _core
from perflab.runtime.autograd.graph import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks


def leaf(values: Any) -> Tensor:
    return rt.tensor(values, dtype=rt.float64, requires_grad=True)


def test_hooks_see_inputs_and_outputs_that_are_saved() -> None:
    packed: list[list[float]] = []

    def pack(t: Tensor) -> np.ndarray[Any, Any]:
        packed.append(t.tolist())
        assert not t.requires_grad and not rt.is_grad_enabled()
        return np.array(t.numpy())

    x = leaf([1.0, 2.0])
    with saved_tensors_hooks(pack, lambda a: rt.tensor(a)):
        y = (x * x).exp()
    assert packed[:2] == [[1.0, 2.0], [1.0, 2.0]] and packed[2] == pytest.approx(np.exp([1.0, 4.0]).tolist())
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == pytest.approx([2 * np.e, 4 * np.exp(4.0)])


def test_unpacked_values_are_what_backward_computes_with() -> None:
    x = leaf([3.0])
    with saved_tensors_hooks(lambda t: None, lambda _: rt.full((1,), 10.0, dtype=rt.float64)):
        y = x.exp()
    y.backward()
    assert x.grad is not None and x.grad.tolist() == [10.0]


def test_unpack_runs_for_every_pass_and_the_memory_is_released() -> None:
    calls: list[str] = []

    class Packed:
        pass

    packed = Packed()
    alive = weakref.ref(packed)
    x = leaf([1.0])
    hooks = saved_tensors_hooks(lambda t, p=packed: p, lambda p: calls.append("unpack") or rt.ones(1, dtype=rt.float64))
    with hooks:
        y = x.exp()
    del hooks, packed
    y.backward(retain_graph=True)
    assert calls == ["unpack"] and alive() is not None
    y.backward()
    assert calls == ["unpack"] * 2
    gc.collect()
    assert alive() is None


def test_the_innermost_hooks_apply() -> None:
    seen: list[str] = []

    def hooks(name: str) -> saved_tensors_hooks:
        return saved_tensors_hooks(lambda t: seen.append(name) or t, lambda t: t)

    x = leaf([1.0])
    with hooks("outer"):
        x.exp()
        with hooks("inner"):
            x.exp()
        x.exp()
    x.exp()
    assert seen == ["outer", "inner", "outer"]


def test_gradients_of_gradients_through_packed_values() -> None:
    x = leaf([2.0])
    with saved_tensors_hooks(lambda t: t.tolist(), lambda v: rt.tensor(v, dtype=rt.float64)):
        y = x * x * x
        (first,) = rt.autograd.grad(y, x, create_graph=True)
        (second,) = rt.autograd.grad(first, x, create_graph=True)
    assert (first.item(), second.item()) == (12.0, 12.0)
    assert rt.autograd.grad(second, x)[0].item() == 6.0  # type: ignore[union-attr]


def test_in_place_ops_save_the_value_that_they_wrote() -> None:
    packed: list[list[float]] = []
    x = leaf([0.0, 1.0])
    y = x * 1.0
    with saved_tensors_hooks(lambda t: packed.append(t.tolist()) or t.copy(), lambda t: t):
        _core.inplace(rt.sigmoid)(y)
    expected = 1 / (1 + np.exp([0.0, -1.0]))
    assert packed[-1] == pytest.approx(expected.tolist())
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == pytest.approx((expected * (1 - expected)).tolist())


class Scaled(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        ctx.save_for_backward(a, a * 3.0)
        return a * a

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        a, triple = ctx.saved_tensors
        return g * (triple - a)


def test_what_a_function_saves_goes_through_the_hooks() -> None:
    packed: list[list[float]] = []
    x = leaf([5.0])
    with saved_tensors_hooks(lambda t: packed.append(t.tolist()) or t, lambda t: t):
        Scaled.apply(x).backward()
    assert packed == [[5.0], [15.0]] and x.grad is not None and x.grad.tolist() == [10.0]


@pytest.mark.parametrize(
    ("unpacked", "error", "message"),
    [
        (3, TypeError, "must return a Tensor, not a int"),
        (rt.ones(3, dtype=rt.float64), AutogradError, r"gave a float64 \(3,\), but what was packed is float64 \(2,\)"),
        (rt.ones(2), AutogradError, r"gave a float32 \(2,\)"),
    ],
)
def test_what_unpack_gives_is_checked(unpacked: Any, error: type[Exception], message: str) -> None:
    with saved_tensors_hooks(lambda t: t, lambda _: unpacked):
        y = leaf([1.0, 2.0]).exp().sum()
    with pytest.raises(error, match=message):
        y.backward()


def test_errors_of_hooks_come_out() -> None:
    def fail(_: Any) -> Any:
        raise LookupError("on purpose")

    x = leaf([1.0])
    with saved_tensors_hooks(fail, fail), pytest.raises(LookupError, match="on purpose"):
        x.exp()
    with saved_tensors_hooks(lambda t: t, fail):
        y = x.exp()
    with pytest.raises(LookupError, match="on purpose"):
        y.backward()


def test_save_on_cpu_keeps_copies() -> None:
    x = leaf([1.0, 2.0])
    with save_on_cpu():
        y = (x * x).sum()
    with rt.no_grad():
        x.mul_(100.0)  # the copies are as they were
    y.backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 4.0]


def test_disable_saved_tensors_hooks() -> None:
    with disable_saved_tensors_hooks("not here"), pytest.raises(AutogradError, match="not here"):
        with save_on_cpu():
            pass
    with save_on_cpu():
        pass


def test_a_cycle_through_a_packed_value_is_collected() -> None:
    class Marker:
        pass

    marker = Marker()
    alive = weakref.ref(marker)
    hold: list[Any] = [marker]
    with saved_tensors_hooks(lambda t, hold=hold: hold, lambda h: h[0]):
        y = leaf([1.0]).exp()
    hold.append(y)  # y -> node -> packed value -> hold -> y
    del y, hold, marker
    gc.collect()
    assert alive() is None
