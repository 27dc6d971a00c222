"""Ops declared by a user: custom_op."""

from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.profiler import profile
from perflab.runtime import OpError, Tensor
from perflab.runtime.library import custom_op
from perflab.runtime.spec import DType, Indices, Spec
from perflab.runtime.testing import check_op, sample


@custom_op("testlib::fused")
def fused(x: Tensor, y: Tensor, scale: float = 2.0) -> Tensor:
    """scale * x * y."""
    return x * y * scale


@fused.register_fake
def _(x: Spec, y: Spec, *, scale: float) -> Spec:
    return Spec(x.shape, x.dtype)


@fused.register_flops
def _(x: Spec, y: Spec, *, out: Spec, scale: float) -> int:
    return 2 * out.size


@fused.vjp
def _(ct: Any, x: Any, y: Any, *, scale: float) -> Any:
    return ct * y * scale, ct * x * scale


@custom_op("testlib::parts")
def parts(x: Tensor, places: Indices, n: int) -> tuple[Tensor, Tensor]:  # type: ignore[valid-type]
    """The first n elements, and chosen ones."""
    return x[:n].copy(), x[places].copy()


@parts.register_fake
def _(x: Spec, places: Spec, *, n: int) -> tuple[Spec, Spec]:
    if x.ndim != 1:
        raise rt.ShapeError(f"x has one axis, not shape {x.shape}")
    return Spec((n,), x.dtype), Spec(places.shape, x.dtype)


def leaf(values: Any, dtype: DType = rt.float64) -> Tensor:
    return rt.tensor(values, dtype=dtype, requires_grad=True)


def test_value_attributes_and_several_results() -> None:
    x, y = rt.tensor([1.0, 2.0]), rt.tensor([3.0, 4.0])
    assert fused(x, y).tolist() == [6.0, 16.0]
    assert fused(x, y, 1.0).tolist() == fused(x, y, scale=1.0).tolist() == [3.0, 8.0]
    first, chosen = parts(rt.tensor([1.0, 2.0, 3.0]), rt.tensor([2, 0]), 2)
    assert (first.tolist(), chosen.tolist()) == ([1.0, 2.0], [3.0, 1.0])


def test_gradients_from_a_vjp() -> None:
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    out = fused(x, y, 5.0)
    assert out.grad_fn is not None and out.grad_fn.name() == "Testlib::fusedBackward0"
    assert rt.autograd.gradcheck(lambda a, b: fused(a, b, 5.0), (x, y))
    assert rt.autograd.gradgradcheck(lambda a, b: fused(a, b, 5.0), (x, y))


