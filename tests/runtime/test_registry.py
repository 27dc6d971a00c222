"""Declarations: what is refused, and what a declared op offers."""

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import registry
from perflab.runtime.op import sample
from perflab.runtime.registry import OPS, check, composite, pointwise, primitive
from perflab.runtime.spec import Axes, DType, Indices, Mask, Spec, float64


@pytest.fixture(autouse=True)
def own_table() -> Iterator[None]:
    """What a test declares is not swept by others (the core keeps it, under a name of its own)."""
    before = dict(OPS)
    yield
    OPS.clear()
    OPS.update(before)


def declared(handle: Any) -> Any:
    return handle.record


def test_a_half_declared_op_is_refused_by_what_it_lacks() -> None:
    @primitive(rule="same", flops=lambda a, out: out.size)
    def half_softplus(xp: Any, a: Any) -> Any:
        """log(1 + exp(a))."""
        return xp.logaddexp(a, 0)

    with pytest.raises(rt.OpError, match=r"half_softplus: declare samples and vjp \(see ops/pointwise.py"):
        check(declared(half_softplus))

    @primitive(dtype="bool")
    def half_empty(xp: Any, a: Any) -> Any:
        return a

    with pytest.raises(rt.OpError, match="half_empty: declare a docstring and rule or infer and flops and samples"):
        check(declared(half_empty))


