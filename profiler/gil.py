"""The GIL of the whole process, traced while a profile records."""

import threading
import warnings

from perflab.runtime import _core

from .events import GIL_HOLD
from .gil_track import GilRecord
from .trace import Json

ROOM = 4_000_000  # records of 40 bytes; further ones are counted as lost


class GilRecorder:
    """Traces the GIL until stop(). Several may run at once, in any threads.

    Where it cannot be traced the first of them warns and says why; our own acquisitions are recorded all the same.
    """

    def __init__(self, room: int = ROOM) -> None:
        self._refusal = ""
        self._threads = thread_names()
        try:
            self._trace: _core.GilTrace | None = _core.GilTrace(room)
        except RuntimeError as error:
            self._trace, self._refusal = None, str(error)
            _warn(self._refusal)

    def stop(self) -> GilRecord:
        """What was recorded; empty the second time, and in a child of os.fork()."""
        names = self._threads | thread_names()
        if self._trace is None:
            return GilRecord(None, names, {"gil": "own", "gilRefusal": self._refusal})
        holds, lost, trouble = self._trace.stop()
        notes: dict[str, Json] = {"gil": "exact"}
        if lost:
            notes["gilLost"] = lost
        if trouble:
            notes["gilTrouble"] = trouble
        return GilRecord(holds.view(GIL_HOLD), names, notes)


def thread_names() -> dict[int, str]:
    """Names of Python's threads by the operating system's id; also of those that ended, while somebody has them."""
    known = [*getattr(threading, "_dangling", ()), *threading.enumerate()]
    return {thread.native_id: thread.name for thread in known if thread.native_id}


_warned = False


def _warn(why: str) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"profile: only perflab's own acquisitions of the GIL are recorded, as it cannot be traced here: {why}",
            RuntimeWarning,
            stacklevel=4,
        )
