"""The GIL of the whole process, traced while a profile records."""

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from perflab.runtime import _core

from .analysis.gil import PROBE, SAMPLED
from .events import GIL_HOLD
from .gil_track import GilRecord
from .trace import Json

ROOM = 4_000_000  # records of 40 bytes; further ones are counted as lost
PROBE_S = 0.01  # between two samples


class GilRecorder:
    """Traces the GIL until stop(). Several may run at once, in any threads.

    Where it cannot be traced the first of them warns and says why; our own acquisitions are recorded all the same.
    """

    def __init__(self, room: int = ROOM) -> None:
        self._refusal = ""
        self._probe: _core.GilProbe | None = None
        try:
            self._trace: _core.GilTrace | None = _core.GilTrace(room)
        except RuntimeError as error:
            self._trace, self._refusal = None, str(error)
            _warn(self._refusal)
            self._probe = _core.GilProbe(PROBE_S)

    def count(self) -> int:
        """How many holds there are so far."""
        return self._trace.count() if self._trace is not None else 0

    def read(self) -> GilRecord:
        """What was recorded so far; nothing after stop(), and in a child of os.fork()."""
        return self._record(self._trace.read if self._trace is not None else None)

    def forget(self, tick: int) -> None:
        """What ended before `tick` is not wanted any longer; it goes when nobody else traces."""
        if self._trace is not None:
            self._trace.forget(tick)

    def stop(self) -> GilRecord:
        """The same as read(), and the end."""
        if self._probe is not None:
            self._probe.stop()
        return self._record(self._trace.stop if self._trace is not None else None)

    def _record(self, traced: Callable[[], tuple[NDArray[np.uint8], int, str]] | None) -> GilRecord:
        if traced is None:
            assert self._probe is not None
            sampled: dict[str, Json] = {"gil": SAMPLED, "gilRefusal": self._refusal, "gilProbes": self._probe.samples}
            return GilRecord(None, sampled, {self._probe.thread: PROBE})
        holds, lost, trouble = traced()
        notes: dict[str, Json] = {"gil": "exact"}
        if lost:
            notes["gilLost"] = lost
        if trouble:
            notes["gilTrouble"] = trouble
        return GilRecord(holds.view(GIL_HOLD), notes)


_warned = False


def _warn(why: str) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"profile: the GIL is sampled, as it cannot be traced here: {why}",
            RuntimeWarning,
            stacklevel=4,
        )
