"""Hooks on what is saved for backward: they may keep something else in its place, elsewhere or smaller."""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from .. import _core
from ..errors import AutogradError
from .modes import Mode

Tensor = _core.Tensor


class _Refusal(threading.local):
    message: str | None = None


_refusal = _Refusal()


class saved_tensors_hooks(Mode):
    """Within it every tensor that an op or a Function saves goes through `pack`, for this thread.

    pack(tensor) gives any object, which is kept in the tensor's place; unpack(object) is called whenever backward needs
    the tensor, and must give one of the same shape and dtype. Both run without recording. The innermost hooks apply.
    A packed value's version is not watched: a pack hook that keeps the tensor itself should not see it changed later.
    """

    def __init__(self, pack: Callable[[Tensor], Any], unpack: Callable[[Any], Tensor]) -> None:
        self._hooks = pack, unpack

    def __enter__(self) -> None:
        if _refusal.message is not None:
            raise AutogradError(_refusal.message)
        self._before = _core.set_saved_hooks(*self._hooks)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _core.set_saved_hooks(*self._before)

    def fresh(self) -> "saved_tensors_hooks":
        return saved_tensors_hooks(*self._hooks)


class save_on_cpu(saved_tensors_hooks):
    """Keeps what is saved in the host's memory and brings it back for backward. pin_memory: accepted, without effect.

    On the CPU each saved tensor is copied: memory that was shared with the tensor itself is then used twice.
    """

    def __init__(self, pin_memory: bool = False) -> None:
        super().__init__(lambda tensor: tensor.copy(), lambda tensor: tensor)

    def fresh(self) -> "save_on_cpu":
        return save_on_cpu()


class disable_saved_tensors_hooks(Mode):
    """Within it saved_tensors_hooks raises AutogradError with this message, for this thread."""

    def __init__(self, error_message: str) -> None:
        self._message = error_message

    def __enter__(self) -> None:
        self._before, _refusal.message = _refusal.message, self._message

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _refusal.message = self._before

    def fresh(self) -> "disable_saved_tensors_hooks":
        return disable_saved_tensors_hooks(self._message)
