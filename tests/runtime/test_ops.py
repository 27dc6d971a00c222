"""The sweep: every op x its samples. A new op adds no test here."""

import doctest
import gc
from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime.op import Op, Sample
from perflab.runtime.program import trace
from perflab.runtime.registry import COMPOSITES, OPS, Composite
from perflab.runtime.spec import DTYPES, DType, Spec, float32, float64, int64

HALVES = (rt.float16, rt.bfloat16)
Arrays = list[np.ndarray[Any, Any]]
ENTRIES = [*OPS.values(), *COMPOSITES.values()]
CASES = [pytest.param(op, s, id=f"{op.name}-{i}") for op in OPS.values() for i, s in enumerate(op.samples)]
DIFFERENTIABLE = [
    pytest.param(e, s, id=f"{e.name}-{i}")
    for e in ENTRIES
    if isinstance(e, Composite) or e.has_gradient
    for i, s in enumerate(e.samples)
]


def is_list(entry: Op | Composite, sample: Sample) -> bool:
    return isinstance(sample.inputs[0], list) if isinstance(entry, Composite) else entry.rest is not None


def fill(entry: Op | Composite, sample: Sample, dtype: DType, seed: int = 0) -> Arrays:
    """The sample's inputs: shapes filled with values of the op's domain, arrays as they are."""
    random = np.random.default_rng(seed)
    low, high = (-2.0, 2.0) if isinstance(entry, Composite) else entry.domain

    def values(spec: Any) -> np.ndarray[Any, Any]:
        if not isinstance(spec, tuple):
            return np.asarray(spec)
        if dtype.kind == "c":
            return np.asarray(random.uniform(low, high, spec) + 1j * random.uniform(low, high, spec), dtype.numpy)
        if dtype.kind == "f":
            return np.asarray(random.uniform(low, high, spec), dtype.numpy)
        return np.asarray(
            random.integers(int(low) if dtype.is_signed else max(0, int(low)), int(high) + 1, spec), dtype.numpy
        )

    return [values(spec) for spec in (sample.inputs[0] if is_list(entry, sample) else sample.inputs)]


def tensors(arrays: Arrays, requiring: set[int] | None = None) -> list[rt.Tensor]:
    return [rt.tensor(a, requires_grad=i in (requiring or ())) for i, a in enumerate(arrays)]


def call(entry: Op | Composite, sample: Sample, inputs: list[Any]) -> tuple[rt.Tensor, ...]:
    attributes = {k: rt.tensor(v) if isinstance(v, np.ndarray) else v for k, v in sample.attributes.items()}
    out = entry.handle(inputs, **attributes) if is_list(entry, sample) else entry.handle(*inputs, **attributes)
    return out if isinstance(out, tuple) else (out,)


def natural(op: Op) -> DType:
    """A dtype that the op is defined for."""
    return float32 if "f" in op.kinds else int64


def computation(op: Op, arrays: Arrays) -> DType:
    """The dtype that the op computes in, by the array API's promotion."""
    cast = [rt.spec.as_dtype(a.dtype) for i, a in enumerate(arrays) if op.input(i).cast]
    if op.dtype == "first" or not cast:
        return rt.spec.as_dtype(arrays[0].dtype)
    widest = reduce(rt.promote_types, cast)
    if op.dtype == "float" and widest.kind in "bi":
        return float32
    if op.dtype == "sum" and widest.kind in "bi":
        return rt.uint64 if widest.kind == "i" and not widest.is_signed else int64
    return rt.spec.as_dtype(arrays[1].dtype) if op.dtype == "second" else widest


def reference(op: Op, sample: Sample, arrays: Arrays) -> list[np.ndarray[Any, Any]]:
    """What the op's own body gives on NumPy arrays, in the dtype that the op's rule says."""
    computed = computation(op, arrays)
    real = {rt.complex64: float32, rt.complex128: float64}.get(computed, computed)
    result = {"bool": rt.bool_, "real": real, "index": int64, "attr": sample.attributes.get("dtype")}.get(
        op.dtype, computed
    )
    assert result is not None
    given: list[Any] = []
    for i, a in enumerate(arrays):
        kind = op.input(i)
        if kind.like:
            given.append(Spec(a.shape, rt.spec.as_dtype(a.dtype)))
        else:
            typed = a.astype(computed.numpy) if kind.cast and op.dtype != "second" else a
            given.append(typed.astype(np.float32) if rt.spec.as_dtype(typed.dtype) in HALVES else typed)
    attributes = {a.name: sample.attributes.get(a.name, a.preset) for a in op.attributes}
    if op.infer:
        promotes = op.dtype == "python_promote"
        found = op.infer(
            *(Spec(a.shape, computed if promotes else rt.spec.as_dtype(a.dtype)) for a in arrays), **attributes
        )
        results = [spec.dtype for spec in (found if op.several else (found,))]
    with np.errstate(all="ignore"):
        out = op.body(np, *given, **attributes)
    outs = out if op.several else (out,)
    if not op.infer:
        results = [result] * len(outs)
    return [np.asarray(o).astype(r.numpy) for o, r in zip(outs, results, strict=True)]


