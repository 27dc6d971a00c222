"""Who keeps whom from the GIL: each thread's share of it, who held it while others waited, and convoys."""

from dataclasses import dataclass

import numpy as np

from ..trace import Int64s, Trace
from .gil import IGNORED, Acquisitions, acquisitions, thread_tracks
from .intervals import Cover

_CONVOY = 5  # acquisitions in a row
_LONG_NS = 1_000_000  # of waiting: a part of Python's switch interval, which is 5 ms
_SHORT = 10  # times as long as the hold that follows


@dataclass(frozen=True, slots=True)
class GilThread:
    """A thread's use of the GIL; times in ns. `requests` are its holds that others asked to end, and `ignored_ns` is
    the longest that it went on all the same."""

    track: int
    acquisitions: int
    held_ns: int
    longest_hold_ns: int
    waited_ns: int
    longest_wait_ns: int
    requests: int
    ignored_ns: int


@dataclass(frozen=True, slots=True)
class Blocked:
    """How long, and in how many waits, one thread waited while another held the GIL."""

    waiter: int
    holder: int
    ns: int
    waits: int


@dataclass(frozen=True, slots=True)
class Convoy:
    """A thread that again and again waits long to hold the GIL for a moment, as it gives it up between.

    Each time it gives it up, to read or to sleep, it joins the queue behind `holder`, which computes and is asked to
    let go after a whole switch interval only. Work that keeps the GIL, or a process of its own, is the way out.
    """

    track: int
    holder: int
    start: int
    end: int
    acquisitions: int
    waited_ns: int
    held_ns: int


def gil_threads(trace: Trace) -> list[GilThread]:
    """The threads that asked for the GIL, by falling time of holding it."""
    found = acquisitions(trace)
    column = trace.slice_args.get(IGNORED)
    rows = column.rows if column else np.empty(0, dtype=np.int64)
    ignored = column.dense(len(trace.slices))[rows] if column else rows
    of_ignored = thread_tracks(trace, rows)
    threads = []
    for track in np.unique(found.track).tolist():
        own, asked = found.track == track, ignored[of_ignored == track]
        hold, wait = found.hold_ns[own], found.wait_ns[own]
        threads.append(
            GilThread(
                track=track,
                acquisitions=len(hold),
                held_ns=int(hold.sum()),
                longest_hold_ns=int(hold.max()),
                waited_ns=int(wait.sum()),
                longest_wait_ns=int(wait.max()),
                requests=len(asked),
                ignored_ns=int(asked.max(initial=0)),
            )
        )
    return sorted(threads, key=lambda thread: (-thread.held_ns, thread.track))


def blocked(trace: Trace) -> list[Blocked]:
    """Every pair of a waiter and a holder, by falling time. What is left of a waiter's time nobody held it: a thread
    that gets the GIL has to be woken first."""
    found = acquisitions(trace)
    pairs = []
    for holder in np.unique(found.track[found.hold_ns > 0]).tolist():
        meanwhile = _held(found, holder).within(found.start, found.acquired)
        for waiter in np.unique(found.track[meanwhile > 0]).tolist():
            ns = meanwhile[found.track == waiter]
            pairs.append(Blocked(waiter, holder, int(ns.sum()), int((ns > 0).sum())))
    return sorted(pairs, key=lambda pair: (-pair.ns, pair.waiter, pair.holder))


def convoys(trace: Trace) -> list[Convoy]:
    """The convoys of a trace, by falling time of waiting."""
    found = acquisitions(trace)
    convoys = []
    for track in np.unique(found.track).tolist():
        own = np.flatnonzero(found.track == track)
        wait, hold = found.wait_ns[own], found.hold_ns[own]
        slow = np.concatenate(([False], (wait >= _LONG_NS) & (wait >= _SHORT * hold), [False])).astype(np.int8)
        begins, ends = (np.flatnonzero(np.diff(slow) == change) for change in (1, -1))
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            if end - begin >= _CONVOY:
                convoys.append(_convoy(found, track, own[begin:end]))
    return sorted(convoys, key=lambda convoy: (-convoy.waited_ns, convoy.start))


def _convoy(found: Acquisitions, track: int, rows: Int64s) -> Convoy:
    start, acquired = found.start[rows], found.acquired[rows]
    near = (found.acquired < acquired[-1]) & (found.acquired + found.hold_ns > start[0]) & (found.track != track)
    held = {
        other: int(_held(found, other).within(start, acquired).sum()) for other in np.unique(found.track[near]).tolist()
    }
    return Convoy(
        track=track,
        holder=max(held, key=lambda other: held[other]) if held else track,
        start=int(start[0]),
        end=int(acquired[-1] + found.hold_ns[rows[-1]]),
        acquisitions=len(rows),
        waited_ns=int(found.wait_ns[rows].sum()),
        held_ns=int(found.hold_ns[rows].sum()),
    )


def _held(found: Acquisitions, track: int) -> Cover:
    """When a thread held it."""
    own = found.track == track
    return Cover.union(found.acquired[own], found.hold_ns[own])
