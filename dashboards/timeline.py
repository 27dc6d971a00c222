"""The timeline of a trace: which rows it has, and the slices and counters sorted for asking what lies in a stretch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from perflab.profiler.analysis.gil import thread_tracks
from perflab.profiler.analysis.steps import step_names
from perflab.profiler.trace import Float64s, Int64s, Trace, Track

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
class Touching:
    """Slices with their rows and times, in ns since the timeline's begin."""

    slice: Int64s
    row: Int64s
    begin: Int64s
    end: Int64s


@dataclass(frozen=True, slots=True)
class Curve:
    """A counter's values, sorted by time; times are ns since the timeline's begin."""

    row: int
    time: Int64s
    value: Float64s


class Timeline:
    """A trace made ready for drawing. Times are ns since `begin`, the trace's first moment.

    Slices are sorted by row, then by start; slices of one row never overlap, so their ends are sorted too.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.bands = bands(trace)
        self.begin, end = trace.span()
        self.length = max(end - self.begin, 1)
        self.rows = sum(band.rows for band in self.bands)
        self._stride = self.length + 2
        self._first_row = np.zeros(max(len(trace.tracks), 1), dtype=np.int64)
        for band in self.bands:
            if band.counter == NO_COUNTER:
                self._first_row[band.track] = band.first_row
        row = self.row_of(np.arange(len(trace.slices)))
        self.slice = np.argsort(row, kind="stable")  # in a trace slices are sorted by start
        # One search over all rows: `row * stride + time` ascends over the sorted slices.
        base = row[self.slice] * self._stride - self.begin
        self._starts = base + trace.slices.start[self.slice]
        self._ends = self._starts + trace.slices.duration[self.slice]

    def row_of(self, slices: Int64s) -> Int64s:
        """The rows on which slices lie."""
        columns = self.trace.slices
        found: Int64s = self._first_row[columns.track[slices]] + columns.depth[slices]
        return found

    def touching(self, start: int, end: int, least: int) -> Touching:
        """The slices that touch [start, end), sorted by row and start; of those that begin before it, only the ones
        that last at least `least` ns."""
        rows = np.arange(self.rows)
        start, end = (min(max(time, 0), self.length + 1) for time in (start, end))
        begin, stop = rows * self._stride + start, rows * self._stride + end
        first = np.searchsorted(self._starts, begin)
        # At most one slice of a row reaches into the stretch from before: the one before the first that begins in it.
        reaching = np.flatnonzero(np.searchsorted(self._ends, begin, side="right") < first)
        before = first[reaching] - 1
        first[reaching[self._ends[before] - self._starts[before] >= least]] -= 1
        last = np.maximum(np.searchsorted(self._starts, stop), first)
        spans = [slice(*span) for span in zip(first.tolist(), last.tolist(), strict=True)]
        row = np.repeat(rows, last - first)
        base = row * self._stride
        slices, starts, ends = (_joined(column, spans) for column in (self.slice, self._starts, self._ends))
        return Touching(slices, row, starts - base, ends - base)

    def beside(self, slice_: int) -> tuple[int, int]:
        """The slices before and after one on its row, -1 where there is none."""
        row = int(self.row_of(np.array([slice_]))[0])
        low, high = np.searchsorted(self._starts, (row * self._stride, (row + 1) * self._stride))
        own = low + int(np.searchsorted(self.slice[low:high], slice_))  # in a row slices ascend
        return (int(self.slice[own - 1]) if own > low else -1, int(self.slice[own + 1]) if own + 1 < high else -1)

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


def _joined(column: Int64s, spans: Sequence[slice]) -> Int64s:
    # Ranges of a column are copied faster than its elements are gathered.
    return np.concatenate([column[:0], *(column[span] for span in spans)])
