"""Trace: what happened, as columns. Readers and the recorder make one, analyses and views take one.

Times are integer nanoseconds since `metadata["baseTimeNanoseconds"]` (an epoch time, 0 where unknown).
Names are ids into `strings`; slices point at their enclosing slice by row.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .errors import TraceInvariantError
from .nesting import crossing, nest

Json: TypeAlias = Any  # None, bool, int, float, str, or lists and dicts of these
Int32s: TypeAlias = NDArray[np.int32]
Int64s: TypeAlias = NDArray[np.int64]
Float64s: TypeAlias = NDArray[np.float64]


def encodable(text: str) -> str:
    """`text` as a trace has it: halves of surrogate pairs, for which UTF-8 has no bytes, are escapes (`\\ud800`)."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


@dataclass(frozen=True, slots=True)
class Track:
    """One line of the timeline: a thread, a stream, or a lane beside one.

    `lane` > 0 holds slices of the same thread that cross those of the lanes before it.
    """

    pid: int | str
    tid: int | str
    name: str = ""
    process: str = ""
    lane: int = 0


@dataclass(frozen=True, slots=True)
class Slices:
    """Intervals, sorted by (start, -duration); a parent stands before its children."""

    start: Int64s
    duration: Int64s
    track: Int32s
    name: Int32s
    category: Int32s
    depth: Int32s
    parent: Int64s

    def __len__(self) -> int:
        return len(self.start)

    @property
    def end(self) -> Int64s:
        return self.start + self.duration


@dataclass(frozen=True, slots=True)
class Counters:
    """Values over time, sorted by time."""

    time: Int64s
    track: Int32s
    name: Int32s
    value: Float64s

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True, slots=True)
class Instants:
    """Moments, sorted by time."""

    time: Int64s
    track: Int32s
    name: Int32s
    category: Int32s

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True, slots=True)
class Flows:
    """Arrows from slice row `source` to slice row `target`, sorted by (source, target)."""

    name: Int32s
    source: Int64s
    target: Int64s

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True, slots=True)
class ArgColumn:
    """The values of one argument, for the rows that have it.

    `rows` ascend. Without a `table`, `values` are the values (int64, float64 or bool);
    with one, `values` (int32) are ids into it, and equal values share an id.
    """

    rows: Int64s
    values: NDArray[Any]
    table: list[Json] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[int, Json]]:
        return zip(self.rows.tolist(), self.to_list(), strict=True)

    def to_list(self) -> list[Json]:
        """The values as Python objects, in the order of `rows`."""
        plain: list[Json] = self.values.tolist()
        return plain if self.table is None else [self.table[code] for code in plain]

    def at(self, row: int, default: Json = None) -> Json:
        """The value of `row`, or `default` where the row has none."""
        place = int(np.searchsorted(self.rows, row))
        if place == len(self.rows) or self.rows[place] != row:
            return default
        value = self.values[place].item()
        return value if self.table is None else self.table[value]

    def dense(self, count: int, missing: int = 0) -> Int64s:
        """A whole numeric column as int64 of length `count`, `missing` where a row has no number."""
        column = np.full(count, missing, dtype=np.int64)
        if self.table is None:
            column[self.rows] = self.values.astype(np.int64)
        else:
            numbers = np.array([int(v) if _is_int64(v) else missing for v in self.table], dtype=np.int64)
            column[self.rows] = numbers[self.values] if len(numbers) else missing
        return column


