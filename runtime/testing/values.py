"""Results against what the declaration says: values, shapes and dtypes, in every dtype."""

from functools import reduce
from typing import Any

import numpy as np

from .._core import Tensor
from ..errors import DTypeError
from ..op import Op, Sample
from ..promotion import finfo, promote_types
from ..registry import Composite
from ..spec import (
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
from .inputs import Arrays, Entry, call, fill, tensors

HALVES = (float16, bfloat16)


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


def defined(entry: Entry, arrays: Arrays) -> bool:
    """Whether it is declared for inputs of these dtypes; a composite is, for floats."""
    if isinstance(entry, Composite):
        return True
    try:
        return computation(entry, arrays).kind in entry.kinds
    except DTypeError:  # no dtype holds both
        return False


def widened(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return a.astype(np.float32) if as_dtype(a.dtype) in HALVES else a


def reference(entry: Entry, sample: Sample, arrays: Arrays) -> list[np.ndarray[Any, Any]]:
    """What the op's own body gives on NumPy arrays, in the dtype that the op's rule says.

    Of a composite: what it gives itself on contiguous tensors, in float32 where halves came.
    """
    if isinstance(entry, Composite):
        return [out.detach().numpy() for out in call(entry, sample, tensors([widened(a) for a in arrays]))]
    computed = computation(entry, arrays)
    real = {complex64: float32, complex128: float64}.get(computed, computed)
    result = {"bool": bool_, "real": real, "index": int64, "attr": sample.attributes.get("dtype")}.get(
        entry.dtype, computed
    )
    assert result is not None
    inputs: list[Any] = []
    for i, a in enumerate(arrays):
        kind = entry.input(i)
        if kind.like:
            inputs.append(Spec(a.shape, as_dtype(a.dtype)))
        else:
            inputs.append(
                entry.along(widened(a.astype(computed.numpy) if kind.cast and entry.dtype != "second" else a))
            )
    attributes = {a.name: sample.attributes.get(a.name, a.preset) for a in entry.attributes}
    if entry.infer:
        promotes = entry.dtype == "python_promote"
        found = entry.infer(*(Spec(a.shape, computed if promotes else as_dtype(a.dtype)) for a in arrays), **attributes)
        results = [spec.dtype for spec in (found if entry.several else (found,))]
    with np.errstate(all="ignore"):
        out = entry.body(np, *inputs, **attributes)
    got = tuple(out) if entry.several else (out,)
    if arrays and arrays[0].ndim == 0 and entry.along(arrays[0]).ndim:
        got = tuple(np.reshape(o, ()) for o in got)
    if not entry.infer:
        results = [result] * len(got)
    return [np.asarray(o).astype(r.numpy) for o, r in zip(got, results, strict=True)]


def check_values(entry: Entry, sample: Sample, arrays: Arrays, inputs: list[Tensor], slack: int = 1) -> None:
    """A call on `inputs`, which hold the values of `arrays`, gives what the reference does."""
    outs, wanted = call(entry, sample, inputs), reference(entry, sample, arrays)
    halves = [as_dtype(a.dtype) for a in arrays if as_dtype(a.dtype) in HALVES]
    assert len(outs) == len(wanted)
    for out, want in zip(outs, wanted, strict=True):
        assert out.shape == want.shape
        assert out.dtype.numpy == want.dtype or (halves and isinstance(entry, Composite))
        got = out.detach().numpy()
        tolerance = slack * 32 * finfo(out.dtype).eps if out.dtype.kind in "fc" else 0.0
        if halves and out.dtype.kind == "f":  # rounded once, of results that may differ in the last place of a float32
            tolerance = 2 * slack * finfo(halves[0]).eps
            got, want = got.astype(np.float32), want.astype(out.dtype.numpy).astype(np.float32)
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def check_value(entry: Entry, sample: Sample) -> bool:
    """In every dtype that it is declared for, halves apart."""
    done = False
    for dtype in DTYPES:
        arrays = fill(entry, sample, dtype)
        if dtype not in HALVES and defined(entry, arrays):
            check_values(entry, sample, arrays, tensors(arrays))
            done = True
    return done


def check_shape(op: Op, sample: Sample) -> bool:
    """Shapes and dtypes in every dtype; one that it is not declared for is refused in words."""
    for dtype in DTYPES:
        arrays = fill(op, sample, dtype)
        if defined(op, arrays):
            outs, wanted = call(op, sample, tensors(arrays)), reference(op, sample, arrays)
            assert [(o.shape, o.dtype.numpy) for o in outs] == [(w.shape, w.dtype) for w in wanted]
            continue
        try:
            call(op, sample, tensors(arrays))
        except DTypeError as error:
            words = ("not defined for " + dtype.name, "no dtype holds both")
            assert str(error).startswith(tuple(f"{op.name}: {w}" for w in words)), error
        else:
            raise AssertionError(f"{op.name} is not declared for {dtype.name}, but computes it")
    return True
