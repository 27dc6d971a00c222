"""Where tensors live: the CPU, or a device that ops run on asynchronously."""

import atexit
import re
from collections.abc import Callable
from typing import Any

from . import _core
from .errors import ArgumentError
from .presence import missing_for_cuda

# By type: the core's number of the device with an index, which is made when it is asked for first.
_NUMBERS: dict[str, Callable[[int], int]] = {"cpu": lambda index: 0, "sim": _core.sim_device, "cuda": _core.cuda_row}
_INDICES = {"cpu": 1, "sim": 8, "cuda": 16}  # how many there can be


class Device:
    """A device, as PyTorch and the array API name it: `Device("cpu")`, `Device("sim:0")`, `Device("sim", 0)`.

    It equals the string that names it. Without an index, "sim" is the first: "sim:0",
    and "cuda" the current one. Raises ArgumentError for a device
    that is not there.
    """

    __slots__ = ("index", "number", "type")

    def __init__(self, name: "str | Device", index: int | None = None) -> None:
        wanted = str(name) if index is None else f"{name}:{index}"
        found = re.fullmatch(r"([a-z]+)(?::(\d+))?", wanted)
        if missing := found and found[1] == "cuda" and missing_for_cuda():
            raise ArgumentError(f"device '{wanted}' is not there: {missing}")
        if not found or found[1] not in _NUMBERS or int(found[2] or 0) >= _INDICES[found[1]]:
            known = ", ".join(f"'{kind}'" for kind in _NUMBERS)
            raise ArgumentError(f"device '{wanted}' is not there: use one of {known}, with an index as in 'sim:0'")
        self.type = found[1]
        first = _core.cuda_current_device() if self.type == "cuda" else 0
        self.index = None if self.type == "cpu" else first if found[2] is None else int(found[2])
        self.number = _NUMBERS[self.type](self.index or 0)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return other == str(self) or (self.index == 0 and other == self.type)
        return isinstance(other, Device) and other.number == self.number

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return f"device(type='{self.type}'{'' if self.index is None else f', index={self.index}'})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Device, (str(self),)


CPU = Device("cpu")
atexit.register(_core.sim_stop)  # threads that may ask for the GIL end before the interpreter does
_BY_NUMBER = [CPU]


def device_of(number: int) -> Device:
    """The device with the core's number."""
    while len(_BY_NUMBER) <= number:
        _BY_NUMBER.append(Device(_core.device_name(len(_BY_NUMBER))))
    return _BY_NUMBER[number]


def as_device(device: Any) -> Device:
    """The device that is meant; None is the CPU. Raises ArgumentError for one that is not there."""
    return CPU if device is None else device if isinstance(device, Device) else Device(device)


def check_device(device: Any) -> None:
    """Raise ArgumentError for a device that is not there, and where the CPU alone serves, for another."""
    if as_device(device) is not CPU and as_device(device) != CPU:
        raise ArgumentError(f"the CPU alone serves here, not {device}: move the result with to()")
