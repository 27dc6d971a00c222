"""Pages: the events of a trace by stretches of time, so that a long one is made and written piece by piece.

A page holds the slices, instants and counters that begin in its stretch, and the ends of flows at its slices. Whole
traces are cut into pages (`pages_of`), and pages joined to a whole trace (`trace_of`), which knows what nests in what.
"""

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .args import joined_values
from .nesting import crossing, nest, trees
from .trace import ArgColumn, Args, Counters, Flows, Instants, Int32s, Int64s, Json, Slices, Trace, Track

ANNOTATIONS = ("user_annotation", "gpu_user_annotation")  # categories of what may straddle other slices
_PAGE = 1 << 14  # events of a kind


@dataclass(frozen=True, slots=True)
class Intervals:
    """Slices without their nesting, sorted by (start, -duration)."""

    start: Int64s
    duration: Int64s
    track: Int32s
    name: Int32s
    category: Int32s

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True, slots=True)
class FlowEnds:
    """Ends of arrows at slices of a page, sorted by row; the two ends of an arrow have the same id.

    `time` is where it stands in its slice: the slice's start, or later, so that the arrow does not go back in time.
    """

    row: Int64s
    id: Int64s
    name: Int32s
    is_target: NDArray[np.bool_]
    time: Int64s

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True, slots=True)
class Page:
    """What begins in one stretch of time; rows are those of the page."""

    slices: Intervals
    instants: Instants
    counters: Counters
    flow_ends: FlowEnds
    slice_args: Args = field(default_factory=dict)
    instant_args: Args = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pages:
    """A trace as pages in the order of time. `strings` may grow while they are taken, `tracks` are known before."""

    strings: list[str]
    tracks: list[Track]
    metadata: dict[str, Json]
    pages: Iterator[Page]


def pages_of(trace: Trace) -> Pages:
    """A whole trace, cut."""
    return Pages(trace.strings, trace.tracks, trace.metadata, _cut(trace))


def _cut(trace: Trace) -> Iterator[Page]:
    flows = trace.flows
    rows = np.concatenate((flows.source, flows.target))
    order = np.argsort(rows, kind="stable")
    is_target, arrow = np.divmod(order, max(len(flows), 1))
    time = np.concatenate((trace.slices.start[flows.source], _arrivals(trace)))
    ends = FlowEnds(rows[order], arrow + 1, flows.name[arrow], is_target.astype(bool), time[order])
    slices, instants, counters = (
        _Cursor(times) for times in (trace.slices.start, trace.instants.time, trace.counters.time)
    )
    until = -math.inf
    while until < math.inf:
        until = min((cursor.reach for cursor in (slices, instants, counters) if cursor.left), default=math.inf)
        own, moments, counts = slices.take(until), instants.take(until), counters.take(until)
        yield Page(
            Intervals(*(getattr(trace.slices, column.name)[own] for column in fields(Intervals))),
            Instants(*_columns(trace.instants, moments)),
            Counters(*_columns(trace.counters, counts)),
            _ends_at(ends, own),
            _args_at(trace.slice_args, own),
            _args_at(trace.instant_args, moments),
        )


def _arrivals(trace: Trace) -> Int64s:
    """Where each arrow ends: the start of its target. Into a hold of the GIL that began before the arrow does, and runs
    still, it ends where it begins; such slices nest in nothing, so that a moment says which is meant."""
    source, target = trace.slices.start[trace.flows.source], trace.slices.start[trace.flows.target]
    runs = (target < source) & (source <= trace.slices.end[trace.flows.target])
    is_hold = trace.slices.category[trace.flows.target] == trace.string_id("gil")
    arrivals: Int64s = np.where(runs & is_hold, source, target)
    return arrivals


class _Cursor:
    """A place in the sorted times of one kind of event."""

    def __init__(self, times: Int64s) -> None:
        self._times = times
        self._next = 0

    @property
    def left(self) -> bool:
        return self._next < len(self._times)

    @property
    def reach(self) -> float:
        """The time before which at most a page of events lies; where more begin at one time, the time after that."""
        last = self._next + _PAGE
        if last >= len(self._times):
            return math.inf
        return int(max(self._times[last], self._times[self._next] + 1))

    def take(self, until: float) -> slice:
        """The places of the events before `until`."""
        end = len(self._times) if until == math.inf else int(np.searchsorted(self._times, until))
        places = slice(self._next, end)
        self._next = end
        return places


def _columns(table: Instants | Counters | FlowEnds, places: slice) -> list[NDArray[Any]]:
    return [getattr(table, column.name)[places] for column in fields(table)]


def _ends_at(ends: FlowEnds, rows: slice) -> FlowEnds:
    low, high = np.searchsorted(ends.row, (rows.start, rows.stop))
    found = FlowEnds(*_columns(ends, slice(low, high)))
    return replace(found, row=found.row - rows.start)


def _args_at(args: Args, rows: slice) -> Args:
    found = {}
    for key, column in args.items():
        low, high = np.searchsorted(column.rows, (rows.start, rows.stop))
        if low < high:
            found[key] = ArgColumn(column.rows[low:high] - rows.start, column.values[low:high], column.table)
    return found


