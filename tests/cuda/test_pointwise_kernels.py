"""The kernels made of the ops' expressions give what the ops' bodies give: every op, dtype and sample, on the host."""

from typing import Any

import numpy as np
import pytest

from perflab.runtime.cuda.sources import REALS, expression_dtypes
from perflab.runtime.op import Op
from perflab.runtime.promotion import finfo
from perflab.runtime.registry import OPS
from perflab.runtime.spec import DType, as_dtype, bfloat16, float16
from perflab.runtime.testing.inputs import fill
from perflab.runtime.testing.values import reference

from .shim import Pointwise, Shim, double, walk

HALVES = (float16, bfloat16)
SERVED = [op for op in OPS.values() if expression_dtypes(op)]


def run(shim: Shim, op: Op, dtype: DType, arrays: list[np.ndarray[Any, Any]], attributes: dict[str, Any]) -> Any:
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    out = np.full(shape, 0, np.bool_ if op.dtype == "bool" else dtype.numpy)
    words = [float(attributes.get(a.name, a.preset)) for a in op.attributes]
    shim.run(f"{op.name}_{dtype.name}", Pointwise(walk([out, *arrays]), (double * 4)(*words)))
    return out


def check(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any], dtype: DType) -> None:
    floats = as_dtype(got.dtype).kind == "f"
    tolerance = (2 if dtype in HALVES else 32) * finfo(dtype).eps if floats else 0
    if floats:
        got, want = got.astype(np.float64), want.astype(np.float64)
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("op", SERVED, ids=lambda op: op.name)
def test_values(op: Op, shim: Shim) -> None:
    for dtype in expression_dtypes(op):
        for sample in op.samples:
            arrays = fill(op, sample, dtype)
            arrays = [a if i.cast else a.astype(bool) for a, i in zip(arrays, op.inputs, strict=True)]
            check(run(shim, op, dtype, arrays, sample.attributes), reference(op, sample, arrays)[0], dtype)


@pytest.mark.parametrize("op", SERVED, ids=lambda op: op.name)
def test_strides(op: Op, shim: Shim) -> None:
    """Operands that run backwards, have gaps, or are transposed."""
    dtype = expression_dtypes(op)[-1]
    sample = next(s for s in op.samples if len(np.shape(fill(op, s, dtype)[0])) == 2)
    arrays = [a if i.cast else a.astype(bool) for a, i in zip(fill(op, sample, dtype), op.inputs, strict=True)]
    want = reference(op, sample, arrays)[0]
    reverse: Any = (slice(None, None, -1),)
    for change in (
        lambda a: np.asfortranarray(a),
        lambda a: np.repeat(a, 2, -1)[..., ::2] if a.ndim else a,
        lambda a: np.ascontiguousarray(a[reverse * a.ndim])[reverse * a.ndim],
    ):
        check(run(shim, op, dtype, [change(a) for a in arrays], sample.attributes), want, dtype)


def test_which_dtypes_have_a_kernel() -> None:
    assert {d.name for d in REALS} - {d.name for d in expression_dtypes(OPS["add"])} == set()
    floats = ["float16", "bfloat16", "float32", "float64"]
    assert [d.name for d in expression_dtypes(OPS["exp"])] == floats
    assert [d.name for d in expression_dtypes(OPS["floor_divide"])] == floats  # floor() of ints says something else
    assert expression_dtypes(OPS["gcd"]) == () and expression_dtypes(OPS["matmul"]) == ()
