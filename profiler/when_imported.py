"""Calls a function when a module has been imported, by whomever."""

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType


def call_when_imported(name: str, call: Callable[[], object]) -> Callable[[], bool]:
    """Call once: at once where the module is there, else when its import has ended.

    What is returned calls it off, and says whether it was in time.
    """
    if name in sys.modules:
        call()
        return lambda: False
    finder = _Finder(name, call)
    sys.meta_path.insert(0, finder)
    return finder.call_off


class _Finder(MetaPathFinder):
    """Finds the module as the other finders do, with a loader that calls back."""

    def __init__(self, name: str, call: Callable[[], object]) -> None:
        self._name = name
        self._call: Callable[[], object] | None = call

    def call_off(self) -> bool:
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        call, self._call = self._call, None
        return call is not None

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self._name or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)  # for the others to be asked
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self)
        return spec

    def imported(self) -> None:
        call, self._call = self._call, None
        if call is not None:
            call()


class _Loader(Loader):
    """Another loader; behind it, it is no longer to be seen."""

    def __init__(self, loader: Loader, finder: _Finder) -> None:
        self._loader, self._finder = loader, finder

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._finder.imported()