def trace_of(pages: Pages) -> Trace:
    """The whole trace, nested; slices that cross on a track move to lanes beside it."""
    slices, instants, counters, ends = (defaultdict[str, _Growing](_Growing) for _ in range(4))
    slice_args, instant_args = _ArgJoin(), _ArgJoin()
    count = instant_count = 0
    for page in pages.pages:
        flow_ends = replace(page.flow_ends, row=page.flow_ends.row + count)
        slice_args.add(page.slice_args, count)
        instant_args.add(page.instant_args, instant_count)
        count += len(page.slices)
        instant_count += len(page.instants)
        for columns, table in (
            (slices, page.slices), (instants, page.instants), (counters, page.counters), (ends, flow_ends)
        ):  # fmt: skip
            for column in fields(table):
                columns[column.name].add(getattr(table, column.name))
    tracks = list(pages.tracks)
    return Trace(
        strings=list(pages.strings),
        tracks=tracks,
        slices=_nested(Intervals(**_whole(slices)), tracks, pages.strings),
        counters=Counters(**_whole(counters)),
        instants=Instants(**_whole(instants)),
        flows=_arrows(FlowEnds(**_whole(ends))),
        slice_args=slice_args.columns(),
        instant_args=instant_args.columns(),
        metadata=pages.metadata,
    )


class _Growing:
    """A column that pieces are added to. It grows in place: a long one and its pieces are never held together."""

    def __init__(self) -> None:
        self._values: NDArray[Any] = np.empty(0)
        self._count = 0
        self._is_own = False  # a lone piece is not copied

    def add(self, piece: NDArray[Any]) -> None:
        if not self._count:
            self._values, self._count = piece, len(piece)
            return
        if not self._is_own:
            self._values, self._is_own = self._values.copy(), True
        count = self._count + len(piece)
        if count > len(self._values):
            self._values.resize(count + count // 8, refcheck=False)
        self._values[self._count : count] = piece
        self._count = count

    def take(self) -> NDArray[Any]:
        if self._is_own:
            self._values.resize(self._count, refcheck=False)
        return self._values


def _whole(columns: dict[str, _Growing]) -> dict[str, NDArray[Any]]:
    return {name: column.take() for name, column in columns.items()}


class _ArgJoin:
    """Joins the arguments of pages. Arguments of the same rows share the array of those."""

    def __init__(self) -> None:
        self._runs: dict[str, list[_ArgRun]] = defaultdict(list)

    def add(self, args: Args, offset: int) -> None:
        for key, column in args.items():
            runs = self._runs[key]
            if not runs or runs[-1].table is not column.table or runs[-1].dtype != column.values.dtype:
                runs.append(_ArgRun(column.table, column.values.dtype))
            runs[-1].rows.add(column.rows + offset if offset else column.rows)
            runs[-1].values.add(column.values)

    def columns(self) -> Args:
        columns: Args = {}
        alike: dict[tuple[int, ...], list[Int64s]] = defaultdict(list)  # a stranger's file may have thousands of keys
        for key in list(self._runs):
            pieces = [ArgColumn(run.rows.take(), run.values.take(), run.table) for run in self._runs.pop(key)]
            rows = pieces[0].rows if len(pieces) == 1 else np.concatenate([piece.rows for piece in pieces])
            known = alike[len(rows), *rows[:1].tolist(), *rows[-1:].tolist()]
            same = next((other for other in known if np.array_equal(other, rows)), None)
            if same is None:
                known.append(rows)
            columns[key] = ArgColumn(rows if same is None else same, *joined_values(pieces))
        return columns


@dataclass(frozen=True, slots=True)
class _ArgRun:
    """Values of one argument, all of one type and table."""

    table: list[Json] | None
    dtype: np.dtype[Any]
    rows: _Growing = field(default_factory=_Growing)
    values: _Growing = field(default_factory=_Growing)


def _arrows(ends: FlowEnds) -> Flows:
    """The arrows that have both their ends."""
    sources, targets = np.flatnonzero(~ends.is_target), np.flatnonzero(ends.is_target)
    _, first, second = np.intersect1d(ends.id[sources], ends.id[targets], return_indices=True)
    sources, targets = sources[first], targets[second]
    source, target = ends.row[sources], ends.row[targets]
    order = np.lexsort((target, source))
    return Flows(ends.name[sources][order], source[order], target[order])


def _nested(slices: Intervals, tracks: list[Track], strings: list[str]) -> Slices:
    """The slices with their nesting; lanes that they need are added to `tracks`."""
    start, duration, track = slices.start, slices.duration, slices.track
    depth, parent = nest(start, duration, track)
    crossed = crossing(start, duration, parent)
    if len(crossed):
        track = _on_lanes(slices, np.unique(track[crossed]), tracks, strings)
        depth, parent = nest(start, duration, track)
    return Slices(start, duration, track, slices.name, slices.category, depth, parent)


def _on_lanes(slices: Intervals, crossed: Int32s, tracks: list[Track], strings: list[str]) -> Int32s:
    """Track ids with the slices of `crossed` tracks put on as many lanes as they need. Steps and annotations that
    straddle others move, not those."""
    track = slices.track.copy()
    groups = {text: number for number, text in enumerate(ANNOTATIONS, 1)}
    of_string = np.array([groups.get(text, 0) for text in strings], dtype=np.int64)
    for number in crossed.tolist():
        rows = np.flatnonzero(track == number)
        chosen = trees(slices.start[rows], slices.duration[rows], of_string[slices.category[rows]])
        for lane in range(1, int(chosen.max()) + 1):
            track[rows[chosen == lane]] = len(tracks)
            tracks.append(replace(tracks[number], lane=lane))
    return track
