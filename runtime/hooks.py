"""Handles of hooks, wherever hooks can be registered."""

from collections import OrderedDict
from itertools import count
from typing import Any

_numbers = count()


class RemovableHandle:
    """A registered hook. `remove()` takes it away, as does the end of a `with` block over the handle."""

    def __init__(self, hooks: "OrderedDict[int, Any]") -> None:
        self._hooks = hooks
        self.id = next(_numbers)

    def remove(self) -> None:
        """Take the hook away; it may be gone already."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> "RemovableHandle":
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


def add_hook(hooks: "OrderedDict[int, Any]", hook: Any, prepend: bool = False) -> RemovableHandle:
    """Register a hook as the last, or the first, of these."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle
