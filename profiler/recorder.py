"""The recorder, shared by all windows that are open at once: each takes its own part, and none empties it."""

import itertools
import os
import threading
from dataclasses import dataclass

from perflab.runtime import _core

from .calibration import measured
from .errors import ProfileStateError
from .events import STEP_MARK
from .family import FAMILY
from .recording import Events


@dataclass(eq=False, slots=True)
class Share:
    """A window's part of the recorder: what ends from `tick` on. `first`: nothing was recorded before it."""

    number: int
    tick: int
    dropped: int
    first: bool
    stacks: bool  # of Python's, with each op and allocation


class SharedRecorder:
    """Turns the recorder on for the first window and off after the last one."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._costs: dict[str, float] = {}
        self._reset()
        os.register_at_fork(after_in_child=self._reset)  # there the recorder is off

    def _reset(self) -> None:
        # garbage collected in here may end a generator, and a profile in it; handlers of signals may begin some
        self._lock = threading.RLock()
        self._is_ours = False  # the recorder, if it is on
        self._open: set[Share] = set()
        self._several = False  # of them, at some time since the recorder went on
        self._kept: list[tuple[int, Events]] = []
        _core.record_stacks(False)

    def costs(self) -> dict[str, float]:
        """What it takes to record, in ns (see `calibration`); measured when nothing is recorded for the first time."""
        with self._lock:
            if not self._costs and not self._open and not _core.is_recording():
                self._is_ours = True
                self._costs = measured()
                self._is_ours = False
            return self._costs

    def begin(self, max_events: int, stacks: bool) -> Share:
        """Open a share. The limit of the first holds for those that open before it ends."""
        with self._lock:
            first = not self._open
            if first and not self._is_ours and _core.recorder_is_started():
                raise ProfileStateError("something else records with perflab's runtime; end it first")
            self._several = not first
            share = Share(next(self._numbers), 0, 0, False, stacks)
            self._open.add(share)  # now: what begins and ends in the midst of this does not turn the recorder off
            self._is_ours = True
            try:
                share.first = self._turn_on(max_events) and not self._kept
                _core.recorder_join()  # this one is told too what is told once
                self._set_stacks()
            except BaseException:
                self.end(share)
                raise
            share.tick, share.dropped = _core.recorder_ticks(), _core.recorder_dropped()
            return share

    def _turn_on(self, max_events: int) -> bool:
        """Whether it was off."""
        if _core.recorder_is_started():
            return False
        try:
            _core.recorder_start(max_events)
        except ValueError:  # a handler of a signal has just done so
            return False
        _core.record_shapes(True)
        FAMILY.record(max_events)
        return True

    def take(self, share: Share) -> tuple[list[tuple[int, Events]], int]:
        """The events so far by thread, and how many were dropped; nothing in a forked child, and after end()."""
        with self._lock:
            if share not in self._open:
                return [], 0
            self._drain()
            whole = share.first and not self._several
            return list(self._kept) if whole else _part(self._kept, share), _core.recorder_dropped() - share.dropped

    def forget(self, share: Share, tick: int) -> None:
        """What ended before `tick` is no longer the share's; nobody else's either, it makes room for new events."""
        with self._lock:
            if share in self._open:
                share.tick, share.first = tick, False
                _core.recorder_join()  # what was told once is forgotten
                self._drain()
                self._drop_old()

    def end(self, share: Share) -> None:
        """Close a share, the second time in vain."""
        with self._lock:
            if share not in self._open:
                return
            self._open.remove(share)
            self._set_stacks()
            if not self._open:
                _core.recorder_stop()
                self._is_ours = False
                FAMILY.rest()
            self._drain()
            self._drop_old()

    def _set_stacks(self) -> None:
        _core.record_stacks(any(share.stacks for share in self._open))

    def _drain(self) -> None:
        recorded = _core.recorder_drain()
        self._kept.extend(recorded)

    def _drop_old(self) -> None:
        oldest = min((share.tick for share in self._open), default=None)
        before = sum(len(events) for _, events in self._kept)
        self._kept = [one for one in self._kept if oldest is not None and one[1]["t2"].max(initial=0) >= oldest]
        _core.recorder_allow(before - sum(len(events) for _, events in self._kept))


def _part(recorded: list[tuple[int, Events]], share: Share) -> list[tuple[int, Events]]:
    """Without what ended before, and without the steps of other profiles."""
    parts = []
    for thread, events in recorded:
        other = (events["kind"] == STEP_MARK) & (events["sequence"] != share.number)
        if not share.first:
            other |= events["t2"] < share.tick
        parts.append((thread, events[~other] if other.any() else events))
    return parts


RECORDER = SharedRecorder()
