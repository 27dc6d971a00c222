"""Whether ops are recorded: switches for a thread, as context managers and decorators."""

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from .. import _core

_F = TypeVar("_F", bound=Callable[..., Any])


class set_grad_enabled:
    """Turns recording on or off for this thread: at once, and as a context manager until its end."""

    def __init__(self, mode: bool) -> None:
        self._before = _core.grad_mode(mode)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _core.grad_mode(self._before)


class _Mode:
    _on: bool

    def __enter__(self) -> None:
        self._before = _core.grad_mode(self._on)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _core.grad_mode(self._before)

    def __call__(self, function: _F) -> _F:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with type(self)():
                return function(*args, **kwargs)

        return call  # type: ignore[return-value]


class no_grad(_Mode):
    """Within it ops are not recorded: a context manager and a decorator, for this thread."""

    _on = False


class enable_grad(_Mode):
    """Within it ops are recorded again, inside a no_grad."""

    _on = True


is_grad_enabled = _core.is_grad_enabled
