"""What torch recorded, on our clock: its slices on the tracks of their threads and streams, its memory, its arrows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .analysis.among import among
from .builder import TraceBuilder
from .torch_clock import DRIFT, UNCERTAINTY, OtherClock, anchor
from .torch_recorder import CLOCK_PART, READINGS, TorchPiece, TorchRecord
from .trace import ArgColumn, Args, Int64s, Trace

ALLOCATED = "Allocated by torch"  # begins the names of the counters; that of another device than the CPU follows
_NONE = np.empty(0, dtype=np.int64)
_KEPT = ("deviceProperties", "distributedInfo")  # of torch's metadata
_ITS_OWN = ("Traces", "Spans", "")  # "processes" in which Kineto speaks of itself


class TorchTrack:
    """Adds the pieces of a record to a builder, stretch by stretch.

    tracks: our track of a thread of this process. first_flow: the number of the first arrow.
    """

    def __init__(
        self,
        record: TorchRecord,
        builder: TraceBuilder,
        ns: Callable[[Int64s], Int64s],
        pid: int,
        tracks: Callable[[int], int],
        first_flow: int,
    ) -> None:
        window = (int(ns(np.array([record.began]))[0]), int(ns(np.array([record.ended]))[0]))
        self._pieces = []
        for piece in record.pieces:
            clock = _clock(piece, ns)
            self._pieces.append(_Added(piece.trace, clock, window, builder, pid, tracks, first_flow))
            first_flow += len(piece.trace.flows)
            builder.metadata |= {key: piece.trace.metadata[key] for key in _KEPT if piece.trace.metadata.get(key)}
            builder.metadata[UNCERTAINTY] = max(clock.uncertainty, builder.metadata.get(UNCERTAINTY, 0))
            builder.metadata[DRIFT] = max(clock.drift, builder.metadata.get(DRIFT, clock.drift), key=abs)

    def add(self, until: float) -> None:
        """What begins before `until`, and did not before."""
        for piece in self._pieces:
            piece.add(until)


def _clock(piece: TorchPiece, ns: Callable[[Int64s], Int64s]) -> OtherClock:
    """torch's clock, from the parts by which the two were compared."""
    trace = piece.trace
    rows = trace.select(name=CLOCK_PART)
    begin, end = trace.slices.start[rows], trace.slices.end[rows]
    first, last = (
        anchor(begin[of], end[of], ns(readings.ravel()).reshape(readings.shape))
        for of, readings in ((slice(READINGS), piece.first), (slice(-READINGS, None), piece.last))
    )
    return OtherClock(first, last)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Rows of torch's trace that are shown, when, and their arguments; a place counts among the rows."""

    rows: Int64s
    time: Int64s
    args: dict[str, ArgColumn]  # by place

    @staticmethod
    def of(shown: NDArray[np.bool_], time: Int64s, args: Args) -> "_Chosen":
        place = np.cumsum(shown) - 1
        chosen = {}
        for key, column in args.items():
            kept = shown[column.rows]
            if kept.any():
                chosen[key] = ArgColumn(place[column.rows[kept]], column.values[kept], column.table)
        rows = np.flatnonzero(shown)
        return _Chosen(rows, time[rows], chosen)

    def args_between(self, first: int, end: int) -> Iterator[tuple[str, ArgColumn]]:
        """Arguments of the places from first to end, counted from first."""
        for key, column in self.args.items():
            low, high = np.searchsorted(column.rows, (first, end))
            if low < high:
                yield key, ArgColumn(column.rows[low:high] - first, column.values[low:high], column.table)


