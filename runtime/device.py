"""Where tensors live. There is one device: the CPU."""

from typing import Any

from .errors import ArgumentError


class Device:
    """A device, as PyTorch and the array API name it: `Device("cpu")`. It equals the string that names it."""

    __slots__ = ("index", "type")

    def __init__(self, name: "str | Device") -> None:
        wanted = str(name)
        if wanted not in ("cpu", "cpu:0"):
            raise ArgumentError(f"device '{wanted}' is not there: tensors live on the CPU alone, use 'cpu'")
        self.type = "cpu"
        self.index = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) or other == self.type

    def __hash__(self) -> int:
        return hash(self.type)

    def __str__(self) -> str:
        return self.type

    def __repr__(self) -> str:
        return f"device(type='{self.type}')"

    def __reduce__(self) -> tuple[Any, ...]:
        return Device, (self.type,)


CPU = Device("cpu")


def check_device(device: Any) -> None:
    """Raise ArgumentError for a device that is not there; None is the CPU."""
    if device is not None and device is not CPU:
        Device(device)
