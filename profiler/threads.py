"""Names of threads, also of those that have ended when somebody asks."""

import functools
import os
import threading

_HELD = 256  # threads that started; of more of them it is looked who has ended


class ThreadNames:
    """Knows the names of all of Python's threads that live at some time between its making and stop()."""

    def __init__(self) -> None:
        self._before = _of_living()
        _STARTS.watch()

    def read(self) -> dict[int, str]:
        """Names by the operating system's id of the thread."""
        return self._before | _STARTS.names() | _of_living()

    def stop(self) -> None:
        """Once for each that was made."""
        _STARTS.leave()


def _of_living() -> dict[int, str]:
    return {thread.native_id: thread.name for thread in threading.enumerate() if thread.native_id}


class _Starts:
    """Notes which threads start while somebody watches; otherwise Thread.start is what it was."""

    def __init__(self) -> None:
        self._begin()
        os.register_at_fork(after_in_child=self._begin_anew)

    def _begin(self) -> None:
        self._lock = threading.RLock()  # a collection of garbage in here may end a profile
        self._watchers = 0
        self._threads: list[threading.Thread] = []
        self._ended: dict[int, str] = {}

    def _begin_anew(self) -> None:
        watched = self._watchers
        self._begin()
        if watched:
            self._unhook()

    def watch(self) -> None:
        with self._lock:
            if not self._watchers:
                self._hook()
            self._watchers += 1

    def leave(self) -> None:
        with self._lock:
            if self._watchers:  # else in a forked child
                self._watchers -= 1
                if not self._watchers:
                    self._unhook()
                    self._threads, self._ended = [], {}

    def names(self) -> dict[int, str]:
        with self._lock:
            for thread in self._threads:
                if thread.native_id:
                    self._ended[thread.native_id] = thread.name
            self._threads = [thread for thread in self._threads if thread.is_alive() or not thread.native_id]
            return dict(self._ended)

    def _note(self, thread: threading.Thread) -> None:
        with self._lock:
            if self._watchers:
                self._threads.append(thread)
                if len(self._threads) % _HELD == 0:
                    self.names()

    def _hook(self) -> None:
        self._plain = plain = threading.Thread.start

        @functools.wraps(plain)
        def start(thread: threading.Thread) -> None:
            self._note(thread)
            plain(thread)

        self._noted = start
        threading.Thread.start = start  # type: ignore[method-assign, assignment]

    def _unhook(self) -> None:
        if threading.Thread.start is self._noted:  # else somebody has hooked over it, and it calls on
            threading.Thread.start = self._plain  # type: ignore[method-assign]


_STARTS = _Starts()
