"""Threads: the tracks that belong together, since a thread's crossing slices lie on several lanes."""

import numpy as np

from ..trace import Int64s, Trace


def threads(trace: Trace) -> Int64s:
    """By track, its thread: the number of the first track with the same pid and tid, whatever their lanes."""
    first: dict[tuple[int | str, int | str], int] = {}
    numbers = [first.setdefault((track.pid, track.tid), number) for number, track in enumerate(trace.tracks)]
    return np.array(numbers, dtype=np.int64)


def of_process(trace: Trace, thread: int) -> list[int]:
    """The tracks of the same process."""
    return [number for number, track in enumerate(trace.tracks) if track.pid == trace.tracks[thread].pid]


def thread_name(trace: Trace, track: int) -> str:
    """What a person calls the thread of a track, whose line may be that of the GIL alone."""
    known = trace.tracks[track]
    return known.name.removesuffix(" GIL") or f"thread {known.tid}"


def named_thread(trace: Trace, tid: int) -> str:
    """What a person calls the thread of a tid."""
    names = (track.name for track in trace.tracks if track.tid == tid)
    return next(filter(None, names), f"thread {tid}")