Args: TypeAlias = dict[str, ArgColumn]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Trace:
    """A whole recording; make one with `TraceBuilder`, `chrome.read` or `profile`. A trace equals itself alone."""

    strings: list[str]
    tracks: list[Track]
    slices: Slices
    counters: Counters
    instants: Instants
    flows: Flows
    slice_args: Args = field(default_factory=dict)
    instant_args: Args = field(default_factory=dict)
    metadata: dict[str, Json] = field(default_factory=dict)

    def string_id(self, text: str) -> int:
        """Id of `text` in `strings`, -1 where no event uses it."""
        try:
            return self.strings.index(encodable(text))
        except ValueError:
            return -1

    def name_of(self, rows: Iterable[int]) -> list[str]:
        """Names of slice rows."""
        return [self.strings[self.slices.name[row]] for row in rows]

    def select(self, category: str | None = None, name: str | None = None) -> Int64s:
        """Slice rows of a category, of a name, or of both; all rows without either."""
        chosen = np.ones(len(self.slices), dtype=bool)
        if category is not None:
            chosen &= self.slices.category == self.string_id(category)
        if name is not None:
            chosen &= self.slices.name == self.string_id(name)
        return np.flatnonzero(chosen)

    def counter(self, name: str) -> tuple[Int64s, Float64s]:
        """Times and values of the counter `name` over all tracks; empty where there is none."""
        rows = np.flatnonzero(self.counters.name == self.string_id(name))
        return self.counters.time[rows], self.counters.value[rows]

    def args_of(self, row: int) -> dict[str, Json]:
        """All arguments of one slice."""
        return _row_of(self.slice_args, row)

    def instant_args_of(self, row: int) -> dict[str, Json]:
        """All arguments of one instant."""
        return _row_of(self.instant_args, row)

    def span(self) -> tuple[int, int]:
        """First and last moment of the trace in ns; (0, 0) where it is empty."""
        begins = [times.min() for times in self._times() if len(times)]
        ends = [times.max() for times in (*self._times(), self.slices.end) if len(times)]
        return (int(min(begins)), int(max(ends))) if begins else (0, 0)

    def _times(self) -> tuple[Int64s, Int64s, Int64s]:
        return self.slices.start, self.counters.time, self.instants.time

    def check(self) -> None:
        """Raise TraceInvariantError unless the trace is sorted, nested, and refers only to rows it has."""
        slices, flows = self.slices, self.flows
        if np.any(slices.duration < 0):
            raise TraceInvariantError(f"slice {_first(slices.duration < 0)} has a negative duration")
        step, longer = np.diff(slices.start), np.diff(slices.duration) > 0
        unsorted = (step < 0) | ((step == 0) & longer)
        if np.any(unsorted):
            raise TraceInvariantError(f"slice {_first(unsorted) + 1} stands before slice {_first(unsorted)} in time")
        for what, times in (("counter", self.counters.time), ("instant", self.instants.time)):
            if np.any(np.diff(times) < 0):
                raise TraceInvariantError(f"{what} {_first(np.diff(times) < 0) + 1} is out of order in time")
        self._check_nesting()
        rows = np.concatenate((flows.source, flows.target))
        if np.any((rows < 0) | (rows >= len(slices))):
            raise TraceInvariantError("a flow refers to a slice that does not exist")
        ids = (
            ("name", (slices.name, self.counters.name, self.instants.name, flows.name), len(self.strings)),
            ("category", (slices.category, self.instants.category), len(self.strings)),
            ("track", (slices.track, self.counters.track, self.instants.track), len(self.tracks)),
        )
        for what, columns, limit in ids:
            if any(len(column) and (column.min() < 0 or column.max() >= limit) for column in columns):
                raise TraceInvariantError(f"a {what} id lies outside of its table of {limit}")
        for args, limit in ((self.slice_args, len(slices)), (self.instant_args, len(self.instants))):
            for key, column in args.items():
                _check_column(key, column, limit)

    def _check_nesting(self) -> None:
        slices = self.slices
        depth, parent = nest(slices.start, slices.duration, slices.track)
        wrong = (parent != slices.parent) | (depth != slices.depth)
        if np.any(wrong):
            row = _first(wrong)
            raise TraceInvariantError(
                f"slice {row} has parent {slices.parent[row]} at depth {slices.depth[row]}, but its times say"
                f" parent {parent[row]} at depth {depth[row]}"
            )
        crossed = crossing(slices.start, slices.duration, parent)
        if len(crossed):
            row = int(crossed[0])
            raise TraceInvariantError(f"slice {row} ends after slice {parent[row]}, in which it begins")


def _check_column(key: str, column: ArgColumn, limit: int) -> None:
    rows, values = column.rows, column.values
    if len(rows) != len(values) or np.any(np.diff(rows) <= 0):
        raise TraceInvariantError(f"the rows of argument {key!r} do not ascend, one value each")
    if len(rows) and (rows[0] < 0 or rows[-1] >= limit):
        raise TraceInvariantError(f"argument {key!r} refers to a row that does not exist")
    if column.table is not None and len(values) and (values.min() < 0 or values.max() >= len(column.table)):
        raise TraceInvariantError(f"argument {key!r} refers to a value that does not exist")


def _row_of(args: Args, row: int) -> dict[str, Json]:
    absent = object()
    found = {key: column.at(row, absent) for key, column in args.items()}
    return {key: value for key, value in found.items() if value is not absent}


def _is_int64(value: Json) -> bool:
    return isinstance(value, int) and -(2**63) <= value < 2**63


def _first(mask: NDArray[np.bool_]) -> int:
    return int(np.argmax(mask))
