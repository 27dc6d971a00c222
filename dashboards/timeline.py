"""The timeline of a trace: which rows it has, and the slices and counters sorted for asking what lies in a stretch."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from perflab.profiler.analysis.gil import thread_tracks
from perflab.profiler.analysis.steps import step_names
from perflab.profiler.trace import Float64s, Int64s, Trace, Track

from .entries import Entries, levels

NO_COUNTER = -1


@dataclass(frozen=True)
class Window:
    """A stretch of a trace: [start, end) in ns of the trace's own clock, and what to call it."""

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class Band:
    """What belongs together on the timeline: the slices of a track, a row for each depth, or one counter on one row.

    `counter` is the string id of the counter's name, NO_COUNTER where the band is of slices.
    """

    track: int
    label: str
    process: str
    counter: int
    first_row: int
    rows: int


def track_label(track: Track) -> str:
    """What a page calls a track."""
    name = track.name or (track.tid if isinstance(track.tid, str) else f"thread {track.tid}")
    return f"{name} ({track.lane + 1})" if track.lane else name


def bands(trace: Trace) -> tuple[Band, ...]:
    """The bands from top to bottom: by process, a thread's lanes and its GIL below it, counters last."""
    depths = np.zeros(len(trace.tracks), dtype=np.int64)
    np.maximum.at(depths, trace.slices.track, trace.slices.depth + 1)
    order = _order(trace, np.flatnonzero(depths))
    parts = [(track, NO_COUNTER, int(depths[track])) for track in order]
    codes = np.unique(trace.counters.track.astype(np.int64) * len(trace.strings) + trace.counters.name).tolist()
    counted = [divmod(code, len(trace.strings)) for code in codes]
    ranks = _process_ranks(trace, [*order, *(track for track, _ in counted)])
    parts += [(track, name, 1) for track, name in counted]
    parts.sort(key=lambda part: (ranks[trace.tracks[part[0]].pid], part[1] != NO_COUNTER))
    twins = {name for _, name in counted if sum(other == name for _, other in counted) > 1}
    found = []
    row = 0
    for track, counter, rows in parts:
        label = track_label(trace.tracks[track])
        if counter != NO_COUNTER:
            label = f"{trace.strings[counter]}, {label}" if counter in twins else trace.strings[counter]
        found.append(Band(track, label, _process(trace.tracks[track]), counter, row, rows))
        row += rows
    return tuple(found)


def _process(track: Track) -> str:
    pid = str(track.pid)
    return f"{track.process} {pid}" if track.process and track.process != pid else track.process or f"process {pid}"


def _order(trace: Trace, tracks: npt.NDArray[np.int64]) -> list[int]:
    """Tracks with each lane, and each track of a thread's GIL, after the thread that it belongs to; threads with steps
    come first."""
    base = {(track.pid, track.tid): number for number, track in enumerate(trace.tracks) if not track.lane}
    slices = trace.slices
    of_gil = np.flatnonzero(slices.category == trace.string_id("gil"))
    lanes, first = np.unique(slices.track[of_gil], return_index=True)
    owner = dict(zip(lanes.tolist(), thread_tracks(trace, of_gil[first]).tolist(), strict=True))

    def thread_of(track: int) -> int:
        return base.get((trace.tracks[track].pid, trace.tracks[track].tid), track)

    stepping = np.unique(slices.track[np.isin(slices.name, list(step_names(trace)))])
    with_steps = set(map(thread_of, stepping.tolist()))

    def place(track: int) -> tuple[bool, int, bool, int, int]:
        own = thread_of(track)
        first = owner.get(own, own)
        return first not in with_steps, first, own != first, own, trace.tracks[track].lane

    return sorted(tracks.tolist(), key=place)


def _process_ranks(trace: Trace, tracks: Sequence[int]) -> dict[int | str, int]:
    ranks: dict[int | str, int] = {}
    for track in sorted(tracks):
        ranks.setdefault(trace.tracks[track].pid, len(ranks))
    return ranks


@dataclass(frozen=True, slots=True)
class Curve:
    """A counter's values, sorted by time; times are ns since the timeline's begin."""

    row: int
    time: Int64s
    value: Float64s


class Timeline:
    """A trace made ready for drawing. Times are ns since `begin`, the trace's first moment."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.bands = bands(trace)
        self.begin, end = trace.span()
        self.length = max(end - self.begin, 1)
        self.rows = sum(band.rows for band in self.bands)
        self._first_row = np.zeros(max(len(trace.tracks), 1), dtype=np.int64)
        for band in self.bands:
            if band.counter == NO_COUNTER:
                self._first_row[band.track] = band.first_row
        self.levels = levels(self._entries(), self.rows, self.length)

    def _entries(self) -> Entries:
        columns = self.trace.slices
        row = self.row_of(np.arange(len(columns)))
        order = np.argsort(row, kind="stable")  # in a trace slices are sorted by start
        begin, duration = columns.start[order] - self.begin, columns.duration[order]
        one = np.broadcast_to(np.int64(1), len(order))
        return Entries(row[order], begin, begin + duration, one, duration, order, duration)

    def row_of(self, slices: Int64s) -> Int64s:
        """The rows on which slices lie."""
        columns = self.trace.slices
        found: Int64s = self._first_row[columns.track[slices]] + columns.depth[slices]
        return found

    def entries(self, start: int, end: int, bin_ns: int) -> Entries:
        """What begins in [start, end), merged in bins of `bin_ns` from `start`, and slices of at least that length
        that reach into it."""
        # Coarser entries do where their bins lie in those that are asked for.
        common = math.gcd(start, end, bin_ns)
        level = next(level for level in reversed(self.levels) if common % level.bin == 0)
        return level.touching(start, end, bin_ns).merged(bin_ns, start)

    def beside(self, slice_: int) -> tuple[int, int]:
        """The slices before and after one on its row, -1 where there is none."""
        every = self.levels[0]
        row = int(self.row_of(np.array([slice_]))[0])
        low, high = every.bounds[row : row + 2].tolist()
        own = low + int(np.searchsorted(every.slice[low:high], slice_))  # in a row slices ascend
        return (
            int(every.slice[own - 1]) if own > low else -1,
            int(every.slice[own + 1]) if own + 1 < high else -1,
        )

    @cached_property
    def curves(self) -> tuple[Curve, ...]:
        """The counters, in the order of their rows."""
        return tuple(self._curves())

    def _curves(self) -> Iterator[Curve]:
        counters = self.trace.counters
        for band in self.bands:
            if band.counter != NO_COUNTER:
                own = (counters.track == band.track) & (counters.name == band.counter)
                yield Curve(band.first_row, counters.time[own] - self.begin, counters.value[own])
