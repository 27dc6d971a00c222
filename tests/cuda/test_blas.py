"""Matrix products by cuBLAS, as the fake driver's library has it: what it is handed, and in what precision."""

from pathlib import Path

import pytest

from .fake import WITH_CUPY, run
from .shim import Shim

BEGIN = """
import numpy as np

def product(a, b, dtype=rt.float32):
    # Whether it is NumPy's, and how often cuBLAS was asked.
    x, y = (t.to(dtype) for t in (a, b))
    want = np.matmul(*(t.to(rt.float64).cpu().numpy() for t in (x, y)))
    before = calls("cublasGemmStridedBatchedEx")
    got = x @ y
    asked = calls("cublasGemmStridedBatchedEx") - before
    assert got.dtype is dtype and got.device == "cuda:0" and got.shape == want.shape
    off = np.abs(got.to(rt.float64).cpu().numpy() - want).max(initial=0)
    return bool(off <= 8 * rt.finfo(dtype).eps * max(1, np.abs(want).max(initial=0))), asked

def made(*shape):
    return rt.tensor(np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32), device="cuda")
"""

SHAPES = (
    BEGIN
    + """
a, b, many = made(3, 4), made(4, 5), made(6, 3, 4)
told = [product(x, y) for x, y in (
    (a, b), (b.T, a.T), (a, made(5, 4).T), (made(4, 3).T, b),  # as they lie, or transposed
    (a[::2], b), (a[:, ::2], b[::2]), (a.flip(0), b),  # a step in the rows; in the columns they are copied
    (made(4), b), (a, made(4)), (made(4), made(4)), (made(8)[::2], b), (a, made(8)[::2]),
    (made(1, 4), b), (a, made(4, 1)), (made(3, 1), made(1, 5)), (a[:, :1], b[:1]),
    (many, b), (many, made(6, 4, 5)), (a, made(6, 4, 5)), (made(2, 3, 3, 4), b),  # batches
    (made(2, 1, 3, 4), made(1, 5, 4, 2)), (made(2, 6, 3, 4).swapaxes(0, 1), made(6, 2, 4, 5)),
    (made(6, 1, 4), b), (made(6, 2, 4)[:, :1], b), (made(4), made(6, 4, 5)), (many, made(4)),
    (made(0, 4), b), (made(3, 0), made(0, 5)), (made(0, 3, 4), b),
)]
"""
)


def test_every_way_that_matrices_lie(fake_driver: Path, shim: Shim) -> None:
    told = run(fake_driver, WITH_CUPY + SHAPES, shim)
    assert all(right for right, _ in told), told
    one, none = 1, 0
    loops = {20: 2, 21: 6}  # both operands vary along axes that do not step evenly
    assert [asked for _, asked in told] == [loops.get(i, none if i >= 26 else one) for i in range(len(told))]


PRECISIONS = (
    BEGIN
    + """
a, b, told = made(3, 4), made(4, 5), []
for dtype, choose in ((rt.float32, None), (rt.float64, None), (rt.float16, None), (rt.bfloat16, None),
                      (rt.float32, "high"), (rt.bfloat16, "high"), (rt.float64, "high"), (rt.float32, "highest")):
    if choose:
        rt.set_float32_matmul_precision(choose)
    before = {kind: calls(f"compute {kind}") for kind in (68, 70, 77)}
    right, _ = product(a, b, dtype)
    told.append([right, *(kind for kind, n in before.items() if calls(f"compute {kind}") > n)])
told.append([rt.backends.cuda.matmul.allow_tf32])
rt.backends.cuda.matmul.allow_tf32 = True
a @ b
told.append([calls("compute 77")])
"""
)


def test_halves_add_up_in_float32_and_tf32_is_used_when_it_is_asked_for(fake_driver: Path, shim: Shim) -> None:
    f32, f64, tf32 = 68, 70, 77  # cuBLAS's numbers
    told = run(fake_driver, WITH_CUPY + PRECISIONS, shim)
    assert told == [[True, kind] for kind in (f32, f64, f32, f32, tf32, f32, f64, f32)] + [[False], [2]]


def test_products_are_in_the_order_of_their_stream(fake_driver: Path, shim: Shim) -> None:
    told = run(
        fake_driver,
        """
a, side = rt.ones(2, 2, device="cuda"), rt.cuda.Stream()
side.wait_stream(rt.cuda.current_stream())
with side:
    b = a @ a
c = a @ a
told = [c.tolist(), side.query()]
side.synchronize()
told += [b.tolist(), calls("cublasCreate_v2")]
""",
        shim,
    )
    assert told == [[[2.0, 2.0]] * 2, False, [[2.0, 2.0]] * 2, 1]


def test_ints_are_for_cupy_and_so_is_everything_without_cublas(fake_driver: Path, shim: Shim) -> None:
    told = run(
        fake_driver,
        WITH_CUPY
        + """
x = rt.ones(2, 2, device="cuda")
told = [(x.to(rt.int64) @ x.to(rt.int64)).tolist(), calls("cublasGemmStridedBatchedEx")]
""",
        shim,
    )
    assert told == [[[2, 2], [2, 2]], 0]
    told = run(
        fake_driver,
        WITH_CUPY
        + """
_core.cuda_set_blas_callback(lambda: ["libnone.so.12"])
x = rt.ones(2, 2, device="cuda")
told = [(x @ x).tolist(), calls("cublasCreate_v2")]
""",
        shim,
    )
    assert told == [[[2.0, 2.0], [2.0, 2.0]], 0]


@pytest.mark.parametrize(("version", "found"), [(12090, ["b.so.12", "libcublas.so.12"]), (13000, None)])
def test_libraries_that_the_driver_does_not_serve_are_not_tried(
    version: int, found: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from perflab.runtime.cuda import libraries

    known = ["a.so.13", "b.so.12", "libcublas.so.13", "libcublas.so.12"]
    monkeypatch.setattr(libraries, "candidates", lambda name: known)
    monkeypatch.setattr(libraries._core, "cuda_version", lambda: version)
    assert libraries.cublas() == (found or known)
