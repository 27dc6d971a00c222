"""What a test gives to pytest-benchmark's fixture `benchmark` to be measured, so that it can be called once more."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

import pytest

# Makes ready what a benchmark measures, and returns it.
Prepare: TypeAlias = Callable[[], Callable[[], object]]


class Watching(ABC):
    """A pytest plugin that is told, after a test has passed, what it gave to the fixture."""

    @abstractmethod
    def watched(self, name: str, prepare: Prepare) -> None:
        """Called for each test that measured something, by its id."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        off = [item for item in items if _is_off(item)]
        if off:
            config.hook.pytest_deselected(items=off)
            items[:] = [item for item in items if not _is_off(item)]

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Iterator[None]:
        fixture = pyfuncitem.funcargs.get("benchmark")
        if fixture is None:
            return (yield)
        given: list[Prepare] = []
        with _remembering(type(fixture), given.append):
            result = yield
        if given:
            self.watched(pyfuncitem.nodeid, given[-1])
        return result


def _is_off(item: pytest.Item) -> bool:
    marker = item.get_closest_marker("perflab")
    return marker is not None and marker.kwargs.get("counters") == "off"


class _remembering:
    """While it lasts, `tell` is told what is given to the fixture `benchmark` to be measured."""

    def __init__(self, fixture: type[Any], tell: Callable[[Prepare], None]) -> None:
        self._fixture = fixture
        self._tell = tell
        self._own = fixture.__call__, fixture.pedantic

    def __enter__(self) -> None:
        tell, (measure, pedantic) = self._tell, self._own

        def call(benchmark: Any, function: Callable[..., object], *args: Any, **kwargs: Any) -> Any:
            tell(lambda: partial(function, *args, **kwargs))
            return measure(benchmark, function, *args, **kwargs)

        def call_pedantic(
            benchmark: Any,
            target: Callable[..., object],
            args: Any = (),
            kwargs: Any = None,
            setup: Any = None,
            **how: Any,
        ) -> Any:
            def prepare() -> Callable[[], object]:
                given = setup() if setup else None
                positional, named = given or (args, kwargs or {})
                return partial(target, *positional, **named)

            tell(prepare)
            return pedantic(benchmark, target, args, kwargs, setup, **how)

        self._fixture.__call__, self._fixture.pedantic = call, call_pedantic

    def __exit__(self, *error: object) -> None:
        self._fixture.__call__, self._fixture.pedantic = self._own
