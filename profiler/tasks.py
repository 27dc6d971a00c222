"""Notes when tasks of asyncio run, and what they wait for between.

The event loop runs a task by way of a Handle, as it runs every callback: while somebody watches, the class's `_run` is
ours, and notes the calls that are steps of tasks. Loops that have their own handles (uvloop) are not seen.
"""

import itertools
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

from .events import TASK_RUN, TASK_WAIT
from .when_imported import call_when_imported

if TYPE_CHECKING:
    from asyncio import Task

Push: TypeAlias = Callable[[int, int, int, int, int], object]  # kind, name, from tick, to tick, number of the task

_NAMED = 100_000  # tasks; further ones have no names


class _Running:
    """A task: its number, the id of its coroutine's name, and since when and in what it waits."""

    __slots__ = ("coroutine", "number", "since", "waits_in")

    def __init__(self, number: int, coroutine: int) -> None:
        self.number, self.coroutine = number, coroutine
        self.since = self.waits_in = 0


class TaskNames:
    """Has the steps of all tasks noted until stop(), and knows the tasks' names."""

    def __init__(self, push: Push, ticks: Callable[[], int], intern: Callable[[str], int]) -> None:
        self._forget = call_when_imported("asyncio", lambda: _HOOK.watch(push, ticks, intern))

    def read(self) -> dict[int, str]:
        """Names by the number of the task."""
        return dict(_HOOK.names)

    def stop(self) -> None:
        """Once for each that was made."""
        if not self._forget():
            _HOOK.leave()


class _Hook:
    """Stands in for Handle._run while somebody watches."""

    def __init__(self) -> None:
        self._begin()
        os.register_at_fork(after_in_child=self._begin_anew)

    def _begin(self) -> None:
        self._lock = threading.RLock()  # a collection of garbage in here may end a profile
        self._watchers = 0
        self.names: dict[int, str] = {}

    def _begin_anew(self) -> None:
        if self._watchers:
            self._unhook()
        self._begin()

    def watch(self, push: Push, ticks: Callable[[], int], intern: Callable[[str], int]) -> None:
        with self._lock:
            if not self._watchers:
                self._hook(push, ticks, intern)
            self._watchers += 1

    def leave(self) -> None:
        with self._lock:
            if self._watchers:  # else in a forked child
                self._watchers -= 1
                if not self._watchers:
                    self._unhook()
                    self.names = {}

    def _hook(self, push: Push, ticks: Callable[[], int], intern: Callable[[str], int]) -> None:
        from asyncio import Task, events

        numbers = itertools.count(1)
        known: WeakKeyDictionary[Task[Any], _Running] = WeakKeyDictionary()
        names = self.names = {}
        self._plain: Callable[..., None] = events.Handle._run
        plain = self._plain

        def begin(task: "Task[Any]") -> _Running:
            known[task] = found = _Running(next(numbers), intern(_name(task.get_coro())))
            if len(names) < _NAMED:
                names[found.number] = task.get_name()
            return found

        def run(handle: Any) -> None:
            task = getattr(handle._callback, "__self__", None)  # of what runs a step, its task
            if not isinstance(task, Task):
                plain(handle)
                return
            found = known.get(task) or begin(task)
            began = ticks()
            if found.since:
                push(TASK_WAIT, found.waits_in, found.since, began, found.number)
            try:
                plain(handle)
            finally:
                ended = ticks()
                push(TASK_RUN, found.coroutine, began, ended, found.number)
                found.since, found.waits_in = (0, 0) if task.done() else (ended, intern(_awaited(task.get_coro())))

        self._ours = run
        events.Handle._run = run  # type: ignore[method-assign, assignment]

    def _unhook(self) -> None:
        from asyncio import events

        if events.Handle._run is self._ours:  # else somebody has hooked over it, and it calls on
            events.Handle._run = self._plain  # type: ignore[method-assign]


def _name(coroutine: Any) -> str:
    return getattr(coroutine, "__qualname__", None) or type(coroutine).__name__


def _awaited(coroutine: Any) -> str:
    """The name of the innermost coroutine that this one waits in."""
    while hasattr(inner := getattr(coroutine, "cr_await", None), "cr_await"):
        coroutine = inner
    return _name(coroutine)


_HOOK = _Hook()
