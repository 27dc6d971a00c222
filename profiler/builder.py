"""TraceBuilder: collects events in any order, by single event or by columns, and makes a valid Trace of them."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .args import arg_column, by_row, joined_values, unique
from .errors import ProfileStateError
from .pages import FlowEnds, Intervals, Page, Pages, trace_of
from .trace import ArgColumn, Args, Counters, Instants, Int32s, Int64s, Json, Trace, Track, encodable

_START = np.iinfo(np.int64).min  # a time before any: of its slice


class TraceBuilder:
    """Collects events; `build()` sorts and nests them, `take_page()` takes what was added so far as one page of many.

    Names, categories and tracks are given as ids from `string()` and `track()`; columns are arrays of one length, where
    a single number stands for the whole column. Adding slices or instants returns the handle of the first one added:
    handles count up in the order of adding and name the event in args and flows.
    """

    def __init__(self, metadata: dict[str, Json] | None = None) -> None:
        self.metadata: dict[str, Json] = dict(metadata or {})
        self.strings: list[str] = []
        self.tracks: list[Track] = []
        self.row_of_slice = self.row_of_instant = np.empty(0, dtype=np.int64)  # by handle, once built
        self._string_ids: dict[str, int] = {}
        self._track_ids: dict[Track, int] = {}
        self._slices = _Columns(np.int64, np.int64, np.int32, np.int32, np.int32)
        self._counters = _Columns(np.int64, np.int32, np.int32, np.float64)
        self._instants = _Columns(np.int64, np.int32, np.int32, np.int32)
        self._flow_ends = _Columns(np.int64, np.int64, np.int32, np.bool_, np.int64)
        self._flows = 0
        self._built = False
        self._slice_args: dict[str, list[ArgColumn]] = defaultdict(list)
        self._instant_args: dict[str, list[ArgColumn]] = defaultdict(list)
        self._tables: dict[int, tuple[list[Json], Int32s, list[Json]]] = {}  # by identity: as given, ids, without twins

    def string(self, text: str) -> int:
        """Id of a name or category; see `encodable`."""
        text = encodable(text)
        number = self._string_ids.setdefault(text, len(self.strings))
        if number == len(self.strings):
            self.strings.append(text)
        return number

    def track(self, track: Track) -> int:
        """Id of a track; of its texts see `encodable`."""
        if not (track.name.isascii() and track.process.isascii()):
            track = replace(track, name=encodable(track.name), process=encodable(track.process))
        number = self._track_ids.setdefault(track, len(self.tracks))
        if number == len(self.tracks):
            self.tracks.append(track)
        return number

    def slice(
        self,
        name: str,
        start: int,
        duration: int,
        *,
        track: Track,
        category: str = "",
        args: dict[str, Json] | None = None,
    ) -> int:
        """Add one slice (ns); its handle."""
        handle = self.slices(start, duration, self.track(track), self.string(name), self.string(category))
        for key, value in (args or {}).items():
            self.slice_args(key, handle, [value])
        return handle

    def instant(
        self, name: str, time: int, *, track: Track, category: str = "", args: dict[str, Json] | None = None
    ) -> int:
        """Add one instant (ns); its handle."""
        handle = self.instants(time, self.track(track), self.string(name), self.string(category))
        for key, value in (args or {}).items():
            self.instant_args(key, handle, [value])
        return handle

    def counter(self, name: str, time: int, value: float, *, track: Track) -> None:
        """Add one value of a counter."""
        self.counters(time, self.track(track), self.string(name), value)

    def flow(self, name: str, source: int, target: int) -> None:
        """Add one arrow between two slices, given by handle."""
        self.flows(self.string(name), source, target)

    def slices(
        self, start: ArrayLike, duration: ArrayLike, track: ArrayLike, name: ArrayLike, category: ArrayLike
    ) -> int:
        """Add slices by columns; the handle of the first."""
        return self._slices.add(start, duration, track, name, category)

    def counters(self, time: ArrayLike, track: ArrayLike, name: ArrayLike, value: ArrayLike) -> None:
        """Add values of counters by columns; values must be finite."""
        if not np.all(np.isfinite(np.asarray(value, dtype=np.float64))):
            raise ValueError("a counter's value must be finite; leave out the moments where it is not known")
        self._counters.add(time, track, name, value)

    def instants(self, time: ArrayLike, track: ArrayLike, name: ArrayLike, category: ArrayLike) -> int:
        """Add instants by columns; the handle of the first."""
        return self._instants.add(time, track, name, category)

    def flows(self, name: ArrayLike, source: ArrayLike, target: ArrayLike) -> None:
        """Add arrows by columns; source and target are handles of slices."""
        names, sources, targets = np.broadcast_arrays(np.atleast_1d(name), source, target)
        ids = self._flows + np.arange(len(names))
        self._flows += len(names)
        self.flow_ends(sources, ids, names, False)
        self.flow_ends(targets, ids, names, True)

    def flow_ends(
        self, handles: ArrayLike, ids: ArrayLike, name: ArrayLike, is_target: bool, time: ArrayLike = _START
    ) -> None:
        """Add ends of arrows by columns, where the other ends are on another page; `time` is where in the slice."""
        self._flow_ends.add(handles, ids, name, is_target, time)

    def slice_args(
        self, key: str, handles: ArrayLike, values: NDArray[Any] | Sequence[Json], table: list[Json] | None = None
    ) -> None:
        """Give slices an argument: int, float or bool array, or any JSON values, or ids into `table`."""
        self._slice_args[key].append(self._arg_column(handles, values, table))

    def instant_args(
        self, key: str, handles: ArrayLike, values: NDArray[Any] | Sequence[Json], table: list[Json] | None = None
    ) -> None:
        """Give instants an argument; see `slice_args`."""
        self._instant_args[key].append(self._arg_column(handles, values, table))

    def _arg_column(
        self, handles: ArrayLike, values: NDArray[Any] | Sequence[Json], table: list[Json] | None
    ) -> ArgColumn:
        if table is None:
            return arg_column(handles, values)
        if id(table) not in self._tables:
            self._tables[id(table)] = (table, *unique(table))
        _, codes, without_twins = self._tables[id(table)]
        rows = np.atleast_1d(np.asarray(handles, dtype=np.int64))
        return ArgColumn(rows, codes[np.asarray(values, dtype=np.int64)], without_twins)

    def build(self) -> Trace:
        """The Trace of everything added; slices that cross on a track move to lanes beside it.

        Raises ProfileStateError where it was built before: what was added is in that trace, and no longer here.
        """
        if self._built:
            raise ProfileStateError("this TraceBuilder was built already; keep the Trace, or begin another builder")
        self._built = True
        return trace_of(Pages(self.strings, self.tracks, self.metadata, iter([self.take_page()])))

    def take_page(self) -> Page:
        """The page of everything added, which leaves the builder; it keeps names and tracks, handles begin anew."""
        start, duration, track, name, category = self._slices.take()
        order = _order(start, duration)
        intervals = Intervals(start[order], duration[order], track[order], name[order], category[order])
        self.row_of_slice = row_of_slice = _inverse(order)

        time, *counter_columns = self._counters.take()
        by_time = np.argsort(time, kind="stable")
        counters = Counters(time[by_time], *(column[by_time] for column in counter_columns))

        time, *instant_columns = self._instants.take()
        by_time = np.argsort(time, kind="stable")
        self.row_of_instant = _inverse(by_time)
        instants = Instants(time[by_time], *(column[by_time] for column in instant_columns))

        handles, *end_columns, time = self._flow_ends.take()
        rows = row_of_slice[handles]
        by_slice = np.argsort(rows, kind="stable")
        time = np.maximum(time, intervals.start[rows])
        ends = FlowEnds(rows[by_slice], *(column[by_slice] for column in (*end_columns, time)))
        return Page(
            intervals,
            instants,
            counters,
            ends,
            _columns_of(self._slice_args, row_of_slice),
            _columns_of(self._instant_args, self.row_of_instant),
        )


def _order(start: Int64s, duration: Int64s) -> Int64s:
    """By start, then the longer first, then as added."""
    order = np.argsort(start, kind="stable")
    begin, length = start[order], duration[order]
    if np.any((begin[1:] == begin[:-1]) & (length[1:] > length[:-1])):
        order = np.lexsort((-duration, start))
    return order


class _Columns:
    """Chunks of columns of the given dtypes, joined when taken."""

    def __init__(self, *dtypes: type[np.generic]) -> None:
        self._dtypes = dtypes
        self._chunks: list[tuple[NDArray[Any], ...]] = []
        self._count = 0

    def add(self, *columns: ArrayLike) -> int:
        first = self._count
        arrays = [np.asarray(column, dtype=dtype) for column, dtype in zip(columns, self._dtypes, strict=True)]
        chunk = tuple(np.atleast_1d(array) for array in np.broadcast_arrays(*arrays))
        self._chunks.append(chunk)
        self._count += len(chunk[0])
        return first

    def take(self) -> tuple[NDArray[Any], ...]:
        chunks, self._chunks, self._count = self._chunks, [], 0
        if not chunks:
            return tuple(np.empty(0, dtype=dtype) for dtype in self._dtypes)
        return tuple(np.concatenate(column) for column in zip(*chunks, strict=True))


def _inverse(order: Int64s) -> Int64s:
    inverse = np.empty(len(order), dtype=np.int64)
    inverse[order] = np.arange(len(order))
    return inverse


def _columns_of(pieces: dict[str, list[ArgColumn]], row_of: Int64s) -> Args:
    """Whole columns by row, taken from the pieces by handle. Pieces of the same handles share their rows."""
    rows: dict[tuple[int, ...], Int64s] = {}
    columns = {}
    for key, parts in pieces.items():
        same = tuple(id(part.rows) for part in parts)
        if same not in rows:
            rows[same] = row_of[parts[0].rows if len(parts) == 1 else np.concatenate([part.rows for part in parts])]
        columns[key] = by_row(rows[same], *joined_values(parts))
    pieces.clear()
    return columns
