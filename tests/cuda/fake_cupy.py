"""As much of CuPy as perflab uses, over NumPy and the fake driver's memory, which the CPU reaches.

An array of a tensor is asked for when the work on it is to be done: what is on the streams is done first.
"""

import ctypes
import types
from contextlib import nullcontext
from typing import Any

import numpy as np


def module(driver: ctypes.CDLL) -> types.ModuleType:
    """The module, to be put into sys.modules."""

    def asarray(obj: Any, *args: Any, **kwargs: Any) -> Any:
        if not hasattr(obj, "__cuda_array_interface__"):
            return np.asarray(obj, *args, **kwargs)
        told = obj.__cuda_array_interface__
        driver.cuCtxSynchronize()
        size = int(np.prod(told["shape"])) if told["shape"] else 1
        if not size:
            return np.empty(told["shape"], told["typestr"])
        plain = types.SimpleNamespace(__array_interface__={k: v for k, v in told.items() if k != "stream"})
        return np.asarray(plain)

    made = types.ModuleType("cupy")
    made.__dict__.update({name: getattr(np, name) for name in dir(np) if not name.startswith("_")})
    made.asarray = asarray  # type: ignore[attr-defined]
    made.compute_types = []  # type: ignore[attr-defined]  # as they were set
    made._core = types.SimpleNamespace(  # type: ignore[attr-defined]
        set_compute_type=lambda dtype, kind: made.compute_types.append((np.dtype(dtype).name, kind))
    )
    made.cuda = types.SimpleNamespace(  # type: ignore[attr-defined]
        set_allocator=lambda allocator: made.__dict__.update(allocator=allocator),
        memory=types.SimpleNamespace(
            CFunctionAllocator=lambda *functions: types.SimpleNamespace(malloc=functions)  # the addresses
        ),
        Device=lambda index: nullcontext(),
        ExternalStream=lambda handle, index: nullcontext(),
        Stream=types.SimpleNamespace(null=nullcontext()),
    )
    return made
