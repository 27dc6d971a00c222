"""The critical path: the chain of work, launches and hand-overs that the end of the last step waited for, or the end of
what it had launched on a device.

It is walked backwards. A host thread is followed until something woke it: a device that it waited for, a thread that
gave it the GIL, or the thread of a backward pass. A device is followed along a stream to the work that it waited for
the host to launch, and from there to the launch.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from ..trace import Int64s, Trace
from .devices import device_rows
from .enclosing import nearest
from .intervals import Cover
from .ops import launchers, op_slices
from .parts import WAITS, WORDS, bounds, part_covers, step_thread
from .threads import thread_name, threads
from .wakings import NOBODY, SYNCED, Wakings, wakings

OUTSIDE, IDLE, LAUNCH = "outside of ops", "device idle", "launch latency"
Where: TypeAlias = Literal["host", "device", "launch", "gil_wait"]


@dataclass(frozen=True, slots=True)
class PathPiece:
    """A stretch of the path on one track, in ns."""

    where: Where
    track: int
    start: int
    duration: int


@dataclass(frozen=True, slots=True)
class PathOwner:
    """An op on the host, a kernel on a device, or what else was on the path, and for how long."""

    where: Where
    name: str
    ns: int


@dataclass(frozen=True, slots=True)
class CriticalPath:
    """From the begin of the first step to the end of the last and its work: `pieces` in time, no gap, no overlap.

    `owners` share it out, the largest first; they and the pieces add up to `total_ns`.
    """

    total_ns: int
    pieces: tuple[PathPiece, ...]
    owners: tuple[PathOwner, ...]


def critical_path(trace: Trace) -> CriticalPath:
    """The path through all steps, or through the whole trace where it has none."""
    loop = bounds(trace)
    if not loop:
        return CriticalPath(0, (), ())
    begin, end = loop[0].start, loop[-1].start + loop[-1].duration
    pieces = _Walk(trace, begin).back_from(step_thread(trace), end)
    return CriticalPath(sum(piece.duration for piece in pieces), tuple(pieces), _owners(trace, pieces))


class _Walk:
    def __init__(self, trace: Trace, begin: int) -> None:
        self._trace, self._begin = trace, begin
        self._main = step_thread(trace)
        self._of_track = threads(trace)
        self._wakings = wakings(trace)
        self._look_at_devices()

    def back_from(self, thread: int, time: int) -> list[PathPiece]:
        """The pieces until this moment of a thread, in time."""
        pieces: list[PathPiece] = []
        came_through = False  # to this very moment: what ends at it is on the way already, and not looked at again
        done = self._end_of_work(time)
        if done > time:
            thread, time = self._through_device(pieces, thread, time, done)
        while time > self._begin:
            found, place = self._last_waking(thread, time, came_through)
            since = int(found.end[place]) if found else self._begin
            _add(pieces, "host", thread, max(since, self._begin), time)
            if found is None or since <= self._begin:
                break
            start, kind, other = (int(column[place]) for column in (found.start, found.kind, found.other))
            time = since
            if kind == SYNCED:
                thread, time = self._through_device(pieces, thread, start, since)
            elif other != NOBODY:
                thread = other
            else:
                _add(pieces, "gil_wait", thread, max(start, self._begin), since)
                time = start
            came_through = time == since
        return pieces[::-1]

    def _end_of_work(self, time: int) -> int:
        """When devices were done with what had been launched by then."""
        slices, rows = self._trace.slices, self._device_by_end
        launch = self._launcher[rows]
        own = (launch >= 0) & (slices.start[launch] < time)
        return int(self._device_end[own].max(initial=time))

    def _last_waking(self, thread: int, time: int, before: bool) -> tuple[Wakings | None, int]:
        """The thread's last waking until this moment (or before it), and its place among them."""
        found = self._wakings.get(thread)
        if found is None:
            return None, -1
        place = int(np.searchsorted(found.end, time, side="left" if before else "right")) - 1
        return (found, place) if place >= 0 else (None, -1)

    def _through_device(self, pieces: list[PathPiece], thread: int, start: int, end: int) -> tuple[int, int]:
        """Along the stream that a wait was for, to the host that launched its work; past the wait where none ended."""
        place = int(np.searchsorted(self._device_end, end, side="right")) - 1
        if place < 0 or self._device_end[place] <= max(start, self._begin):
            _add(pieces, "host", thread, max(start, self._begin), end)
            return thread, start
        row = int(self._device_by_end[place])
        slices = self._trace.slices
        first = int(self._first_of_run[row])
        begun, done = max(int(slices.start[first]), self._begin), int(slices.end[row])
        _add(pieces, "host", thread, done, end)
        _add(pieces, "device", int(slices.track[row]), begun, done)
        launch = int(self._launcher[first])
        if launch < 0 or begun == self._begin:
            return self._main, begun
        launched = int(self._launched(np.array([launch]), slices.start[[first]])[0])
        _add(pieces, "launch", int(slices.track[row]), max(launched, self._begin), begun)
        return int(self._of_track[slices.track[launch]]), launched

    def _look_at_devices(self) -> None:
        """For each piece of work the first of its run: the last one on the stream that waited for its launch."""
        slices = self._trace.slices
        rows = device_rows(self._trace)
        self._device_by_end = rows[np.argsort(slices.end[rows], kind="stable")]
        self._device_end = slices.end[self._device_by_end]
        self._launcher = launchers(self._trace)
        self._first_of_run = np.full(len(slices), -1, dtype=np.int64)
        for track in np.unique(slices.track[rows]).tolist():
            stream = rows[slices.track[rows] == track]
            launch = self._launcher[stream]
            free = np.concatenate(([np.iinfo(np.int64).min], np.maximum.accumulate(slices.end[stream])[:-1]))
            waited = (self._launched(launch, slices.start[stream]) >= free) & (launch >= 0)
            waited[0] = True
            self._first_of_run[stream] = stream[np.maximum.accumulate(np.where(waited, np.arange(len(stream)), 0))]

    def _launched(self, launch: Int64s, begun: Int64s) -> Int64s:
        """When a call had launched what then began: at its end, or, of one that waited for the work, at its begin.

        Never later than the work began: clocks of devices can be off.
        """
        slices = self._trace.slices
        return np.where(slices.end[launch] <= begun, slices.end[launch], np.minimum(slices.start[launch], begun))


