"""CUDA devices: what there is, streams, events and memory, with PyTorch's names.

Nothing is imported or started before it is asked for, and where there is no GPU the questions have their answers:
`is_available()` is False. What needs one raises DeviceError, which says what is missing.
"""

from .. import _core
from ..registry import BODIES_ON_CUDA
from . import bodies, build, libraries
from .devices import (
    DeviceProperties,
    current_device,
    device,
    device_count,
    get_device_capability,
    get_device_name,
    get_device_properties,
    is_available,
    mem_get_info,
    set_device,
    synchronize,
)
from .memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_summary,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)
from .streams import Event, Stream, current_stream, default_stream, stream

__all__ = [
    "DeviceProperties",
    "Event",
    "Stream",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_summary",
    "reset_peak_memory_stats",
    "set_device",
    "set_per_process_memory_fraction",
    "stream",
    "synchronize",
]

_core.cuda_set_kernel_callback(build.function)
_core.cuda_set_blas_callback(libraries.cublas)
BODIES_ON_CUDA.append(bodies.run)
