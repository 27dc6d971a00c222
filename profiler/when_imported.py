"""Calls a function when a module has been imported, by whomever."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType


@contextmanager
def when_imported(name: str, call: Callable[[], object]) -> Iterator[None]:
    """Within the block, `call` is called once: at once where the module is there, else when its import has ended."""
    if name in sys.modules:
        call()
        yield
        return
    finder = _Finder(name, call)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        finder.leave()


class _Finder(MetaPathFinder):
    """Finds the module as the other finders do, with a loader that calls back."""

    def __init__(self, name: str, call: Callable[[], object]) -> None:
        self._name, self._call = name, call

    def leave(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self._name:
            return None
        self.leave()  # for the others, and for ever
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._call)
        return spec


class _Loader(Loader):
    """Another loader, which calls back behind it and is no longer to be seen then."""

    def __init__(self, loader: Loader, call: Callable[[], object]) -> None:
        self._loader, self._call = loader, call

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._call()
