"""Whether ops are recorded: switches for this thread, as context managers and decorators."""

import functools
import inspect
from collections.abc import Callable, Generator
from types import TracebackType
from typing import Any, Self, TypeVar

from .. import _core

_F = TypeVar("_F", bound=Callable[..., Any])


class Mode:
    """A context manager that is a decorator as well: each call, and each step of a generator, runs within it."""

    def __enter__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no __enter__(self)")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        raise NotImplementedError(f"{type(self).__name__} defines no __exit__(self, kind, error, trace)")

    def fresh(self) -> Self:
        """Another of the same meaning: calls may nest and run in several threads."""
        return type(self)()

    def __call__(self, function: _F) -> _F:
        if inspect.isgeneratorfunction(function):
            wrapper = _generator_within(self, function)
        else:

            @functools.wraps(function)
            def wrapper(*args: Any, **kwargs: Any) -> Any:
                with self.fresh():
                    return function(*args, **kwargs)

        return wrapper  # type: ignore[return-value]


def _generator_within(mode: Mode, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator = function(*args, **kwargs)
        step, value = generator.send, None
        try:
            while True:
                with mode.fresh():
                    item = step(value)
                try:
                    value = yield item
                    step = generator.send
                except GeneratorExit:
                    raise
                except BaseException as error:  # of throw(): the generator's to handle
                    step, value = generator.throw, error
        except StopIteration as end:
            return end.value
        finally:
            with mode.fresh():
                generator.close()

    return wrapper


class _GradMode(Mode):
    _on: bool

    def __new__(cls, function: Callable[..., Any] | None = None) -> Self:
        mode = super().__new__(cls)
        return mode if function is None else mode(function)  # type: ignore[return-value]  # @no_grad without ()

    def __enter__(self) -> None:
        self._before = _core.grad_mode(self._on)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _core.grad_mode(self._before)


class no_grad(_GradMode):
    """Within it ops are not recorded: results have requires_grad False."""

    _on = False


class enable_grad(_GradMode):
    """Within it ops are recorded again, inside a no_grad."""

    _on = True


class set_grad_enabled(Mode):
    """Turns recording on or off at once; as a context manager until its end; as a decorator for the function alone."""

    def __init__(self, mode: bool) -> None:
        self._mode = bool(mode)
        self._before = _core.grad_mode(self._mode)

    def __enter__(self) -> None:
        _core.grad_mode(self._mode)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _core.grad_mode(self._before)

    def fresh(self) -> Self:
        return type(self)(self._mode)

    def __call__(self, function: _F) -> _F:
        _core.grad_mode(self._before)
        return super().__call__(function)


is_grad_enabled = _core.is_grad_enabled


class inference_mode(Mode):
    """no_grad for good: tensors made within it can never take part in a graph, and nothing is kept for that.

    Outside they can be read, but neither changed in place nor saved for backward, and requires_grad_ refuses them.
    enable_grad within it has no effect. inference_mode(False) is ordinary mode again.
    """

    _mode: bool

    def __new__(cls, mode: Any = True) -> Self:
        instance = super().__new__(cls)
        instance._mode = callable(mode) or bool(mode)
        return instance(mode) if callable(mode) else instance  # @inference_mode without ()

    def __enter__(self) -> None:
        self._before = _core.set_inference(self._mode), _core.grad_mode(not self._mode)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        inference, recording = self._before
        _core.set_inference(inference)
        _core.grad_mode(recording)

    def fresh(self) -> Self:
        return type(self)(self._mode)


is_inference_mode_enabled = _core.is_inference_mode_enabled
