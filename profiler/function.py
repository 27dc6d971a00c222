"""@profile_function: each call of a function under a profile."""

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from typing import Any, ParamSpec, TypeVar, overload

from .session import profile

P = ParamSpec("P")
R = TypeVar("R")


@overload
def profile_function(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def profile_function(**options: Any) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def profile_function(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Profiles each call of a function, which may be `async`:

        @profile_function
        def main(): ...

        @profile_function(torch=True, on_trace_ready=lambda prof: prof.export_chrome_trace("step.json.gz"))
        def train_step(batch): ...

    When a call is over, also where it raises, `on_trace_ready(prof)` is called; without one, what `perflab report` says
    of the trace is printed to stderr. The options are those of `profile`; `with_stack` is True where pyinstrument is
    installed. Calls within a call belong to it. Raises TypeError for a function that makes a generator.
    """
    if function is None:
        return functools.partial(profile_function, **options)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"profile_function: {function.__qualname__} makes a generator: profile what consumes it")
    show = functools.partial(print_report, title=function.__qualname__)
    calls = _Calls({"with_stack": find_spec("pyinstrument") is not None, "on_trace_ready": show, **options})

    @functools.wraps(function)
    def profiled(*args: Any, **kwargs: Any) -> Any:
        with calls.one():
            return function(*args, **kwargs)

    @functools.wraps(function)
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        with calls.one():
            return await function(*args, **kwargs)

    return awaited if inspect.iscoroutinefunction(function) else profiled


class _Calls:
    """Profiles the calls that are in no other."""

    def __init__(self, options: dict[str, Any]) -> None:
        profile(**options)  # wrong ones are refused at once
        self._options = options
        self._inside = ContextVar("inside", default=False)

    @contextmanager
    def one(self) -> Iterator[None]:
        if self._inside.get():
            yield
            return
        token = self._inside.set(True)
        try:
            with profile(**self._options):
                yield
        finally:
            self._inside.reset(token)


def print_report(prof: profile, title: str) -> None:
    """Print what `perflab report` says of a profile's trace to stderr."""
    from rich.console import Console

    from .report.answers import answers
    from .report.sections import sections
    from .report.terminal import show

    show(sections(answers(prof.trace)), title, Console(stderr=True, highlight=False))