def test_an_op_with_many_inputs() -> None:
    @primitive(rule="same", flops=lambda *specs, out: 0, samples=(sample(*[(2,)] * 6),), differentiable=False)
    def six_inputs(xp: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Any:
        """The sum."""
        return a + b + c + d + e + f

    assert six_inputs(*[rt.tensor([float(n), 1.0]) for n in range(5)], 2).tolist() == [12.0, 7.0]
    names = ", ".join(f"x{n}" for n in range(17))
    scope: dict[str, Any] = {}
    exec(f"def too_many(xp, {names}): return x0", scope)
    with pytest.raises(ValueError, match="too_many has more than 16 inputs"):
        primitive(rule="same", flops=lambda *specs, out: 0)(scope["too_many"])


def test_a_gradient_names_what_the_op_has() -> None:
    @pointwise(source="{a}")
    def wrong_names(xp: Any, a: Any, *, axis: int = 0) -> Any:
        """a."""
        return a

    with pytest.raises(rt.OpError, match="wrong_names: vjp asks for 'x', but the op has out, a"):

        @wrong_names.vjp
        def _(ct: Any, x: Any) -> Any:
            return ct

    with pytest.raises(rt.OpError, match="wrong_names: vjp asks for attribute 'dim', but the op has axis"):

        @wrong_names.vjp
        def _(ct: Any, *, dim: Any) -> Any:
            return ct

    @wrong_names.vjp
    def _(ct: Any) -> Any:
        return ct

    with pytest.raises(rt.OpError, match="wrong_names: it has a vjp already"):

        @wrong_names.vjp
        def _(ct: Any) -> Any:
            return ct


def test_an_attribute_needs_a_kind() -> None:
    with pytest.raises(rt.OpError, match="no_kind: annotate 'how' with int, bool, float"):

        @primitive(rule="same")
        def no_kind(xp: Any, a: Any, *, how: str) -> Any:
            """a."""


def test_names_are_taken_once() -> None:
    with pytest.raises(rt.OpError, match="second_cat: the name 'cat' is taken"):

        @primitive(rule="same", aliases=("cat",))
        def second_cat(xp: Any, a: Any) -> Any:
            """a."""

    with pytest.raises(rt.OpError, match="matmul: the name 'matmul' is taken"):

        @composite(samples=())
        def matmul(a: Any) -> Any:
            """a."""

    with pytest.raises(rt.OpError, match="no_text: declare a docstring"):

        @composite(samples=())
        def no_text(a: Any) -> Any:
            return a


def test_the_signature_says_arity_and_kinds() -> None:
    @primitive(rule="same")
    def all_kinds(
        xp: Any,
        a: Any,
        like: Spec,
        where: Indices,
        mask: Mask,
        *,
        i: int,
        n: int | None = None,
        b: bool = False,
        f: float = 0.5,
        d: DType = float64,
        shape: tuple[int, ...] = (1,),
        axis: Axes = None,
    ) -> Any:
        """a."""

    op = declared(all_kinds)
    assert [(i.name, i.like, i.cast) for i in op.inputs] == [
        ("a", False, True),
        ("like", True, False),
        ("where", False, False),
        ("mask", False, False),
    ]
    assert [(a.name, a.alias, a.kind, a.required) for a in op.attributes] == [
        ("i", "", "i", True),
        ("n", "", "i", False),
        ("b", "", "b", False),
        ("f", "", "f", False),
        ("d", "", "d", False),
        ("shape", "size", "t", False),
        ("axis", "dim", "a", False),
    ]
    assert op.gradient_mask == 1
    assert list(inspect.signature(all_kinds).parameters)[:4] == ["a", "like", "where", "mask"]


def test_a_shape_rule_and_a_kernel_in_python() -> None:
    def doubled(a: Spec) -> Spec:
        return Spec((2 * a.shape[0], *a.shape[1:]), a.dtype)

    @primitive(infer=doubled, flops=lambda a, out: 0, samples=(sample((2, 3)),))
    def twice_over(xp: Any, a: Any) -> Any:
        """a, and a again.

        >>> twice_over(tensor([1.0])).tolist()
        [1.0, 1.0]
        """
        return xp.concatenate([a, a])

    out = twice_over(rt.tensor([[1.0, 2.0]]))
    assert out.tolist() == [[1.0, 2.0], [1.0, 2.0]]
    assert twice_over(rt.tensor([1, 2])).dtype is rt.int64


def test_a_handle_shows_its_declaration() -> None:
    assert rt.relu.__name__ == "relu"
    assert rt.relu.__doc__.startswith("max(a, 0)")
    assert rt.relu.samples
    assert rt.relu.record is OPS["relu"]
    assert rt.cat is rt.concat
    assert rt.tensor([[1.0, 2.0]]).sum(dim=1, keepdim=True).tolist() == [[3.0]]
    with pytest.raises(TypeError, match="sum has no parameter 'axes'"):
        rt.sum(rt.tensor([1.0]), axes=0)
    with pytest.raises(TypeError, match="reshape: parameter 'shape' is missing"):
        rt.reshape(rt.tensor([1.0]))


def test_every_public_name_has_its_function() -> None:
    names = registry.functions()
    assert {
        "permute_dims",
        "permute",
        "matrix_transpose",
        "expand_dims",
        "unsqueeze",
        "take_along_axis",
        "gather",
    } <= set(names)
    assert not {"unbroadcast", "slice", "assign", "cross_entropy"} & set(names)
    assert "where" in registry.methods() and "concat" not in registry.methods()


@pytest.mark.parametrize(
    ("error", "kinds", "message", "run"),
    [
        (
            rt.ShapeError,
            (ValueError, RuntimeError),
            r"add: shapes \(2, 3\) and \(4, 5\) do not broadcast",
            lambda: rt.zeros(2, 3) + rt.zeros(4, 5),
        ),
        (
            rt.ShapeError,
            (),
            r"matmul: inner sizes differ, \(2, 3\) @ \(4, 5\)",
            lambda: rt.zeros(2, 3) @ rt.zeros(4, 5),
        ),
        (rt.ShapeError, (), r"sum: axis 3 is out of range for shape \(2, 3\)", lambda: rt.zeros(2, 3).sum(3)),
        (rt.ShapeError, (), r"reshape: shape \(2, 3\) has 6 elements", lambda: rt.zeros(2, 3).reshape(4)),
        (rt.IndexOutOfRange, (IndexError,), "take: index 5 ", lambda: rt.take(rt.zeros(2, 3), rt.tensor([0, 5]))),
        (rt.ShapeError, (), "split_every: size 0 of a part must be at least 1", lambda: rt.split(rt.zeros(3), 0)),
        (
            rt.DTypeError,
            (),
            "where: the condition must hold bools, not float32",
            lambda: rt.where(rt.ones(2), 1.0, rt.ones(2)),
        ),
        (
            rt.DTypeError,
            (),
            "take: indices must be int32 or int64, not float32",
            lambda: rt.take(rt.ones(2), rt.ones(2)),
        ),
        (rt.DTypeError, (TypeError,), "neg: not defined for bool", lambda: -rt.tensor([True])),
        (
            rt.DTypeError,
            (TypeError,),
            "unknown dtype float8: use one of bool, uint8",
            lambda: rt.zeros(2, dtype="float8"),
        ),
    ],
)
def test_errors_name_the_op_what_came_and_what_fits(
    error: type[Exception], kinds: tuple[type[Exception], ...], message: str, run: Any
) -> None:
    with pytest.raises(error, match=message) as caught:
        run()
    assert isinstance(caught.value, (rt.PerflabError, *kinds))
    assert all(isinstance(caught.value, kind) for kind in kinds)


def test_numbers_and_arrays_as_arguments() -> None:
    with pytest.raises(TypeError, match="add: argument 2 is a "):
        rt.add(rt.tensor([1.0]), np.zeros(1))
    with pytest.raises(TypeError, match="add: no Tensor among the arguments"):
        rt.add(1, 2)
    x = rt.tensor([1.0, 2.0])
    assert rt.where(True, x, -x).tolist() == [1, 2]
    assert rt.where(rt.tensor([True, False]), 1, 2.5).tolist() == [1, 2.5]
    assert rt.take(x, 1).item() == 2
