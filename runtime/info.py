"""What the namespace can do (array API 2024.12, "Inspection")."""

from typing import Any

from . import _core
from .device import CPU, Device, as_device, device_of
from .promotion import isdtype
from .spec import DTYPES, DType, as_dtype, bfloat16, float16, int64

_MAX_AXES = 8  # kMaxDim in core/array.h


class ArrayNamespaceInfo:
    """Capabilities, devices and dtypes; `__array_namespace_info__()` gives one."""

    def capabilities(self) -> dict[str, Any]:
        """Boolean indexing and shapes that depend on values are there; `max dimensions` is how many axes may be."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": _MAX_AXES}

    def default_device(self) -> Device:
        """Where tensors are made."""
        return CPU

    def devices(self) -> list[Device]:
        """Where tensors can be: the CPU, and the devices that were asked for so far."""
        return [device_of(number) for number in range(_core.device_count())]

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """What Python's numbers become, and what indices are."""
        as_device(device)
        return {
            "real floating": as_dtype(float),
            "complex floating": as_dtype(complex),
            "integral": int64,
            "indexing": int64,
        }

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, DType]:
        """The standard's dtypes by name, those of a kind as isdtype knows it; it does not know 16-bit floats."""
        as_device(device)
        known = [d for d in DTYPES if d not in (float16, bfloat16)]
        return {d.name: d for d in known if kind is None or isdtype(d, kind)}


def __array_namespace_info__() -> ArrayNamespaceInfo:
    """What this namespace can do."""
    return ArrayNamespaceInfo()