def test_gradients_from_a_function() -> None:
    @custom_op("testlib::cube")
    def cube(x: Tensor, scale: float) -> Tensor:
        """scale * x ** 3"""
        return x * x * x * scale

    cube.register_fake(lambda x, *, scale: Spec(x.shape, x.dtype))
    with pytest.raises(OpError, match="testlib::cube: it has no gradient: declare one with vjp or register_autograd"):
        cube(leaf([2.0]), 3.0)

    def setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        x, ctx.scale = inputs
        ctx.save_for_backward(x)

    def backward(ctx: Any, g: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return g * x * x * (3.0 * ctx.scale), None

    cube.register_autograd(backward, setup_context=setup)
    x = leaf([2.0])
    cube(x, scale=3.0).backward()
    assert x.grad is not None and x.grad.tolist() == [36.0]
    assert rt.autograd.gradgradcheck(lambda a: cube(a, 3.0), x)


def test_it_stands_in_the_profile_the_table_and_flop_counts() -> None:
    x = rt.ones(4)
    with profile() as prof:
        fused(x, x)
    assert "testlib::fused" in prof.key_averages().table()
    with rt.FlopCounter() as counter:
        fused(x, x)
    assert counter.get_flop_counts()["Global"]["testlib::fused"] == 8
    assert rt.dispatch_table("testlib::fused")["cpu"]["float32"] == "python"


def test_errors_name_it_like_a_built_in_op() -> None:
    with pytest.raises(TypeError, match="testlib::fused takes 2 tensors, 1 arguments were given"):
        fused(rt.ones(1))
    with pytest.raises(TypeError, match="testlib::fused has no parameter 'nothing'"):
        fused(rt.ones(1), rt.ones(1), nothing=1)


def test_a_kernel_can_be_replaced() -> None:
    @custom_op("testlib::replaced")
    def op(x: Tensor) -> Tensor:
        """x"""
        return x * 1.0

    with pytest.raises(OpError, match="testlib::replaced: declare its shape rule with register_fake"):
        op(rt.ones(1))
    op.register_fake(lambda x: Spec(x.shape, x.dtype))

    @op.register_kernel("cpu")
    def _(x: Tensor) -> Tensor:
        return x * 7.0

    assert op(rt.ones(1)).tolist() == [7.0]
    op.register_kernel(("cpu",), lambda x: x * 9.0)
    assert op(rt.ones(1)).tolist() == [9.0]
    for backends in ("tpu", ["cpu", "tpu"]):
        with pytest.raises(OpError, match="testlib::replaced: there is no backend 'tpu', use 'cpu' or 'cuda'"):
            op.register_kernel(backends)


def test_an_op_of_one_backend_says_that_another_has_no_kernel() -> None:
    @custom_op("testlib::elsewhere", device_types="cuda")
    def op(x: Tensor) -> Tensor:
        """x"""
        return x * 1.0

    op.register_fake(lambda x: x)
    with pytest.raises(OpError, match="testlib::elsewhere: it has no kernel for 'cpu': declare one"):
        op(rt.ones(1))
    op.register_kernel("cpu", lambda x: x * 2.0)
    assert op(rt.ones(1)).tolist() == op(rt.ones(1, device="sim")).tolist() == [2.0]


def test_a_kernel_gives_what_the_shape_rule_says() -> None:
    @custom_op("testlib::summed")
    def op(x: Tensor) -> Tensor:
        """x, says its shape rule."""
        return x.sum()

    op.register_fake(lambda x: x)
    with pytest.raises(rt.ShapeError, match=r"testlib::summed: its kernel gave shape \(\), its shape rule says \(3,\)"):
        op(rt.ones(3))
    op.register_kernel("cpu", lambda x: (x, x))
    with pytest.raises(TypeError, match="testlib::summed: its kernel must give Tensors, not a tuple"):
        op(rt.ones(3))


def test_an_op_is_declared_of_a_function_without_a_decorator() -> None:
    def twice(x: Tensor) -> Tensor:
        """2 * x"""
        return x * 2.0

    op = custom_op("testlib::twice", twice, device_types="cpu")
    op.register_fake(lambda x: Spec(x.shape, x.dtype))
    assert op(rt.ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(OpError, match="testlib::other: there is no backend 'tpu', use 'cpu' or 'cuda'"):
        custom_op("testlib::other", twice, device_types=("cpu", "tpu"))


@pytest.mark.parametrize(
    ("name", "function", "message"),
    [
        ("plain", lambda x: x, "must have the form 'library::op'"),
        ("testlib::a", lambda x: x, r"annotate what it gives"),
    ],
)
def test_half_declared_ops_are_refused(name: str, function: Any, message: str) -> None:
    with pytest.raises(OpError, match=message):
        custom_op(name)(function)


def test_tensors_come_first() -> None:
    def late(n: int, x: Tensor) -> Tensor:
        return x

    with pytest.raises(OpError, match="'x' is a tensor after an attribute: tensors come first"):
        custom_op("testlib::late")(late)


def test_check_op_runs_the_sweep_on_it() -> None:
    samples = [sample((2, 3), (2, 3)), sample((), (), scale=3.0), sample((0, 2), (0, 2))]
    found = check_op(fused, samples)
    assert list(found) == list(rt.testing.KINDS)
    assert found["gradient"] == "3 samples"
    assert set(check_op(rt.add).values()) >= {"5 samples"}
    assert check_op(rt.clip)["value"] == "it is made of ops, of which each is checked"
    assert check_op(rt.matmul)["0-d"] == "refused: matmul: a matrix product needs at least 1 axis, not () @ ()"

    @custom_op("testlib::wrong")
    def wrong(x: Tensor) -> Tensor:
        """x * x"""
        return x * x

    wrong.register_fake(lambda x: Spec(x.shape, x.dtype))
    wrong.vjp(lambda ct, x: ct * x * 3.0)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        check_op(wrong, [sample((3,))])


def test_check_op_tells_what_it_did_not_check() -> None:
    found = check_op(parts, [sample((4,), np.array([1, 0]), n=2)])
    assert found["gradient"] == found["second gradient"] == found["saved bytes"] == "it has no gradient"
    assert found["zero-size"] == "1 sample"

    @custom_op("testlib::rows")
    def rows(x: Tensor) -> Tensor:
        """x + x, of two axes."""
        return x + x

    @rows.register_fake
    def _(x: Spec) -> Spec:
        if x.ndim != 2:
            raise rt.ShapeError(f"{x.shape} has not two axes")
        return x

    assert check_op(rows, [sample((2, 3))])["0-d"] == "refused: testlib::rows: () has not two axes"
    with pytest.raises(AssertionError, match=r"testlib::rows: no sample allows the check 'non-contiguous'"):
        check_op(rows, [sample((1, 1))])


def test_check_op_checks_the_gradient_of_a_function() -> None:
    for slope, right in ((2.0, True), (3.0, False)):

        @custom_op(f"testlib::twice{slope:.0f}")
        def twice(x: Tensor) -> Tensor:
            """x + x"""
            return x + x

        twice.register_fake(lambda x: Spec(x.shape, x.dtype))
        twice.register_autograd(lambda ctx, g, slope=slope: g * slope)
        if right:
            assert check_op(twice, [sample((2, 3))])["second gradient"] == "1 sample"
        else:
            with pytest.raises(AssertionError, match="Not equal to tolerance"):
                check_op(twice, [sample((2, 3))])


def test_an_input_that_a_kernel_cannot_take_is_found() -> None:
    @custom_op("testlib::largest")
    def largest(x: Tensor) -> Tensor:
        """The largest element."""
        return rt.tensor(x.numpy().max())

    largest.register_fake(lambda x: Spec((), x.dtype))
    with pytest.raises(ValueError, match="zero-size array") as caught:
        check_op(largest, [sample((2, 3))])
    assert "neither taken nor refused by a ShapeError in words" in caught.value.__notes__[0]