def check_values(op: Op, sample: Sample, arrays: Arrays, inputs: list[rt.Tensor], slack: int = 1) -> None:
    outs, wanted = call(op, sample, inputs), reference(op, sample, arrays)
    assert len(outs) == len(wanted)
    for out, want in zip(outs, wanted, strict=True):
        assert (out.shape, out.dtype.numpy) == (want.shape, want.dtype)
        got = out.detach().numpy()
        tolerance = slack * 32 * rt.finfo(out.dtype).eps if out.dtype.kind in "fc" else 0.0
        if out.dtype in HALVES:  # rounded once, of results that may differ in the last place of a float32
            tolerance = 2 * rt.finfo(out.dtype).eps
            got, want = got.astype(np.float32), want.astype(np.float32)
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("op", "sample", "dtype"),
    [
        pytest.param(op, sample, dtype, id=f"{op.name}-{i}-{dtype.name}")
        for op in OPS.values()
        for i, sample in enumerate(op.samples)
        for dtype in (DTYPES if i == 0 else (float32, int64))
    ],
)
def test_values_shapes_and_dtypes(op: Op, sample: Sample, dtype: DType) -> None:
    arrays = fill(op, sample, dtype)
    if computation(op, arrays).kind not in op.kinds:
        with pytest.raises(rt.DTypeError, match=f"{op.name}: not defined for {dtype.name}"):
            call(op, sample, tensors(arrays))
    else:
        check_values(op, sample, arrays, tensors(arrays))


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
    if computation(op, arrays).kind in op.kinds:
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


def strided(a: np.ndarray[Any, Any]) -> rt.Tensor:
    wide = np.zeros([2 * n for n in a.shape], a.dtype)
    view = wide[(..., *(slice(None, None, 2) for _ in a.shape))]
    view[...] = a
    return rt.from_numpy(view)


def reversed_(a: np.ndarray[Any, Any]) -> rt.Tensor:
    back = (..., *(slice(None, None, -1) for _ in a.shape))
    return rt.from_numpy(np.array(a[back])[back])


def column_major(a: np.ndarray[Any, Any]) -> rt.Tensor:
    return rt.from_numpy(np.array(a, order="F"))


@pytest.mark.parametrize("layout", [strided, reversed_, column_major])
@pytest.mark.parametrize(("op", "sample"), CASES)
def test_inputs_that_are_not_contiguous(op: Op, sample: Sample, layout: Callable[[Any], rt.Tensor]) -> None:
    arrays = fill(op, sample, natural(op))
    check_values(op, sample, arrays, [layout(a) for a in arrays])


@pytest.mark.parametrize(("op", "sample"), CASES)
def test_inputs_that_are_broadcast(op: Op, sample: Sample) -> None:
    """Every floating input of the sample's shapes is one row, seen again and again through a stride of 0."""
    arrays = fill(op, sample, natural(op))
    inputs = []
    shapes = sample.inputs[0] if op.rest else sample.inputs
    for i, a in enumerate(arrays):  # arrays that a sample gives are as they are for a reason
        if a.ndim == 0 or a.shape[0] == 0 or a.dtype.kind != "f" or not isinstance(shapes[i], tuple):
            inputs.append(rt.tensor(a))
            continue
        arrays[i] = np.broadcast_to(a[:1], a.shape)
        inputs.append(rt.expand(rt.tensor(np.array(a[:1])), a.shape))
    check_values(op, sample, arrays, inputs)


@pytest.mark.parametrize("op", [op for op in OPS.values() if op.pointwise and "f" in op.kinds], ids=lambda op: op.name)
@pytest.mark.parametrize("dtype", [float32, float64], ids=lambda d: d.name)
def test_special_values(op: Op, dtype: DType) -> None:
    """Infinities, NaN, signed zeros and numbers near the ends of the range, in all combinations."""
    special = [0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 80.0, -80.0, 800.0, -800.0, 1e-30]
    grid = np.meshgrid(*[np.array(special, dtype.numpy)] * len(op.inputs), indexing="ij")
    arrays = [np.array(a) if op.inputs[i].cast else a > 0 for i, a in enumerate(grid)]
    check_values(op, Sample((), {}), arrays, tensors(arrays))


# --- gradients


def weighted(outs: tuple[rt.Tensor, ...], weights: Arrays) -> Any:
    return reduce(add, [(out * rt.tensor(w)).sum() for out, w in zip(outs, weights, strict=True)])


def differences(f: Callable[[Arrays], float], arrays: Arrays, i: int) -> np.ndarray[Any, Any]:
    """The gradient of f with respect to input i, by central differences."""
    gradient, step = np.zeros_like(arrays[i]), 1e-5
    for at in np.ndindex(arrays[i].shape):
        up, down = arrays[i].copy(), arrays[i].copy()
        up[at] += step
        down[at] -= step
        sides = [f([*arrays[:i], moved, *arrays[i + 1 :]]) for moved in (up, down)]
        gradient[at] = (sides[0] - sides[1]) / (2 * step)
    return gradient


def floating(entry: Op | Composite, arrays: Arrays) -> list[int]:
    return [
        i for i, a in enumerate(arrays) if a.dtype.kind == "f" and (isinstance(entry, Composite) or entry.input(i).cast)
    ]


