"""The sweep: every op in every kind of check (perflab.runtime.testing). A new op adds no test here."""

import doctest
import re
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime.op import Op, Sample
from perflab.runtime.registry import COMPOSITES, OPS, Composite
from perflab.runtime.spec import DType, Spec, float32, float64, int64
from perflab.runtime.testing.inputs import fill, tensors
from perflab.runtime.testing.sweep import KINDS, check_kind
from perflab.runtime.testing.values import check_values, defined, reference

BUILT_IN = [op for op in OPS.values() if "::" not in op.name]  # other tests declare ops too
ENTRIES = [*BUILT_IN, *COMPOSITES.values()]
CASES = [pytest.param(op, s, id=f"{op.name}-{i}") for op in BUILT_IN for i, s in enumerate(op.samples)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.samples], ids=lambda e: e.name)
def test_every_op_in_every_kind_of_check(entry: Op | Composite, kind: str) -> None:
    """What is not checked has a reason: the declaration's, or the words in which the op refuses such inputs."""
    found = check_kind(entry, kind)
    if re.fullmatch(r"[1-9]\d* samples?", found):
        return
    if found.startswith("refused: "):
        assert kind in ("zero-size", "0-d", "broadcast")
        assert re.match(r"refused: \w+: ", found)
    elif isinstance(entry, Composite):
        assert found in ("it is made of ops, of which each is checked", "no part of it has a gradient")
    elif kind == "16-bit floats":
        assert "f" not in entry.kinds
    elif kind == "device":
        assert entry.name in ("transfer", "transfer_like")
    else:
        assert kind in ("gradient", "second gradient", "saved bytes")
        assert not entry.has_gradient


def test_every_function_of_tensors_has_samples() -> None:
    """The others take shapes, numbers or a text (einsum's samples are contract's) first, or give a bool."""
    without = {entry.name for entry in ENTRIES if not entry.samples}
    assert without == {"broadcast_shapes", "tril_indices", "triu_indices", "einsum", "polygamma", "allclose"}


def scaled(spec: Any) -> Any:
    """A larger shape of the same kind: sizes of 0 and 1 stay."""
    return [scaled(s) for s in spec] if isinstance(spec, list) else tuple(n if n < 2 else 13 * n for n in spec)


def scalable(op: Op, sample: Sample) -> bool:
    """Whether nothing but the shapes of its inputs says how large the sample is."""
    shapes = sample.inputs[0] if op.rest else sample.inputs
    return all(isinstance(s, tuple) for s in shapes) and not op.several and "t" not in {a.kind for a in op.attributes}


@pytest.mark.parametrize("dtype", [float32, float64, int64], ids=lambda d: d.name)
@pytest.mark.parametrize(("op", "sample"), [c for c in CASES if scalable(*c.values)])  # type: ignore[arg-type]
def test_larger_inputs(op: Op, sample: Sample, dtype: DType) -> None:
    """Enough elements for whole vectors, their rests, and several blocks."""
    larger = Sample(tuple(scaled(spec) for spec in sample.inputs), sample.attributes)
    arrays = fill(op, larger, dtype)
    if defined(op, arrays):
        check_values(op, larger, arrays, tensors(arrays), slack=100)


def test_many_indices() -> None:
    random = np.random.default_rng(0)
    table, rows = random.normal(size=(300, 33)).astype(np.float32), random.integers(-300, 300, (40, 20))
    places = random.integers(-33, 33, (300, 50))
    for name, first, indices, axis in (("take", (40, 20, 33), rows, 0), ("take_along", (300, 50), places, 1)):
        sample = Sample((), {"axis": axis})
        check_values(OPS[name], sample, [table, indices], tensors([table, indices]))
        arrays = [random.normal(size=first).astype(np.float32), table, indices]
        check_values(OPS[f"{name}_grad"], sample, arrays, tensors(arrays), slack=10)


