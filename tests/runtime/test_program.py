"""Backward programs: pruned to what is needed, keeping no more than they read."""

from typing import Any

import pytest

from perflab import runtime as rt
from perflab.runtime.op import Gradient, Op
from perflab.runtime.program import trace
from perflab.runtime.registry import OPS
from perflab.runtime.spec import Spec

BOTH = 0b11


def program(name: str, mask: int, ndims: tuple[int, ...] = (2, 2), nout: int = 1, **attributes: Any) -> dict[str, Any]:
    return trace(OPS[name], ndims, nout, mask, attributes)


def called(found: dict[str, Any]) -> list[str]:
    return [handle.__name__ for handle, *_ in found["calls"]]


def test_both_inputs_of_a_product_keep_both_tensors() -> None:
    found = program("mul", BOTH)
    assert found["saves"] == [(0, False), (1, False)]
    assert called(found) == ["mul", "unbroadcast", "mul", "unbroadcast"]


def test_one_input_of_a_product_keeps_the_other_and_its_own_shape() -> None:
    found = program("mul", 0b01)
    assert found["saves"] == [(0, True), (1, False)]
    assert called(found) == ["mul", "unbroadcast"]
    assert program("mul", 0b10)["saves"] == [(0, False), (1, True)]


def test_a_sum_keeps_shapes_alone() -> None:
    assert program("add", BOTH)["saves"] == [(0, True), (1, True)]
    assert program("sum", 1, (2,), axis=None, keepdims=False)["saves"] == [(0, True)]


def test_what_is_not_asked_for_is_not_computed() -> None:
    assert called(program("sub", 0b01)) == ["unbroadcast"]
    assert called(program("sub", 0b10)) == ["neg", "unbroadcast"]


def test_an_output_is_kept_as_minus_one() -> None:
    assert program("exp", 1, (2,))["saves"] == [(-1, False)]


def test_slots_die_at_their_last_use_and_are_given_away() -> None:
    found = program("tanh", 1, (1,))  # ct 0, out 1, constant 2, then out * out, 1 - ..., ct * ...
    rows = [(ins, first, dead, donate) for _, ins, first, _, dead, donate, *_ in found["calls"]]
    assert found["constants"] == [1]
    assert rows == [([1, 1], 3, [1], False), ([2, 3], 4, [3], False), ([0, 4], 5, [0, 4], True)]
    assert (found["outs"], found["nslots"]) == ([5], 6)


def test_constants_are_shared_by_value_and_kind() -> None:
    assert program("where", 0b110, (1, 1, 1))["constants"] == [0]
    assert program("where", 0b110, (1, 1, 1))["outs"] == [6, 8]


def test_an_input_without_gradient_has_no_slot() -> None:
    assert program("where", 0b111, (1, 1, 1))["outs"] == [-1, 6, 8]


def test_attributes_are_handed_on_by_name() -> None:
    found = program("sum", 1, (2,), axis=(0,), keepdims=True)
    ((handle, *_, given, forward),) = found["calls"]
    assert (handle.__name__, given, forward) == ("expand_reduced", {}, {"axis": "axis", "keepdims": "keepdims"})
    assert not found["specialised"]


def test_a_formula_that_looks_serves_what_it_saw_alone() -> None:
    assert program("permute", 1, (3,), axes=(2, 0, 1))["specialised"]
    assert program("matmul", BOTH, (2, 2))["specialised"]
    assert called(program("matmul", BOTH, (2, 2))) == ["transpose", "matmul", "transpose", "matmul"]
    assert called(program("matmul", BOTH, (1, 1))) == ["mul", "mul"]


def test_a_list_op_has_an_output_per_input() -> None:
    found = program("concat", 1, (2, 2, 2), axis=1)
    assert found["saves"] == [(0, True), (1, True), (2, True)]
    ((handle, ins, first, nout, *_),) = found["calls"]
    assert (handle.__name__, ins, first, nout) == ("unconcat", [0, 1, 2, 3], 4, 3)
    assert found["outs"] == [4, 5, 6]


def test_several_outputs_have_a_cotangent_each_and_their_shapes_are_kept_last() -> None:
    found = program("split_every", 1, (2,), nout=3, size=2, axis=0)
    assert found["saves"] == [(-1, True), (-2, True), (-3, True)]
    ((handle, ins, *_),) = found["calls"]
    assert (handle.__name__, ins) == ("concat", [0, 1, 2])


# --- formulas that cannot be traced


def refused(formula: Any, message: str, *, of: str = "mul", **attributes: Any) -> None:
    op = OPS[of]
    names = [i.name for i in op.inputs]
    parameters = {n: p for n, p in formula.__annotations__.items() if n in names}
    keeps = tuple((n, names.index(n), a is Spec) for n, a in parameters.items())
    altered = Op(**{f: getattr(op, f) for f in Op.__dataclass_fields__} | {"gradient": None})
    passes = tuple(a.name for a in op.attributes if a.name in formula.__kwdefaults__) if formula.__kwdefaults__ else ()
    altered.gradient = Gradient(formula, keeps, passes, ())
    with pytest.raises(rt.OpError, match=message):
        trace(altered, [2] * len(names), 1, altered.gradient_mask, attributes)


def test_values_cannot_be_looked_at() -> None:
    def branches(ct: Any, a: Any) -> Any:
        return (ct, ct) if a > 0 else (ct, None)

    refused(branches, "mul: its vjp branches on a value, but it is traced without values: use where")


def test_ranks_are_those_of_inputs() -> None:
    refused(lambda ct: (ct, ct.ndim), "mul: its vjp may ask for the rank of inputs alone")


def test_a_shape_s_values_cannot_be_read() -> None:
    def reads(ct: Any, a: Spec) -> Any:
        return ct * a, ct

    refused(reads, "mul: its vjp reads the values of 'a', which it declares as Spec")


def test_attributes_are_looked_at_by_annotation() -> None:
    def looks(ct: Any, *, axis: Any = 0, keepdims: Any = 0) -> Any:
        return ct if axis == 1 else None

    refused(looks, "sum: its vjp looks at 'axis': annotate the parameter", of="sum")


def test_one_gradient_per_input() -> None:
    refused(lambda ct: (ct, ct, ct), "mul: its vjp returns 3 gradients for 2 inputs: return None where there is none")
    refused(lambda ct: (ct, 1.0), "mul: its vjp returns 1.0: build gradients from ct with ops")


def test_attributes_keep_their_kind() -> None:
    def passes(ct: Any, *, axis: Any = 0) -> Any:
        return rt.sum(ct, axis=axis)

    refused(passes, "softmax: its vjp passes 'axis' on as sum's 'axis' of another kind", of="softmax")
