"""Which CUDA devices there are, which one is current, and what the driver says of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .. import _core
from ..errors import ArgumentError, DeviceError
from ..presence import missing_for_cuda


def is_available() -> bool:
    """Whether tensors can live on a GPU: there is one, with its driver, and CuPy is installed."""
    return not missing_for_cuda()


def device_count() -> int:
    """How many GPUs there are; 0 where is_available() is False."""
    return _core.cuda_device_count() if is_available() else 0


def index_of(device: Any = None) -> int:
    """The index that a device, "cuda:1" or 1 means; None is the current one. DeviceError where it is not there."""
    if missing := missing_for_cuda():
        raise DeviceError(f"CUDA is not there: {missing}")
    if device is None:
        return _core.cuda_current_device()
    name = str(device)
    if isinstance(device, int):
        index = device
    elif name == "cuda":
        return _core.cuda_current_device()
    elif name.startswith("cuda:") and name[5:].isdecimal():
        index = int(name[5:])
    else:
        raise ArgumentError(f"'{name}' is no CUDA device: use 'cuda', 'cuda:0' or 0")
    if not 0 <= index < _core.cuda_device_count():
        raise DeviceError(f"there is no device cuda:{index}: there are {_core.cuda_device_count()}, counted from 0")
    return index


def current_device() -> int:
    """The index of the device that "cuda" means in this thread."""
    return index_of()


def set_device(device: Any) -> None:
    """Let "cuda" mean another device in this thread."""
    _core.cuda_set_device(index_of(device))


@contextmanager
def device(device: Any) -> Iterator[None]:
    """Within it, "cuda" means this device."""
    before = index_of()
    set_device(device)
    try:
        yield
    finally:
        _core.cuda_set_device(before)


def synchronize(device: Any = None) -> None:
    """Wait until the device has done all that it was given. Raises DeviceError for what failed there."""
    _core.cuda_synchronize(index_of(device))


@dataclass(frozen=True)
class DeviceProperties:
    """total_memory: bytes; major, minor: of the compute capability."""

    name: str
    total_memory: int
    major: int
    minor: int
    multi_processor_count: int


def get_device_properties(device: Any = None) -> DeviceProperties:
    """What the driver says of a device."""
    return DeviceProperties(*_core.cuda_describe(index_of(device)))


def get_device_name(device: Any = None) -> str:
    """As "NVIDIA H100"."""
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability, as (9, 0)."""
    found = get_device_properties(device)
    return found.major, found.minor


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Bytes that are free and all bytes of the device, as the driver counts them for all processes."""
    return _core.cuda_memory_info(index_of(device))