@pytest.mark.parametrize("op", [op for op in OPS.values() if op.pointwise and "f" in op.kinds], ids=lambda op: op.name)
@pytest.mark.parametrize("dtype", [float32, float64], ids=lambda d: d.name)
def test_special_values(op: Op, dtype: DType) -> None:
    """Infinities, NaN, signed zeros and numbers near the ends of the range, in all combinations."""
    special = [0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 80.0, -80.0, 800.0, -800.0, 1e-30]
    grid = np.meshgrid(*[np.array(special, dtype.numpy)] * len(op.inputs), indexing="ij")
    arrays = [np.array(a) if op.inputs[i].cast else a > 0 for i, a in enumerate(grid)]
    check_values(op, Sample((), {}), arrays, tensors(arrays))


# --- gradients


@pytest.mark.parametrize(
    "op",
    [op for op in OPS.values() if op.pointwise and len(op.inputs) == 2 and op.public and "f" in op.kinds],
    ids=lambda op: op.name,
)
@pytest.mark.parametrize("dtype", [float32, float64], ids=lambda d: d.name)
def test_python_numbers_take_the_tensor_s_dtype(op: Op, dtype: DType) -> None:
    x = np.asarray([[0.6, 1.5, 1.9]], dtype.numpy)
    for number in (1.25, 2, True):
        n = np.asarray(number, dtype.numpy)
        for left in (False, True):
            arrays = [n, x] if left else [x, n]
            tensor = rt.tensor(x, requires_grad=True)
            out = op.handle(number, tensor) if left else op.handle(tensor, number)
            (want,) = reference(op, Sample((), {}), arrays)
            assert out.dtype.numpy == want.dtype
            np.testing.assert_allclose(out.detach().numpy(), want, rtol=1e-6)
            if out.requires_grad:
                out.sum().backward()
                assert tensor.grad is not None and tensor.grad.dtype is dtype
                whole = tensors(arrays, {0, 1})
                op.handle(*whole).sum().backward()
                expected = whole[left].grad
                assert expected is not None
                np.testing.assert_allclose(tensor.grad.numpy(), expected.numpy(), rtol=1e-6)


def test_formulas_compute_with_numbers_in_the_tensor_s_dtype() -> None:
    x = rt.tensor(np.array([0.7, 0.02]), requires_grad=True)
    (x ** (1 / 3)).sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), np.array([0.7, 0.02]) ** (-2 / 3) / 3, rtol=1e-14)


@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_have_the_dtype_of_their_leaves(create_graph: bool) -> None:
    single, double = rt.tensor([1.0, 2.0], requires_grad=True), rt.tensor(np.array([3.0, 4.0]), requires_grad=True)
    (single * double * rt.tensor([1, 2]) * rt.tensor([True, False])).sum().backward(create_graph=create_graph)
    assert single.grad is not None and (single.grad.dtype, single.grad.tolist()) == (float32, [3, 0])
    assert double.grad is not None and (double.grad.dtype, double.grad.tolist()) == (float64, [1, 0])


def test_a_hundred_inputs_of_one_op() -> None:
    leaves = [rt.ones(2, requires_grad=True) for _ in range(100)]
    (rt.stack(leaves, dim=1) * rt.arange(100)).sum().backward()
    assert [x.grad.tolist() for x in leaves if x.grad is not None] == [[i, i] for i in range(100)]


def test_cost_of_a_matrix_product() -> None:
    specs = [Spec((5, 8, 16), float32), Spec((16, 4), float32)]
    assert OPS["matmul"].cost(specs, [Spec((5, 8, 4), float32)]) == rt.spec.Cost(
        2 * 5 * 8 * 4 * 16, (5 * 8 + 4) * 16 * 4, 640
    )


# --- texts


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.samples or ">>>" in e.doc], ids=lambda e: e.name)
def test_the_docstring_s_example_runs(entry: Op | Composite) -> None:
    names = {name: getattr(rt, name) for name in rt.__all__} | {e.name: e.handle for e in ENTRIES}
    example = doctest.DocTestParser().get_doctest(entry.doc, names, entry.name, None, None)
    assert example.examples, f"{entry.name}: give its docstring an example"
    report: list[str] = []
    failed = doctest.DocTestRunner(verbose=False).run(example, out=report.append).failed
    assert not failed, "".join(report)
