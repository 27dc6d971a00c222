"""Ops that have no kernel of ours: their bodies, over CuPy's arrays of the tensors' memory.

16-bit floats are widened, so that a body rounds once, when its results are stored; matrix products take float16 as it
is, since cuBLAS adds up in float32.
"""

import functools
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from .. import _core
from ..backends import cuda
from ..device import device_of
from ..errors import DeviceError
from ..op import Op
from ..ops.cast import copy_
from ..spec import Spec, bfloat16, float16, float32
from .devices import get_device_capability

_DEFAULT, _TF32 = 1, 7  # CuPy's COMPUTE_TYPE_DEFAULT and COMPUTE_TYPE_TF32


@functools.cache
def _cupy() -> ModuleType:
    """CuPy, which takes its memory from our allocator from now on."""
    try:
        import cupy
    except ImportError:
        raise DeviceError("CuPy is not installed: pip install 'perflab[cuda12]', or 'perflab[cuda13]'") from None
    allocate, free = _core.cuda_allocator_functions()
    cupy.cuda.set_allocator(cupy.cuda.memory.CFunctionAllocator(0, allocate, free, None).malloc)
    return cupy  # type: ignore[no-any-return]


def run(op: Op, inputs: Sequence[Any], attributes: dict[str, Any], outputs: Sequence[Any]) -> None:
    """The op's body, on the current stream of the outputs' device."""
    cupy = _cupy()
    number = outputs[0]._device
    index = device_of(number).index
    handle = _core.current_stream(number)
    stream = cupy.cuda.ExternalStream(handle, index) if handle else cupy.cuda.Stream.null
    with cupy.cuda.Device(index), stream:
        if op.autocast == "lower":
            _choose_precision(cupy, index)
        arrays = [_seen(cupy, op, i, tensor) for i, tensor in enumerate(inputs)]
        updated = None
        if op.updates and inputs[0].dtype is outputs[0].dtype and arrays[0].dtype == outputs[0].dtype.numpy:
            updated = cupy.asarray(outputs[0])
            if inputs[0].data_ptr() != outputs[0].data_ptr():
                updated[...] = arrays[0]
            arrays[0] = updated
        results = op.body(cupy, *arrays, **attributes)
        for tensor, result in zip(outputs, results if op.several else (results,), strict=True):
            if result is not updated:
                op.check_shape(result.shape, tensor.shape)
                _store(cupy, tensor, result)


def _choose_precision(cupy: ModuleType, index: int | None) -> None:
    """How cuBLAS multiplies float32; CuPy keeps that for the process."""
    allowed = cuda.matmul.allow_tf32 and get_device_capability(index) >= (8, 0)
    cupy._core.set_compute_type(np.float32, _TF32 if allowed else _DEFAULT)


def _seen(cupy: ModuleType, op: Op, i: int, tensor: Any) -> Any:
    if op.input(i).like:
        return Spec(tensor.shape, tensor.dtype)
    if not tensor._device:  # a number
        return np.asarray(tensor)[()]
    lower = op.autocast == "lower" and tensor.dtype is float16
    wide = tensor.to(float32) if tensor.dtype in (float16, bfloat16) and not lower else tensor
    return op.along(cupy.asarray(wide))


def _store(cupy: ModuleType, tensor: Any, result: Any) -> None:
    if tensor.dtype is bfloat16:
        wide = _core.empty(tensor.shape, float32, tensor._device)
        cupy.asarray(wide)[...] = result
        copy_(tensor, wide)
    else:
        cupy.asarray(tensor)[...] = result
