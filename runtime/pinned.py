"""Pinned memory of the CPU: copies from it and to it with `non_blocking=True` go on while the CPU does.

It belongs to a device: a GPU's driver locks the pages for it; for a simulated device it is memory like other, with the
same rules. A pinned block that is freed is handed out again only when the copies that use it are done.
"""

from collections.abc import Mapping
from typing import Any

from . import _core
from ._core import Tensor
from .device import Device, device_of
from .errors import DeviceError
from .presence import missing_for_cuda


def accelerator() -> Device | None:
    """The device that memory is pinned for where none is named: a GPU, else the first `sim` that is in use."""
    if not missing_for_cuda():
        return Device("cuda")
    return device_of(1) if _core.device_count() > 1 else None


def pinning(device: Any) -> Device:
    """The device that shall pin; raises DeviceError where there is none."""
    found = accelerator() if device is None else Device(device)
    if found is None:
        raise DeviceError(
            "pin_memory: memory is pinned for a device, and no CUDA device is available, nor is a simulated one in use:"
            ' leave pin_memory out, or name a device, as in t.pin_memory("sim:0")'
        )
    if found.number == 0:
        raise DeviceError("pin_memory: memory of the CPU is pinned for another device, not for the CPU itself")
    return found


def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """The tensor in pinned memory: itself where it is, else a copy, outside of the graph.

    device: whose copies it is for, by default the accelerator. Raises DeviceError without one, and for a tensor that is
    on a device.
    """
    number = pinning(device).number
    if self._device:
        raise DeviceError(f"pin_memory: memory of the CPU is pinned, and this tensor is on {device_of(self._device)}")
    return self if _core.pinned_by(self) == number else _core.pin_memory(self, number)


def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether the memory is pinned; device: for that one."""
    number = _core.pinned_by(self)
    return number > 0 and (device is None or Device(device).number == number)


def pin_batch(batch: Any, device: Device) -> Any:
    """What a DataLoader made, with its tensors pinned: in mappings, sequences, and by own `pin_memory` methods."""
    if isinstance(batch, Tensor):
        return pin_memory(batch, device)
    if isinstance(batch, str | bytes):
        return batch
    if isinstance(batch, Mapping):
        return _like(batch, {key: pin_batch(value, device) for key, value in batch.items()})
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(pin_batch(value, device) for value in batch))
    if isinstance(batch, list | tuple):
        return _like(batch, [pin_batch(value, device) for value in batch])
    return batch.pin_memory() if hasattr(batch, "pin_memory") else batch


def _like(batch: Any, values: Any) -> Any:
    """Of the batch's type where it can be made of them."""
    try:
        return type(batch)(values)
    except TypeError:
        return values