class _Added:
    """One piece, as far as it is added."""

    def __init__(
        self,
        trace: Trace,
        clock: OtherClock,
        window: tuple[int, int],
        builder: TraceBuilder,
        pid: int,
        tracks: Callable[[int], int],
        first_flow: int,
    ) -> None:
        began, ended = window
        slices, instants = trace.slices, trace.instants
        start, end, time = (clock.ours(moments) for moments in (slices.start, slices.end, instants.time))
        own = np.array([track.pid in _ITS_OWN for track in trace.tracks], dtype=bool)
        hidden = own[slices.track] | among(slices.name, [trace.string_id(CLOCK_PART)], len(trace.strings))
        start = np.maximum(start, began)  # of another profile's op, inside of which this one began
        self._end = end
        self._slices = _Chosen.of(~hidden & (end > began) & (start < ended), start, trace.slice_args)
        shown = ~own[instants.track] & (time >= began) & (time < ended)
        self._instants = _Chosen.of(shown, time, trace.instant_args)
        self._trace, self._builder = trace, builder
        self._strings = np.array([builder.string(text) for text in trace.strings], dtype=np.int64)
        shown_on = {*slices.track[self._slices.rows].tolist(), *instants.track[self._instants.rows].tolist()}
        self._tracks = np.full(len(trace.tracks), -1, dtype=np.int64)
        for number in sorted(shown_on):
            track = trace.tracks[number]
            is_ours = track.pid == pid and isinstance(track.tid, int)
            self._tracks[number] = tracks(track.tid) if is_ours else builder.track(track)
        self._arrows = [_arrows(rows, self._slices.rows) for rows in (trace.flows.source, trace.flows.target)]
        self._first_flow = first_flow
        self._totals, self._main = self._running_totals(), tracks(pid)
        self._slices_added = self._instants_added = 0

    def add(self, until: float) -> None:
        first, self._slices_added = self._slices_added, _place(self._slices.time, until)
        self._add_slices(first, self._slices_added)
        first, self._instants_added = self._instants_added, _place(self._instants.time, until)
        self._add_instants(first, self._instants_added)

    def _add_slices(self, first: int, end: int) -> None:
        builder, slices = self._builder, self._trace.slices
        rows, start = self._slices.rows[first:end], self._slices.time[first:end]
        handle = builder.slices(
            start,
            self._end[rows] - start,
            self._tracks[slices.track[rows]],
            self._strings[slices.name[rows]],
            self._strings[slices.category[rows]],
        )
        for key, column in self._slices.args_between(first, end):
            builder.slice_args(key, handle + column.rows, column.values, column.table)
        for is_target, (places, arrows) in enumerate(self._arrows):
            low, high = np.searchsorted(places, (first, end))
            found = arrows[low:high]
            names = self._strings[self._trace.flows.name[found]]
            builder.flow_ends(handle + places[low:high] - first, self._first_flow + found, names, bool(is_target))

    def _add_instants(self, first: int, end: int) -> None:
        builder, instants = self._builder, self._trace.instants
        rows = self._instants.rows[first:end]
        handle = builder.instants(
            self._instants.time[first:end],
            self._tracks[instants.track[rows]],
            self._strings[instants.name[rows]],
            self._strings[instants.category[rows]],
        )
        for key, column in self._instants.args_between(first, end):
            builder.instant_args(key, handle + column.rows, column.values, column.table)
        totals = slice(*np.searchsorted(self._totals[0], (first, end)))
        places, counter, value = (column[totals] for column in self._totals)
        builder.counters(self._instants.time[places], self._main, counter, value)

    def _running_totals(self) -> tuple[Int64s, Int64s, Int64s]:
        """Of torch's memory: the places of the instants that tell it, their counter, and its value."""
        args, builder = self._instants.args, self._builder
        total = args.get("Total Allocated")
        if total is None or total.table is not None:
            return _NONE, _NONE, _NONE
        count = len(self._instants.rows)
        kind, number = (
            args[key].dense(count, -1) if key in args else np.full(count, -1) for key in ("Device Type", "Device Id")
        )
        devices = list(zip(kind[total.rows].tolist(), number[total.rows].tolist(), strict=True))
        names = {device: f"{ALLOCATED}{f', device {device[1]}' if device[0] else ''}" for device in set(devices)}
        counter = np.array([builder.string(names[device]) for device in devices], dtype=np.int64)
        return total.rows, counter, total.values


def _arrows(ends: Int64s, shown: Int64s) -> tuple[Int64s, Int64s]:
    """Arrows that end at shown rows: the places of these, ascending, and the arrows' numbers."""
    if not len(shown):
        return _NONE, _NONE
    place = np.minimum(np.searchsorted(shown, ends), len(shown) - 1)
    arrows = np.flatnonzero(shown[place] == ends)
    order = np.argsort(place[arrows], kind="stable")
    return place[arrows][order], arrows[order]


def _place(times: Int64s, until: float) -> int:
    return len(times) if until == np.inf else int(np.searchsorted(times, until))
