"""Memory of the CUDA devices: the functions of runtime.memory, of the current device where none is named."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from .. import memory
from .devices import index_of

R = TypeVar("R")


def _of_cuda(function: Callable[..., R]) -> Callable[..., R]:
    @functools.wraps(function)
    def asked(device: Any = None) -> R:
        return function(f"cuda:{index_of(device)}")

    return asked


empty_cache = _of_cuda(memory.empty_cache)
max_memory_allocated = _of_cuda(memory.max_memory_allocated)
max_memory_reserved = _of_cuda(memory.max_memory_reserved)
memory_allocated = _of_cuda(memory.memory_allocated)
memory_reserved = _of_cuda(memory.memory_reserved)
memory_snapshot = _of_cuda(memory.memory_snapshot)
memory_stats = _of_cuda(memory.memory_stats)
memory_summary = _of_cuda(memory.memory_summary)
reset_peak_memory_stats = _of_cuda(memory.reset_peak_memory_stats)


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Reserve no more than this part of the device's memory."""
    memory.set_per_process_memory_fraction(fraction, f"cuda:{index_of(device)}")