def _add(pieces: list[PathPiece], where: Where, track: int, start: int, end: int) -> None:
    if end > start:
        pieces.append(PathPiece(where, track, start, end - start))


def _owners(trace: Trace, pieces: list[PathPiece]) -> tuple[PathOwner, ...]:
    sums: dict[tuple[Where, str], int] = {}
    by_track: dict[tuple[Where, int], list[PathPiece]] = {}
    for piece in pieces:
        by_track.setdefault((piece.where, piece.track), []).append(piece)
    is_op = op_slices(trace)
    of_track = threads(trace)
    work = device_rows(trace)
    main = step_thread(trace)
    parts = part_covers(trace, main)
    for (where, track), found in by_track.items():
        start = np.array([piece.start for piece in found], dtype=np.int64)
        cover = Cover.union(start, np.array([piece.duration for piece in found], dtype=np.int64))
        rest = cover.total
        if where == "host":
            for lane in np.flatnonzero(of_track == track).tolist():
                rows = np.flatnonzero(is_op & (trace.slices.track == lane))
                for name, ns in _shares(trace, rows, cover).items():
                    sums[where, name] = sums.get((where, name), 0) + ns
                    rest -= ns
                cover -= Cover.union(trace.slices.start[rows], trace.slices.duration[rows])
            if track == main:
                for part, claim in parts.items():
                    ns = (cover & claim).total
                    sums[where, WORDS[part] if part in WAITS else f"{part}, {OUTSIDE}"] = ns
                    rest -= ns
        elif where == "device":
            for name, ns in _shares(trace, work[trace.slices.track[work] == track], cover).items():
                sums[where, name] = sums.get((where, name), 0) + ns
                rest -= ns
        name = {"host": OUTSIDE, "device": IDLE, "launch": LAUNCH, "gil_wait": "GIL wait"}[where]
        if where == "host" and track != main:  # which may be on the trace as a line of the GIL alone
            name = f"{thread_name(trace, track)}, {OUTSIDE}"
        sums[where, name] = sums.get((where, name), 0) + rest
    owners = [PathOwner(where, name, ns) for (where, name), ns in sums.items() if ns]
    return tuple(sorted(owners, key=lambda owner: -owner.ns))


def _shares(trace: Trace, rows: Int64s, cover: Cover) -> dict[str, int]:
    """The ns of a cover that each name owns by itself: nested slices own theirs."""
    slices = trace.slices
    own = cover.within(slices.start[rows], slices.end[rows])
    place = np.full(len(slices) + 1, -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    chosen = np.zeros(len(slices), dtype=bool)
    chosen[rows] = True
    above = place[nearest(trace, slices.parent[rows], chosen)]
    alone = own.copy()
    np.subtract.at(alone, above[above >= 0], own[above >= 0])
    sums = np.zeros(len(trace.strings), dtype=np.int64)
    np.add.at(sums, slices.name[rows], alone)
    present = np.flatnonzero(sums)
    return {trace.strings[name]: ns for name, ns in zip(present.tolist(), sums[present].tolist(), strict=True)}
