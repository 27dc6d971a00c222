"""Automatic mixed precision: ops that gain from 16-bit floats run in them, ops that need the range in float32."""

import threading
from types import TracebackType
from typing import Any, Self

from . import _core
from .autograd.modes import Mode
from .device import as_device
from .errors import ArgumentError
from .spec import DTYPES, DType, as_dtype, bfloat16, float16


class _Depth(threading.local):
    blocks = 0


_depth = _Depth()


class autocast(Mode):
    """Within it ops cast their float inputs as their declaration says (`autocast=`), for this thread.

    Matrix products and convolutions ("lower") run in `dtype`, float16 or bfloat16; exponentials, logarithms, sums,
    softmax, norms and losses ("float32") in float32; all others in the dtype that their inputs promote to. float64 is
    left alone. Blocks nest, `enabled=False` switches it off inside. A weight is cast once in the outermost block.
    Backward is best called outside: it computes in the dtypes that forward chose.
    """

    def __init__(self, device_type: str, dtype: Any = None, enabled: bool = True) -> None:
        self._device_type = as_device(device_type).type
        self._dtype: DType = bfloat16 if dtype is None else as_dtype(dtype)
        if self._dtype not in (float16, bfloat16):
            raise ArgumentError(f"autocast: the dtype may be float16 or bfloat16, not {self._dtype.name}")
        self._enabled = enabled

    def __enter__(self) -> Self:
        _depth.blocks += 1
        self._before = _core.set_autocast(self._dtype.code if self._enabled else -1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _core.set_autocast(self._before)
        _depth.blocks -= 1
        if not _depth.blocks:
            _core.clear_autocast_cache()

    def fresh(self) -> Self:
        return type(self)(self._device_type, self._dtype, self._enabled)


def get_autocast_dtype() -> DType | None:
    """The dtype of this thread's autocast; None: it is off."""
    code = _core.autocast_code()
    return None if code < 0 else DTYPES[code]


def is_autocast_enabled() -> bool:
    """Whether autocast is on for this thread."""
    return get_autocast_dtype() is not None
