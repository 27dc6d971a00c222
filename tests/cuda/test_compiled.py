"""Every CUDA kernel compiles to PTX, with NVRTC, which needs no GPU."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from perflab.runtime.cuda import nvrtc
from perflab.runtime.cuda.sources import (
    Kernel,
    all_kernels,
    copy_kernel,
    kernel_of,
    pointwise_kernel,
    template_kernel,
    unit,
)
from perflab.runtime.errors import DeviceError, OpError
from perflab.runtime.registry import OPS
from perflab.runtime.spec import complex64, float32, int32

needs_nvrtc = pytest.mark.skipif(not nvrtc.is_available(), reason="NVRTC: pip install nvidia-cuda-nvrtc-cu12")
ARCH = "compute_75"  # the oldest that CUDA 13 knows
PART = 24  # kernels compiled at once


def entries(ptx: bytes) -> list[str]:
    return [
        line.split()[2].partition(b"(")[0].decode() for line in ptx.split(b"\n") if line.startswith(b".visible .entry")
    ]


@needs_nvrtc
def test_every_kernel_compiles() -> None:
    kernels = list(all_kernels())
    parts: list[list[Kernel]] = [kernels[i : i + PART] for i in range(0, len(kernels), PART)]
    with ThreadPoolExecutor(2) as pool:
        found = [name for ptx in pool.map(lambda part: nvrtc.compile(unit(part), ARCH), parts) for name in entries(ptx)]
    assert sorted(found) == sorted(k.name for k in kernels)
    assert len(set(found)) == len(found) > 900


@needs_nvrtc
def test_floats_are_not_computed_as_doubles() -> None:
    """A constant in an expression is a float where the elements are."""
    ops = [op for op in OPS.values() if re.search(r"\d\.\d", op.source or "") and not op.attributes]
    kernels = [pointwise_kernel(op, float32) for op in ops]
    assert {"gelu", "logaddexp"} & {op.name for op in ops} and len(ops) >= 4
    assert b".f64" not in nvrtc.compile(unit(kernels), ARCH)


@needs_nvrtc
def test_machine_code_and_what_the_compiler_says() -> None:
    assert nvrtc.compile(unit([copy_kernel(int32, float32)]), "sm_90")[:4] == b"\x7fELF"
    with pytest.raises(DeviceError, match=r"nvrtcCompileProgram failed.*\n(.*\n)*.*wrong_name"):
        nvrtc.compile("__global__ void f() { wrong_name(); }", ARCH)


def test_what_has_no_kernel_is_refused() -> None:
    assert kernel_of("matmul", float32) is None and kernel_of("add", complex64) is None
    assert kernel_of("softmax", int32) is None
    with pytest.raises(OpError, match="softmax: no CUDA kernel computes in int32"):
        template_kernel("softmax", int32)
