"""Checks of an op against its declaration: what the sweep of tests/runtime/test_ops.py runs, for ops of users too."""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from . import _core, creation
from ._core import Tensor
from .errors import DTypeError
from .op import Op, Sample, sample
from .ops.shape import expand
from .program import trace
from .promotion import finfo, promote_types
from .registry import Composite
from .spec import (
    DTYPES,
    DType,
    Spec,
    as_dtype,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int64,
    uint64,
)

__all__ = ["check_op", "sample"]

HALVES = (float16, bfloat16)
Arrays = list[np.ndarray[Any, Any]]


def check_op(op: Any, samples: Sequence[Sample] | None = None) -> None:
    """Check an op on samples, by default those of its declaration; AssertionError says what differs.

    op: a function such as `rt.add`, a custom_op, or a declaration. Each sample, made by sample(*inputs, **attributes),
    gives for every tensor a shape, which is filled with random numbers, or an array. Checked are, as far as the op has
    them: the results' values against its kernel on NumPy arrays, shapes against the shape rule, in every dtype, on
    inputs that are not contiguous and inputs that are broadcast; first and second gradients against finite differences
    in float64; the bytes that its node keeps; the bytes and FLOPs of its cost.
    """
    record = op if isinstance(op, Op) else op.record
    for one in record.samples if samples is None else samples:
        for dtype in DTYPES:
            check_dtype(record, one, dtype)
        check_layouts(record, one)
        check_broadcast(record, one)
        check_cost(record, one)
        if record.has_gradient and record.gradient:
            check_gradient(record, one)
            check_second_gradient(record, one)
            check_saved(record, one)


# --- inputs and what is wanted


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


def tensors(arrays: Arrays, requiring: set[int] | None = None) -> list[Tensor]:
    return [creation.tensor(a, requires_grad=i in (requiring or ())) for i, a in enumerate(arrays)]


def call(entry: Op | Composite, sample: Sample, inputs: list[Any]) -> tuple[Tensor, ...]:
    attributes = {k: creation.tensor(v) if isinstance(v, np.ndarray) else v for k, v in sample.attributes.items()}
    out = entry.handle(inputs, **attributes) if is_list(entry, sample) else entry.handle(*inputs, **attributes)
    return tuple(out) if isinstance(out, tuple | list) else (out,)


def natural(op: Op) -> DType:
    """A dtype that the op is defined for."""
    return float32 if "f" in op.kinds else int64


def computation(op: Op, arrays: Arrays) -> DType:
    """The dtype that the op computes in, by the array API's promotion."""
    cast = [as_dtype(a.dtype) for i, a in enumerate(arrays) if op.input(i).cast]
    if op.dtype == "first" or not cast:
        return as_dtype(arrays[0].dtype)
    widest = reduce(promote_types, cast)
    if op.dtype == "float" and widest.kind in "bi":
        return float32
    if op.dtype == "sum" and widest.kind in "bi":
        return uint64 if widest.kind == "i" and not widest.is_signed else int64
    return as_dtype(arrays[1].dtype) if op.dtype == "second" else widest


def reference(op: Op, sample: Sample, arrays: Arrays) -> list[np.ndarray[Any, Any]]:
    """What the op's own body gives on NumPy arrays, in the dtype that the op's rule says."""
    computed = computation(op, arrays)
    real = {complex64: float32, complex128: float64}.get(computed, computed)
    result = {"bool": bool_, "real": real, "index": int64, "attr": sample.attributes.get("dtype")}.get(
        op.dtype, computed
    )
    assert result is not None
    given: list[Any] = []
    for i, a in enumerate(arrays):
        kind = op.input(i)
        if kind.like:
            given.append(Spec(a.shape, as_dtype(a.dtype)))
        else:
            typed = a.astype(computed.numpy) if kind.cast and op.dtype != "second" else a
            given.append(typed.astype(np.float32) if as_dtype(typed.dtype) in HALVES else typed)
    attributes = {a.name: sample.attributes.get(a.name, a.preset) for a in op.attributes}
    if op.infer:
        promotes = op.dtype == "python_promote"
        found = op.infer(*(Spec(a.shape, computed if promotes else as_dtype(a.dtype)) for a in arrays), **attributes)
        results = [spec.dtype for spec in (found if op.several else (found,))]
    with np.errstate(all="ignore"):
        out = op.body(np, *given, **attributes)
    outs = out if op.several else (out,)
    if not op.infer:
        results = [result] * len(outs)
    return [np.asarray(o).astype(r.numpy) for o, r in zip(outs, results, strict=True)]


def check_values(op: Op, sample: Sample, arrays: Arrays, inputs: list[Tensor], slack: int = 1) -> None:
    outs, wanted = call(op, sample, inputs), reference(op, sample, arrays)
    assert len(outs) == len(wanted)
    for out, want in zip(outs, wanted, strict=True):
        assert (out.shape, out.dtype.numpy) == (want.shape, want.dtype)
        got = out.detach().numpy()
        tolerance = slack * 32 * finfo(out.dtype).eps if out.dtype.kind in "fc" else 0.0
        if out.dtype in HALVES:  # rounded once, of results that may differ in the last place of a float32
            tolerance = 2 * finfo(out.dtype).eps
            got, want = got.astype(np.float32), want.astype(np.float32)
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


