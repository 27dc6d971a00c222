"""Calls of torch's modules on the timeline, so that ops belong to the module that called them."""

import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

from .analysis.groups import TORCH_MODULE

if TYPE_CHECKING:
    from torch.nn import Module

Part: TypeAlias = AbstractContextManager[object]


class _Hooks:
    """Torch's hooks before and after each call of a module, while somebody watches."""

    def __init__(self) -> None:
        self._begin()
        os.register_at_fork(after_in_child=self._begin_anew)

    def _begin(self) -> None:
        self._lock = threading.RLock()
        self._watchers = 0
        self._handles: list[Any] = []

    def _begin_anew(self) -> None:
        handles = self._handles
        self._begin()
        for handle in handles:
            handle.remove()

    def watch(self, part: Callable[[str], Part]) -> None:
        """`part` makes a part of the timeline with a name."""
        with self._lock:
            if not self._watchers:
                self._handles = _hooked(part)
            self._watchers += 1

    def leave(self) -> None:
        """Once for each watch()."""
        with self._lock:
            if self._watchers:  # else in a forked child
                self._watchers -= 1
                if not self._watchers:
                    handles, self._handles = self._handles, []
                    for handle in handles:
                        handle.remove()


MODULES = _Hooks()


def _hooked(part: Callable[[str], Part]) -> list[Any]:
    from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

    calls, names = _Calls(), _Names()

    def before(module: "Module", _: Any) -> None:
        found = part(TORCH_MODULE + names.of(module, calls.open[-1][0] if calls.open else None))
        calls.open.append((module, found))
        found.__enter__()

    def after(module: "Module", *_: Any) -> None:
        if any(called is module for called, _ in calls.open):  # else it was called before the hooks were there
            called = None
            while called is not module:  # what was left by an exception, and then this one
                called, found = calls.open.pop()
                found.__exit__(None, None, None)

    return [register_module_forward_pre_hook(before), register_module_forward_hook(after, always_call=True)]


class _Calls(threading.local):
    """The calls of a thread that are open, the innermost last."""

    def __init__(self) -> None:
        self.open: list[tuple[Module, Part]] = []


class _Names:
    """Names of modules in those that call them: `layers.0`, or the class where one is called by nobody's."""

    def __init__(self) -> None:
        self._inside: WeakKeyDictionary[Module, dict[int, str]] = WeakKeyDictionary()

    def of(self, module: "Module", caller: "Module | None") -> str:
        if caller is None:
            return type(module).__name__
        inside = self._inside.get(caller)
        if inside is None or id(module) not in inside:
            inside = self._inside[caller] = {id(each): name for name, each in caller.named_modules() if name}
        return inside.setdefault(id(module), type(module).__name__)