@pytest.mark.parametrize(("entry", "sample"), DIFFERENTIABLE)
def test_gradients_against_differences(entry: Op | Composite, sample: Sample) -> None:
    """Of each input alone, and of all at once, in float64."""
    arrays = fill(entry, sample, float64)
    outs = call(entry, sample, tensors(arrays))
    if any(out.dtype is not float64 for out in outs):
        pytest.skip("this sample computes in less than float64")
    weights = [np.random.default_rng(1).normal(size=out.shape) for out in outs]

    def loss(values: Arrays) -> float:
        return float(weighted(call(entry, sample, tensors(values)), weights).item())

    every = floating(entry, arrays)
    for requiring in [set(every), *({i} for i in every)]:
        inputs = tensors(arrays, requiring)
        value = weighted(call(entry, sample, inputs), weights)
        if value.requires_grad:
            value.backward()
        for i in requiring:
            wanted, grad = differences(loss, arrays, i), inputs[i].grad
            got = np.zeros_like(wanted) if grad is None else grad.numpy()
            np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("entry", "sample"), DIFFERENTIABLE)
def test_second_gradients_against_differences(entry: Op | Composite, sample: Sample) -> None:
    arrays = fill(entry, sample, float64)
    outs = call(entry, sample, tensors(arrays))
    if any(out.dtype is not float64 for out in outs):
        pytest.skip("this sample computes in less than float64")
    weights = [np.random.default_rng(1).normal(size=out.shape) for out in outs]
    every = floating(entry, arrays)
    directions = [np.random.default_rng(2 + i).normal(size=arrays[i].shape) for i in every]

    def slope(inputs: list[rt.Tensor]) -> Any:
        """The loss's derivative along the directions, as part of a graph; None where it is 0."""
        value = weighted(call(entry, sample, inputs), weights)
        if not value.requires_grad:
            return None
        value.backward(create_graph=True)
        terms = [
            (g * rt.tensor(d)).sum()
            for i, d in zip(every, directions, strict=True)
            if (g := inputs[i].grad) is not None
        ]
        return reduce(add, terms) if terms else None

    def number(values: Arrays) -> float:
        found = slope(tensors(values, set(every)))
        return 0.0 if found is None else float(found.item())

    inputs = tensors(arrays, set(every))
    found = slope(inputs)
    for x in inputs:
        x.grad = None
    if found is not None and found.requires_grad:
        found.backward()
    for i in every:
        wanted, grad = differences(number, arrays, i), inputs[i].grad
        got = np.zeros_like(wanted) if grad is None else grad.detach().numpy()
        np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-7)


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


# --- what is kept, what it costs


@pytest.mark.parametrize(("op", "sample"), [c for c in CASES if c.values[0].has_gradient])  # type: ignore[attr-defined]
def test_a_node_holds_what_its_gradient_declares_and_no_more(op: Op, sample: Sample) -> None:
    arrays = fill(op, sample, natural(op))
    leaves = tensors(arrays, set(floating(op, arrays)))
    gc.collect()
    before = rt.memory_stats()["allocated_bytes"]
    inputs = [x.copy() for x in leaves]
    outs = call(op, sample, inputs)
    if not outs[0].requires_grad:
        pytest.skip("this sample computes integers")
    mask = 1 if op.rest else sum(1 << i for i in floating(op, arrays))
    attributes = {a.name: sample.attributes.get(a.name, a.preset) for a in op.attributes}
    saves = trace(op, [a.ndim for a in arrays], len(outs), mask, attributes)["saves"]
    nbytes = {i: a.nbytes for i, a in enumerate(arrays)} | {
        -1 - k: out.numel() * out.dtype.itemsize for k, out in enumerate(outs)
    }
    node = outs[0].grad_fn
    assert node is not None
    del inputs, outs
    gc.collect()
    held = rt.memory_stats()["allocated_bytes"] - before
    assert held == sum(nbytes[which] for which, shape_alone in saves if not shape_alone)
    del node


@pytest.mark.parametrize(("op", "sample"), CASES)
def test_cost_in_bytes(op: Op, sample: Sample) -> None:
    arrays = fill(op, sample, natural(op))
    inputs = tensors(arrays)
    outs = call(op, sample, inputs)
    attributes = {a.name: sample.attributes.get(a.name, a.preset) for a in op.attributes}
    cost = op.cost([Spec(x.shape, x.dtype) for x in inputs], [Spec(o.shape, o.dtype) for o in outs], **attributes)
    if op.view:
        assert (cost.flops, cost.read, cost.write) == (0, 0, 0)
        memory = inputs[0].numpy()
        assert all(np.shares_memory(memory, out.numpy()) for out in outs if out.numel())
        return
    assert cost.flops >= 0
    assert cost.write == sum(out.numpy().nbytes for out in outs)
    if op.read is None:
        assert cost.read == sum(a.nbytes for i, a in enumerate(arrays) if not op.input(i).like)
    else:
        assert 0 <= cost.read <= sum(a.nbytes for a in arrays) + cost.write


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
