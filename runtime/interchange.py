"""Tensors as the arrays of other libraries, and those as tensors, over the same memory."""

from typing import Any

import numpy as np

from . import _core
from ._core import Tensor
from .creation import copied, from_numpy
from .device import as_device, device_of
from .errors import AutogradError
from .ops.cast import moved
from .spec import bfloat16, uint16

_CPU = (1, 0)  # DLPack's number of the device


def numpy(self: Tensor) -> np.ndarray[Any, Any]:
    """The tensor as a NumPy array that shares its memory; of a device, with a copy of the values once they are there.

    Raises AutogradError when it requires grad (use detach()).
    """
    if self.requires_grad:
        raise AutogradError("numpy() of a tensor that requires grad: use detach().numpy()")
    self = self.cpu()
    if self.dtype is bfloat16:  # which the buffer protocol lacks
        return np.asarray(memoryview(_core.reinterpret(self, uint16))).view(bfloat16.numpy)
    return np.asarray(memoryview(self))


def array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    """What np.asarray asks for."""
    shown = numpy(self)
    if dtype is not None and shown.dtype != dtype:
        if copy is False:
            raise ValueError(f"a {self.dtype.name} tensor cannot be shown as {dtype} without a copy")
        return shown.astype(dtype)
    return shown.copy() if copy else shown


def cuda_array(self: Tensor) -> dict[str, Any]:
    """`__cuda_array_interface__`, version 3: how CuPy and others see the memory. AttributeError where there is none."""
    device = device_of(self._device)
    if device.type != "cuda":
        raise AttributeError(f"the memory is on {device}, not on a CUDA device: use to('cuda') first")
    if self.dtype is bfloat16:
        raise AttributeError("bfloat16 has no name in __cuda_array_interface__: convert it with float() first")
    if self.requires_grad:
        raise AttributeError("a tensor that requires grad is not shown to others: use detach() first")
    return {
        "shape": self.shape,
        "typestr": self.dtype.numpy.str,
        "data": (self.data_ptr(), False),
        "version": 3,
        "strides": tuple(self.dtype.itemsize * step for step in self.stride()),
        "stream": _core.current_stream(self._device) or 1,  # 1: the default stream
    }


def dlpack(
    self: Tensor,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[Any, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A DLPack capsule over the tensor's memory (array API 2024.12). BufferError for a tensor that requires grad, for
    bfloat16, and for a device other than the CPU.
    """
    if self.requires_grad:
        raise BufferError("a tensor that requires grad cannot be exported: use detach() first")
    if self.device != "cpu":
        raise BufferError(f"the memory is on {self.device}, which DLPack does not know: use cpu() first")
    if self.dtype is bfloat16:
        raise BufferError("bfloat16 is not exported: view it as another dtype of 16 bits, or convert it with float()")
    return numpy(self).__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


def dlpack_device(self: Tensor) -> tuple[int, int]:
    """The device in DLPack's numbers: the CPU."""
    return _CPU


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of any array that speaks DLPack, a copy where it must be one, or where `copy` is True.

    Raises BufferError where `copy` is False and the memory may not be written.
    """
    shown = np.from_dlpack(x, copy=copy)
    if shown.flags.writeable:
        return moved(from_numpy(shown), as_device(device).number)  # type: ignore[no-any-return]
    if copy is False:
        raise BufferError("from_dlpack: the array is read-only, and a tensor is not: leave copy away")
    return copied(shown, device)
