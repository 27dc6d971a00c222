"""Every op on CUDA gives what it gives on the CPU: over the fake driver, with the kernels compiled for the host."""

from pathlib import Path

from .fake import WITH_CUPY, run
from .shim import Shim

SWEEP = """
import numpy as np
from perflab.runtime.cuda.sources import TEMPLATES, expression_dtypes
from perflab.runtime.op import Sample
from perflab.runtime.registry import OPS
from perflab.runtime.testing.inputs import fill
from perflab.runtime.promotion import finfo

def layouts(a):
    yield a
    if a.ndim:
        yield np.asfortranarray(a)
        yield np.repeat(a, 2, -1)[..., ::2]

def same(op, sample, dtype, make):
    arrays = fill(op, sample, dtype)
    arrays = [a if i.cast or i.like or not isinstance(s, tuple) else a.astype(bool)
              for a, i, s in zip(arrays, op.inputs, sample.inputs)]
    tensors = [rt.from_numpy(np.array(a)) for a in arrays]
    placed = [make(t) for t in tensors]
    pairs = zip(*(r if op.several else (r,) for r in (op.handle(*ts, **sample.attributes) for ts in (placed, tensors))))
    for got, want in pairs:
        assert got.device == "cuda:0" and got.dtype is want.dtype and got.shape == want.shape, op.name
        a, b = (x.to(rt.float64).numpy() if x.dtype.kind == "f" else x.numpy() for x in (got, want))
        loose = (4 if dtype.itemsize == 2 else 64) * finfo(want.dtype).eps if want.dtype.kind == "f" else 0
        np.testing.assert_allclose(a, b, rtol=loose, atol=loose, err_msg=f"{op.name} {dtype.name} {sample}")

def strided(t):
    wide = rt.zeros(tuple(2 * n for n in t.shape), dtype=t.dtype, device="cuda")
    view = wide[tuple(slice(None, None, 2) for _ in t.shape)] if t.ndim else wide
    view.copy_(t)
    return view

cases = []
for op in OPS.values():
    dtypes = TEMPLATES[op.name].dtypes if op.name in TEMPLATES else expression_dtypes(op)
    for dtype in dtypes:
        if dtype.kind not in op.kinds:
            continue
        for sample in op.samples:
            cases.append((op, sample, dtype))
before = calls("cuLaunchKernel")
for op, sample, dtype in cases:
    for make in (lambda t: t.to("cuda"), strided):
        same(op, sample, dtype, make)
told = [len(cases), calls("cuLaunchKernel") - before]
"""


def test_every_op_that_has_a_kernel_gives_what_it_gives_on_the_cpu(fake_driver: Path, shim: Shim) -> None:
    cases, launches = run(fake_driver, WITH_CUPY + SWEEP, shim)
    assert cases > 1500 and launches > 2 * cases


# Dtypes of every kind, for which most ops have no kernel of ours: their bodies run.
BODIES = """
import numpy as np
from perflab.runtime.promotion import finfo
from perflab.runtime.registry import OPS
from perflab.runtime.testing.devices import moves
from perflab.runtime.testing.inputs import call, fill, tensors
from perflab.runtime.testing.values import defined

def same(op, sample, dtype):
    arrays = fill(op, sample, dtype)
    if not defined(op, arrays):
        return False
    wanted = call(op, sample, tensors(arrays))
    found = call(op, sample, [t.to("cuda") for t in tensors(arrays)], "cuda")
    for want, got in zip(wanted, found, strict=True):
        assert got.device == "cuda:0" and got.dtype is want.dtype and got.shape == want.shape, op.name
        eps = finfo(want.dtype).eps if want.dtype.kind in "fc" else 0
        a, b = (x.detach().cpu() for x in (got, want))
        if want.dtype in (rt.float16, rt.bfloat16):
            a, b = a.to(rt.float64), b.to(rt.float64)
        loose = (16 if want.dtype.itemsize == 2 else 256) * eps
        np.testing.assert_allclose(a.numpy(), b.numpy(), loose, loose, err_msg=f"{op.name} {dtype.name} {sample}")
    return True

cases = {}
for op in OPS.values():
    for name in () if moves(op) else ("bool", "uint8", "int64", "float16", "bfloat16", "float32", "complex64"):
        dtype = getattr(rt, name)
        if dtype.kind in op.kinds:
            cases[op.name] = cases.get(op.name, 0) + sum(same(op, sample, dtype) for sample in op.samples)
told = [sum(cases.values()), [name for name, count in cases.items() if not count]]
"""


def test_every_op_gives_what_it_gives_on_the_cpu(fake_driver: Path, shim: Shim) -> None:
    """Over what CuPy takes: see fake_cupy.py."""
    cases, untried = run(fake_driver, WITH_CUPY + BODIES, shim)
    assert cases > 4000 and not untried
