"""On a GPU: what the fake driver's tests say there, said by the device itself. See run_on_gpu.sh."""

from typing import Any

import pytest

from perflab import runtime as rt

from .test_device import TRAINING
from .test_ops import BODIES, SWEEP

pytestmark = pytest.mark.cuda


def told(program: str) -> Any:
    names: dict[str, Any] = {"rt": rt, "calls": lambda name: 0}
    exec(program, names)
    return names["told"]


def test_every_op_that_has_a_kernel_gives_what_it_gives_on_the_cpu() -> None:
    cases, _ = told(SWEEP)
    assert cases > 1500


def test_every_op_gives_what_it_gives_on_the_cpu() -> None:
    cases, _ = told(BODIES)
    assert cases > 4000


def test_a_model_learns_as_on_the_cpu() -> None:
    for on_cpu, on_cuda in told(TRAINING):
        assert on_cuda == pytest.approx(on_cpu, rel=1e-2)


def test_streams_and_events() -> None:
    x = rt.ones(1 << 22, device="cuda")
    side = rt.cuda.Stream()
    side.wait_stream(rt.cuda.current_stream())
    begin, end = rt.cuda.Event(enable_timing=True), rt.cuda.Event(enable_timing=True)
    with side:
        begin.record()
        for _ in range(10):
            y = x * 2 + x
        end.record()
    end.synchronize()
    assert begin.elapsed_time(end) > 0
    rt.cuda.current_stream().wait_stream(side)
    assert (y == 3).all().item()


def test_products_by_cublas() -> None:
    ones, numbers = rt.ones((64, 64), device="cuda"), rt.arange(4, dtype=rt.float64, device="cuda")
    for dtype in (rt.float32, rt.float64, rt.float16, rt.bfloat16):
        product = ones.to(dtype) @ ones.to(dtype).mT
        assert (product == 64).all().item() and product.dtype is dtype
    assert (numbers @ numbers).item() == 14


def test_an_index_out_of_range_is_told() -> None:
    rt.take(rt.ones(2, device="cuda"), rt.tensor([5], device="cuda"))
    with pytest.raises(rt.IndexOutOfRange, match="cuda:0: since it was waited for last"):
        rt.cuda.synchronize()


def test_cupy_s_memory_is_ours() -> None:
    cupy = pytest.importorskip("cupy")
    x = rt.ones((64, 64), device="cuda")
    assert rt.linalg.inv(x[:1, :1]).item() == 1  # which CuPy computes
    ours = cupy.empty(1 << 20, cupy.uint8)
    assert cupy.asarray(x).sum().item() == 64**2 and ours.nbytes == 1 << 20
    assert cupy.get_default_memory_pool().total_bytes() == 0
