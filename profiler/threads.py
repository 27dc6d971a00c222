"""Names of threads, also of those that have ended when somebody asks."""

import functools
import os
import threading
from collections.abc import Callable
from pathlib import Path


class ThreadNames:
    """Knows the names of all of Python's threads that live at some time between its making and stop(), and of other
    threads that have one of their own when it is read or noted.

    `tell` is called with the id and the name of each that starts.
    """

    def __init__(self, tell: Callable[[int, str], None] | None = None) -> None:
        self._names = _of_living()
        self._tell = tell
        _STARTS.watch(self)

    def read(self) -> dict[int, str]:
        """Names by the operating system's id of the thread."""
        self.note()
        return dict(self._names)

    def note(self) -> None:
        """Those that live now are known from now on."""
        self._names = _of_system() | self._names | _of_living()

    def add(self, thread: int, name: str) -> None:
        """One has started."""
        self._names[thread] = name
        if self._tell is not None:
            self._tell(thread, name)

    def stop(self) -> None:
        """Threads that start from now on are not noted; the second time in vain."""
        _STARTS.leave(self)


def _of_living() -> dict[int, str]:
    known = {thread.native_id: thread.name for thread in threading.enumerate() if thread.native_id}
    # after a fork Python still has its parent's id
    return known | {threading.get_native_id(): threading.current_thread().name}


def _of_system() -> dict[int, str]:
    """Of threads that have not merely the name of the process, such as those of libraries; Linux knows them."""
    found = {}
    for thread in Path("/proc/self/task").glob("*"):
        try:
            found[int(thread.name)] = (thread / "comm").read_text("utf-8", "replace").rstrip("\n")
        except OSError:
            continue  # it has ended
    plain = found.get(os.getpid())
    return {thread: name for thread, name in found.items() if name != plain}


class _Starts:
    """Tells who watches of threads that start; when nobody does, Thread.start is what it was."""

    def __init__(self) -> None:
        self._begin()
        os.register_at_fork(after_in_child=self._begin_anew)

    def _begin(self) -> None:
        self._lock = threading.RLock()  # a collection of garbage in here may end a profile
        self._watchers: tuple[ThreadNames, ...] = ()

    def _begin_anew(self) -> None:
        if self._watchers:
            self._unhook()
        self._begin()

    def watch(self, names: ThreadNames) -> None:
        with self._lock:
            self._watchers += (names,)  # first: a signal's handler may watch, too
            if self._watchers == (names,):
                self._hook()

    def leave(self, names: ThreadNames) -> None:
        with self._lock:
            if self._watchers == (names,):
                self._unhook()
            self._watchers = tuple(other for other in self._watchers if other is not names)

    def _hook(self) -> None:
        self._plain = plain = threading.Thread.start

        @functools.wraps(plain)
        def start(thread: threading.Thread) -> None:
            plain(thread)
            if number := thread.native_id:
                for names in self._watchers:
                    names.add(number, thread.name)

        self._noted = start
        threading.Thread.start = start  # type: ignore[method-assign, assignment]

    def _unhook(self) -> None:
        if threading.Thread.start is self._noted:  # else somebody has hooked over it, and it calls on
            threading.Thread.start = self._plain  # type: ignore[method-assign]


_STARTS = _Starts()
