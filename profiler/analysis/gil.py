"""The GIL: who waited for it, how long, and how long they kept it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..trace import Int64s, Trace
from .among import among
from .paths import unique_pairs

WAIT, HELD = "GIL wait", "GIL held"  # begin the names of slices of category `gil`; a reason may follow
THREAD = "Thread"  # argument of those slices: tid of the thread, whose slices are on another track
IGNORED = "Drop request ignored (ns)"  # argument of holds: from when others asked for it to when it was released
SAMPLED = "sampled"  # what the metadata's `gil` says where the GIL could not be traced, only sampled; else `exact`
PROBE = "GIL probe"  # the thread that takes the samples
FLOW = "gil"  # name of the arrows from waits to the holds that they waited for


@dataclass(frozen=True, slots=True)
class GilWait:
    """One acquisition: asked at `start` on the thread of `track`, got it `wait_ns` later, kept it for `hold_ns`."""

    track: int
    start: int
    wait_ns: int
    hold_ns: int
    reason: str


def of_reason(what: str, reason: str) -> str:
    """The name of a wait or hold."""
    return f"{what}: {reason}" if reason else what


def gil_waits(trace: Trace) -> list[GilWait]:
    """All acquisitions on the trace, in the order of asking."""
    found = acquisitions(trace)
    texts = [_reason(name) for name in trace.strings]
    columns = (found.track, found.start, found.wait_ns, found.hold_ns, found.name)
    return [
        GilWait(track, start, wait, hold, texts[name])
        for track, start, wait, hold, name in zip(*(column.tolist() for column in columns), strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Acquisitions:
    """All acquisitions as columns, in the order of asking; see GilWait. `name` is the string id of a slice's name."""

    track: Int64s
    start: Int64s
    wait_ns: Int64s
    hold_ns: Int64s
    name: Int64s

    def __len__(self) -> int:
        return len(self.start)

    @property
    def acquired(self) -> Int64s:
        """When it was acquired."""
        return self.start + self.wait_ns


def acquisitions(trace: Trace) -> Acquisitions:
    """The acquisitions on a trace: a wait and the hold that begins where it ends, or one of them alone."""
    slices = trace.slices
    rows = trace.select(category="gil")
    waits = rows[_begin_with(trace, rows, WAIT)]
    holds = rows[_begin_with(trace, rows, HELD)]
    # a wait comes before the first of the holds that begin at its end
    lane = slices.track[np.concatenate((waits, holds))]
    time = np.concatenate((slices.end[waits], slices.start[holds]))
    is_hold = np.arange(len(time)) >= len(waits)
    order = np.lexsort((is_hold, time, lane))
    first, second = order[:-1], order[1:]
    paired = ~is_hold[first] & is_hold[second] & (time[first] == time[second]) & (lane[first] == lane[second])
    wait_of = np.full(len(holds), -1, dtype=np.int64)
    wait_of[second[paired] - len(waits)] = first[paired]
    alone = np.setdiff1d(np.arange(len(waits)), wait_of)
    waited = (
        np.where(wait_of >= 0, slices.duration[waits[wait_of]], 0) if len(waits) else np.zeros(len(holds), np.int64)
    )
    start = np.concatenate((slices.start[holds] - waited, slices.start[waits[alone]]))
    wait_ns = np.concatenate((waited, slices.duration[waits[alone]]))
    hold_ns = np.concatenate((slices.duration[holds], np.zeros(len(alone), dtype=np.int64)))
    chosen = np.concatenate((holds, waits[alone]))
    track = thread_tracks(trace, chosen)
    by_time = np.lexsort((track, start))
    columns = (track, start, wait_ns, hold_ns, slices.name[chosen].astype(np.int64))
    return Acquisitions(*(column[by_time] for column in columns))


def _reason(name: str) -> str:
    for what in (WAIT, HELD):
        if name.startswith(what):
            return name.removeprefix(what).removeprefix(": ")
    return name


def _begin_with(trace: Trace, rows: Int64s, what: str) -> NDArray[np.bool_]:
    names = [name for name, text in enumerate(trace.strings) if text.startswith(what)]
    return among(trace.slices.name[rows], names, len(trace.strings))


def wait_rows(trace: Trace) -> Int64s:
    """Rows of the slices that are waits for the GIL."""
    rows = trace.select(category="gil")
    return rows[_begin_with(trace, rows, WAIT)]


def hold_rows(trace: Trace) -> Int64s:
    """Rows of the slices that are holds of the GIL."""
    rows = trace.select(category="gil")
    return rows[_begin_with(trace, rows, HELD)]


def thread_tracks(trace: Trace, rows: Int64s) -> Int64s:
    """For each GIL slice the track of the thread it speaks of, or its own where it has none."""
    own = trace.slices.track[rows].astype(np.int64)
    if THREAD not in trace.slice_args or not len(rows):
        return own
    by_thread = {(track.pid, track.tid): number for number, track in enumerate(trace.tracks) if not track.lane}
    tid = trace.slice_args[THREAD].dense(len(trace.slices), missing=-1)[rows]
    (lanes, tids), which = unique_pairs(own, tid)
    pairs = zip(lanes.tolist(), tids.tolist(), strict=True)
    tracks = [by_thread.get((trace.tracks[lane].pid, number), lane) for lane, number in pairs]
    return np.array(tracks, dtype=np.int64)[which]
