"""TraceBuilder: collects events in any order, by single event or by columns, and makes a valid Trace of them."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import orjson
from numpy.typing import ArrayLike, NDArray

from .nesting import crossing, lanes, nest
from .trace import ArgColumn, Args, Counters, Flows, Instants, Int32s, Int64s, Json, Slices, Trace, Track


@dataclass(frozen=True, slots=True)
class _ArgChunk:
    handles: Int64s
    values: NDArray[Any]
    table: list[Json] | None


class TraceBuilder:
    """Collects events; `build()` sorts and nests them.

    Names, categories and tracks are given as ids from `string()` and `track()`; columns are arrays of one length, where
    a single number stands for the whole column. Adding slices or instants returns the handle of the first one added:
    handles count up in the order of adding and name the event in args and flows.
    """

    def __init__(self, metadata: dict[str, Json] | None = None) -> None:
        self.metadata: dict[str, Json] = dict(metadata or {})
        self.row_of_slice = np.empty(0, dtype=np.int64)  # by handle, once built
        self._strings: dict[str, int] = {}
        self._tracks: dict[Track, int] = {}
        self._slices = _Columns(np.int64, np.int64, np.int32, np.int32, np.int32)
        self._counters = _Columns(np.int64, np.int32, np.int32, np.float64)
        self._instants = _Columns(np.int64, np.int32, np.int32, np.int32)
        self._flows = _Columns(np.int32, np.int64, np.int64)
        self._slice_args: dict[str, list[_ArgChunk]] = defaultdict(list)
        self._instant_args: dict[str, list[_ArgChunk]] = defaultdict(list)

    def string(self, text: str) -> int:
        """Id of a name or category; lone surrogates in it become backslash escapes."""
        if not text.isascii():
            text = text.encode("utf-8", "backslashreplace").decode()
        return self._strings.setdefault(text, len(self._strings))

    def track(self, track: Track) -> int:
        """Id of a track."""
        return self._tracks.setdefault(track, len(self._tracks))

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
        self._flows.add(name, source, target)

    def slice_args(
        self, key: str, handles: ArrayLike, values: NDArray[Any] | Sequence[Json], table: list[Json] | None = None
    ) -> None:
        """Give slices an argument: int, float or bool array, or any JSON values, or ids into `table`."""
        self._slice_args[key].append(_arg_chunk(handles, values, table))

    def instant_args(
        self, key: str, handles: ArrayLike, values: NDArray[Any] | Sequence[Json], table: list[Json] | None = None
    ) -> None:
        """Give instants an argument; see `slice_args`."""
        self._instant_args[key].append(_arg_chunk(handles, values, table))

    def build(self) -> Trace:
        """The Trace of everything added; slices that cross on a track move to lanes beside it."""
        start, duration, track, name, category = self._slices.take()
        order = np.lexsort((-duration, start))
        start, duration, track, name, category = (c[order] for c in (start, duration, track, name, category))
        depth, parent = nest(start, duration, track)
        crossed = crossing(start, duration, parent)
        if len(crossed):
            track = self._spread(start, duration, track, np.unique(track[crossed]))
            depth, parent = nest(start, duration, track)
        self.row_of_slice = row_of_slice = _inverse(order)

        time, *counter_columns = self._counters.take()
        by_time = np.argsort(time, kind="stable")
        counters = Counters(time[by_time], *(column[by_time] for column in counter_columns))

        time, *instant_columns = self._instants.take()
        by_time = np.argsort(time, kind="stable")
        instants = Instants(time[by_time], *(column[by_time] for column in instant_columns))

        flow_name, source, target = self._flows.take()
        source, target = row_of_slice[source], row_of_slice[target]
        by_source = np.lexsort((target, source))

        return Trace(
            strings=list(self._strings),
            tracks=list(self._tracks),
            slices=Slices(start, duration, track, name, category, depth, parent),
            counters=counters,
            instants=instants,
            flows=Flows(flow_name[by_source], source[by_source], target[by_source]),
            slice_args=_columns_of(self._slice_args, row_of_slice),
            instant_args=_columns_of(self._instant_args, _inverse(by_time)),
            metadata=self.metadata,
        )

    def _spread(self, start: Int64s, duration: Int64s, track: Int32s, crossed: Int32s) -> Int32s:
        """Track ids with the slices of `crossed` tracks put on as many lanes as they need."""
        track = track.copy()
        tracks = list(self._tracks)
        for number in crossed.tolist():
            rows = np.flatnonzero(track == number)
            chosen = lanes(start[rows], duration[rows])
            for lane in range(1, int(chosen.max()) + 1):
                track[rows[chosen == lane]] = self.track(replace(tracks[number], lane=lane))
        return track


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
        if not self._chunks:
            return tuple(np.empty(0, dtype=dtype) for dtype in self._dtypes)
        return tuple(np.concatenate(column) for column in zip(*self._chunks, strict=True))


def _inverse(order: Int64s) -> Int64s:
    inverse = np.empty(len(order), dtype=np.int64)
    inverse[order] = np.arange(len(order))
    return inverse


def _arg_chunk(handles: ArrayLike, values: NDArray[Any] | Sequence[Json], table: list[Json] | None) -> _ArgChunk:
    rows = np.atleast_1d(np.asarray(handles, dtype=np.int64))
    if table is not None:
        codes, table = _unique(table)
        return _ArgChunk(rows, codes[np.asarray(values, dtype=np.int64)], table)
    if isinstance(values, np.ndarray) and values.dtype.kind in "iufb":
        wide = {"i": np.int64, "u": np.int64, "f": np.float64, "b": np.bool_}[values.dtype.kind]
        return _ArgChunk(rows, values.astype(wide), None)
    kinds = {type(value) for value in values}
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in values):
        return _ArgChunk(rows, np.array(values, dtype=np.int64), None)
    if kinds in ({float}, {bool}):
        return _ArgChunk(rows, np.array(values), None)
    codes, table = _unique(values)
    return _ArgChunk(rows, codes, table)


def _unique(values: NDArray[Any] | Sequence[Json]) -> tuple[Int32s, list[Json]]:
    """Ids of values in the list of those that differ."""
    seen: dict[tuple[type, Json], int] = {}
    known: dict[int, int] = {}  # ids of lists and dicts by identity: equal ones are often the same
    table: list[Json] = []
    codes = np.empty(len(values), dtype=np.int32)
    for place, value in enumerate(values):
        code = known.get(id(value), -1)
        if code < 0:
            nested = isinstance(value, list | dict)
            text = spelling(value) if nested else repr(value) if isinstance(value, float) else value
            code = seen.setdefault((type(value), text), len(table))
            if code == len(table):
                table.append(value)
            if nested:
                known[id(value)] = code
        codes[place] = code
    return codes, table


def spelling(value: Json) -> bytes | str:
    """Text by which equal lists and dicts are known."""
    try:
        return orjson.dumps(value)
    except TypeError:  # an integer of more than 64 bits or a lone surrogate
        return json.dumps(value)


def _columns_of(chunks: dict[str, list[_ArgChunk]], row_of: Int64s) -> Args:
    return {key: _column_of(parts, row_of) for key, parts in chunks.items()}


def _column_of(chunks: list[_ArgChunk], row_of: Int64s) -> ArgColumn:
    """One column of all chunks, ordered by row; where a row came twice, its last value counts."""
    rows = row_of[np.concatenate([chunk.handles for chunk in chunks])]
    if len(chunks) == 1:
        values, table = chunks[0].values, chunks[0].table
    elif all(chunk.table is None for chunk in chunks) and len({chunk.values.dtype for chunk in chunks}) == 1:
        values, table = np.concatenate([chunk.values for chunk in chunks]), None
    else:
        values, table = _merge_tables(chunks)
    if len(rows) > 1 and np.any(np.diff(rows) <= 0):
        order = np.argsort(rows, kind="stable")
        order = order[np.append(np.diff(rows[order]) > 0, True)]
        rows, values = rows[order], values[order]
    return ArgColumn(rows, values, table)


def _merge_tables(chunks: list[_ArgChunk]) -> tuple[Int32s, list[Json]]:
    joined: list[Json] = []
    places = []
    for chunk in chunks:
        places.append(len(joined) + (np.arange(len(chunk.values)) if chunk.table is None else chunk.values))
        joined.extend(chunk.values.tolist() if chunk.table is None else chunk.table)
    codes, table = _unique(joined)
    return codes[np.concatenate(places)], table
