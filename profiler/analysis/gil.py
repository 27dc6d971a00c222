"""The GIL: who waited for it, how long, and how long they kept it."""

from dataclasses import dataclass

import numpy as np

from ..trace import Int64s, Trace
from .paths import unique_pairs

WAIT, HELD = "GIL wait", "GIL held"  # begin the names of slices of category `gil`; a reason may follow
THREAD = "Thread"  # argument of those slices: tid of the thread, whose slices are on another track
IGNORED = "Drop request ignored (ns)"  # argument of holds: from when others asked for it to when it was released
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


def _reason(name: str, what: str) -> str:
    return name.removeprefix(what).removeprefix(": ")


def gil_waits(trace: Trace) -> list[GilWait]:
    """All acquisitions on the trace, in the order of asking."""
    slices = trace.slices
    rows = trace.select(category="gil")
    held = {}
    waits = {}
    for row, thread in zip(rows.tolist(), thread_tracks(trace, rows).tolist(), strict=True):
        name = trace.strings[slices.name[row]]
        start, duration, lane = int(slices.start[row]), int(slices.duration[row]), int(slices.track[row])
        if name.startswith(WAIT):
            waits[lane, start + duration] = GilWait(thread, start, duration, 0, _reason(name, WAIT))
        elif name.startswith(HELD):
            held[lane, start] = GilWait(thread, start, 0, duration, _reason(name, HELD))
    found = []
    for key, hold in held.items():
        wait = waits.pop(key, None)
        if wait is None:
            found.append(hold)
        else:
            found.append(GilWait(wait.track, wait.start, wait.wait_ns, hold.hold_ns, wait.reason))
    return sorted([*found, *waits.values()], key=lambda wait: (wait.start, wait.track))


def wait_rows(trace: Trace) -> Int64s:
    """Rows of the slices that are waits for the GIL."""
    rows = trace.select(category="gil")
    names = [name for name, text in enumerate(trace.strings) if text.startswith(WAIT)]
    waits: Int64s = rows[np.isin(trace.slices.name[rows], names)]
    return waits


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