# --- values


def check_dtype(op: Op, sample: Sample, dtype: DType) -> None:
    """Value, shape and dtype of the results, or the refusal of a dtype that the op is not defined for."""
    arrays = fill(op, sample, dtype)
    if computation(op, arrays).kind in op.kinds:
        return check_values(op, sample, arrays, tensors(arrays))
    try:
        call(op, sample, tensors(arrays))
    except DTypeError as error:
        assert str(error).startswith(f"{op.name}: not defined for {dtype.name}"), error
    else:
        raise AssertionError(f"{op.name} is not declared for {dtype.name}, but computes it")


def strided(a: np.ndarray[Any, Any]) -> Tensor:
    wide = np.zeros([2 * n for n in a.shape], a.dtype)
    gaps: Any = (..., *(slice(None, None, 2) for _ in a.shape))
    view = wide[gaps]
    view[...] = a
    return creation.from_numpy(view)


def reversed_(a: np.ndarray[Any, Any]) -> Tensor:
    back: Any = (..., *(slice(None, None, -1) for _ in a.shape))
    return creation.from_numpy(np.array(a[back])[back])


def column_major(a: np.ndarray[Any, Any]) -> Tensor:
    return creation.from_numpy(np.array(a, order="F"))


def check_layouts(op: Op, sample: Sample) -> None:
    """Inputs with gaps, backwards, and column by column."""
    arrays = fill(op, sample, natural(op))
    for layout in (strided, reversed_, column_major):
        check_values(op, sample, arrays, [layout(a) for a in arrays])


def check_broadcast(op: Op, sample: Sample) -> None:
    """Every floating input of the sample's shapes is one row, seen again and again through a stride of 0."""
    arrays = fill(op, sample, natural(op))
    inputs = []
    shapes = sample.inputs[0] if op.rest else sample.inputs
    for i, a in enumerate(arrays):  # arrays that a sample gives are as they are for a reason
        if a.ndim == 0 or a.shape[0] == 0 or a.dtype.kind != "f" or not isinstance(shapes[i], tuple):
            inputs.append(creation.tensor(a))
            continue
        arrays[i] = np.broadcast_to(a[:1], a.shape)
        inputs.append(expand(creation.tensor(np.array(a[:1])), a.shape))
    check_values(op, sample, arrays, inputs)


# --- gradients


def weighted(outs: tuple[Tensor, ...], weights: Arrays) -> Any:
    return reduce(add, [(out * creation.tensor(w)).sum() for out, w in zip(outs, weights, strict=True)])


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


def check_gradient(entry: Op | Composite, sample: Sample) -> None:
    """Of each input alone, and of all at once, in float64."""
    arrays = fill(entry, sample, float64)
    outs = call(entry, sample, tensors(arrays))
    if any(out.dtype is not float64 for out in outs):
        return
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


def check_second_gradient(entry: Op | Composite, sample: Sample) -> None:
    arrays = fill(entry, sample, float64)
    outs = call(entry, sample, tensors(arrays))
    if any(out.dtype is not float64 for out in outs):
        return
    weights = [np.random.default_rng(1).normal(size=out.shape) for out in outs]
    every = floating(entry, arrays)
    directions = [np.random.default_rng(2 + i).normal(size=arrays[i].shape) for i in every]

    def slope(inputs: list[Tensor]) -> Any:
        """The loss's derivative along the directions, as part of a graph; None where it is 0."""
        value = weighted(call(entry, sample, inputs), weights)
        if not value.requires_grad:
            return None
        value.backward(create_graph=True)
        terms = [
            (g * creation.tensor(d)).sum()
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


# --- what is kept, what it costs


def check_saved(op: Op, sample: Sample) -> None:
    arrays = fill(op, sample, natural(op))
    leaves = tensors(arrays, set(floating(op, arrays)))
    with _no_collection():
        before = _core.memory_stats()["allocated_bytes"]
        inputs = [x.copy() for x in leaves]
        outs = call(op, sample, inputs)
        if not outs[0].requires_grad:
            return
        mask = 1 if op.rest else sum(1 << i for i in floating(op, arrays))
        attributes = {a.name: sample.attributes.get(a.name, a.preset) for a in op.attributes}
        saves = trace(op, [a.ndim for a in arrays], len(outs), mask, attributes)["saves"]
        nbytes = {i: a.nbytes for i, a in enumerate(arrays)} | {
            -1 - k: out.numel() * out.dtype.itemsize for k, out in enumerate(outs)
        }
        node = outs[0].grad_fn
        assert node is not None
        del inputs, outs
        held = _core.memory_stats()["allocated_bytes"] - before
        assert held == sum(nbytes[which] for which, shape_alone in saves if not shape_alone)
        del node


@contextmanager
def _no_collection() -> Iterator[None]:
    """What the collector would free meanwhile is not counted; collecting first would take longer than the check."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def check_cost(op: Op, sample: Sample) -> None:
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
