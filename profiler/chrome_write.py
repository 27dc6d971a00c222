"""Writes a Trace as Chrome JSON, one event a line, sorted by time, in chunks of bounded size.

    {"schemaVersion":1,
    "displayTimeUnit":"ms",
    "baseTimeNanoseconds":1764475000000000000,
    "commit":"5f3c1e0",
    "traceEvents":[
    {"ph":"M","name":"process_name","pid":71,"tid":71,"args":{"name":"python"}},
    {"ph":"X","cat":"cpu_op","name":"add","pid":71,"tid":71,"ts":12.250,"dur":1.031,"args":{"Input Dims":[[2,3],[3]]}},
    {"ph":"s","id":1,"cat":"fwdbwd","name":"fwdbwd","pid":71,"tid":71,"ts":12.250}
    ]}

`ts` and `dur` are microseconds with three decimals, so a nanosecond is kept. A flow event follows its slice at once:
readers that bind it to the last slice begun by then find the right one among slices that begin together.

An event is a row of pieces of text. Most pieces are looked up rather than formatted: names, heads, whole arguments, and
digits by groups of three. That, and joining a chunk at once, is what makes it fast.
"""

import gzip
import json
import math
import os
from collections.abc import Iterator
from io import BufferedWriter
from itertools import pairwise
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from .pieces import Slot, decimals, join_all, join_rows, look_up, microseconds, spread, texts
from .trace import ArgColumn, Int64s, Json, Trace, Track

FIRST_LINE = '{"schemaVersion":1,\n'
OPENING = '"traceEvents":[\n'
LAST_LINES = "\n]}\n"

_CHUNK = 1 << 15  # events of a kind formatted at once


def write(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write `trace` to `path`, compressed where the name ends in `.gz`.

    The file appears whole or not at all. A lone surrogate in a text is written out as a backslash escape, a NaN or an
    infinity as null. Raises OSError where the file cannot be written.
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        with _open(temporary, compress=target.suffix == ".gz") as file:
            for text in encode(trace):
                file.write(text)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _open(path: Path, compress: bool) -> gzip.GzipFile | BufferedWriter:
    return gzip.open(path, "wb", compresslevel=1) if compress else open(path, "wb")


def encode(trace: Trace) -> Iterator[bytes]:
    """The file's bytes, in pieces whose size does not depend on the length of the trace."""
    yield (_head(trace) + ",\n".join(_track_lines(trace.tracks))).encode()
    for text in _Encoder(trace).chunks():
        yield text.encode()
    yield LAST_LINES.encode()


def _head(trace: Trace) -> str:
    reserved = ("schemaVersion", "displayTimeUnit", "traceEvents")
    entries = [f"{to_json(key)}:{to_json(value)}" for key, value in trace.metadata.items() if key not in reserved]
    return FIRST_LINE + "".join(entry + ",\n" for entry in ('"displayTimeUnit":"ms"', *entries)) + OPENING


def _track_lines(tracks: list[Track]) -> Iterator[str]:
    threads: dict[tuple[int | str, int | str], Track] = {}
    for track in tracks:
        threads.setdefault((track.pid, track.tid), track)
    named: set[int | str] = set()
    for place, track in enumerate(threads.values()):
        where = f'"pid":{to_json(track.pid)},"tid":{to_json(track.tid)}'
        if track.process and track.pid not in named:
            named.add(track.pid)
            yield f'{{"ph":"M","name":"process_name",{where},"args":{{"name":{to_json(track.process)}}}}}'
        if track.name:
            yield f'{{"ph":"M","name":"thread_name",{where},"args":{{"name":{to_json(track.name)}}}}}'
        yield f'{{"ph":"M","name":"thread_sort_index",{where},"args":{{"sort_index":{place}}}}}'


def to_json(value: Json) -> str:
    """Strictly valid JSON text of a value: NaN and infinities become null, what JSON has no word for its str()."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _plain(value: Json) -> Json:
    if isinstance(value, dict):
        return {_plain(str(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int):
        return value
    return str(value).encode("utf-8", "backslashreplace").decode()


class _Encoder:
    """Turns columns into text. Every event begins with the comma and the line end that part it from the one before."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        names = [to_json(text) for text in trace.strings]
        self._names = texts(names)
        self._tracks = texts(f',"pid":{to_json(track.pid)},"tid":{to_json(track.tid)},"ts":' for track in trace.tracks)
        self._slice_heads = texts(f',\n{{"ph":"X","cat":{name},"name":' for name in names)
        self._instant_heads = texts(f',\n{{"ph":"i","s":"t","cat":{name},"name":' for name in names)
        self._counter_heads = texts(f',\n{{"ph":"C","name":{name}' for name in names)
        self._flow_heads = texts(
            f',\n{{"ph":{phase},"cat":{name},"name":{name},"id":' for phase in ('"s"', '"f","bp":"e"') for name in names
        )
        self._slice_args = [_ArgWriter(key, column) for key, column in trace.slice_args.items()]
        self._instant_args = [_ArgWriter(key, column) for key, column in trace.instant_args.items()]
        ends = np.concatenate((trace.flows.source, trace.flows.target))
        self._flow_ends = np.argsort(ends, kind="stable")
        self._flow_rows = ends[self._flow_ends]

    def chunks(self) -> Iterator[str]:
        """The text of all events, in the order of the file."""
        trace = self._trace
        slices = _Stream(trace.slices.start)
        flows = _Stream(trace.slices.start[self._flow_rows])
        instants, counters = _Stream(trace.instants.time), _Stream(trace.counters.time)
        streams = (slices, flows, instants, counters)
        while any(stream.left for stream in streams):
            until = min(stream.reach for stream in streams if stream.left)
            rows, flow_ends, *moments = [stream.take(until) for stream in streams]
            yield self._chunk(rows, flow_ends, *moments)

    def _chunk(self, rows: slice, flow_ends: slice, instants: slice, counters: slice) -> str:
        """Flows stand right behind their slice, instants and counters behind the slices begun by then."""
        trace = self._trace
        behind = [""] * (rows.stop - rows.start + 1)
        _attach(behind, self._flow_rows[flow_ends] - rows.start, join_rows(self._flow_slots(flow_ends)))
        times = np.concatenate((trace.instants.time[instants], trace.counters.time[counters]))
        if len(times):
            lines = [*join_rows(self._instant_slots(instants)), *join_rows(self._counter_slots(counters))]
            order = np.argsort(times, kind="stable")
            places = np.searchsorted(trace.slices.start[rows], times[order], side="right") - 1
            _attach(behind, places, [lines[place] for place in order.tolist()])
        return behind.pop() + join_all([*self._slice_slots(rows), behind])

    def _slice_slots(self, rows: slice) -> list[Slot]:
        slices = self._trace.slices
        return [
            look_up(self._slice_heads, slices.category[rows]),
            look_up(self._names, slices.name[rows]),
            look_up(self._tracks, slices.track[rows]),
            *microseconds(slices.start[rows]),
            [',"dur":'] * (rows.stop - rows.start),
            *microseconds(slices.duration[rows]),
            *_arg_slots(self._slice_args, rows),
        ]

    def _instant_slots(self, rows: slice) -> list[Slot]:
        instants = self._trace.instants
        return [
            look_up(self._instant_heads, instants.category[rows]),
            look_up(self._names, instants.name[rows]),
            look_up(self._tracks, instants.track[rows]),
            *microseconds(instants.time[rows]),
            *_arg_slots(self._instant_args, rows),
        ]

    def _counter_slots(self, rows: slice) -> list[Slot]:
        counters = self._trace.counters
        return [
            look_up(self._counter_heads, counters.name[rows]),
            look_up(self._tracks, counters.track[rows]),
            *microseconds(counters.time[rows]),
            [f',"args":{{"value":{_number(value)}}}}}' for value in counters.value[rows].tolist()],
        ]

    def _flow_slots(self, ends: slice) -> list[Slot]:
        trace = self._trace
        rows = self._flow_rows[ends]
        is_target, flow = np.divmod(self._flow_ends[ends], max(len(trace.flows), 1))
        return [
            look_up(self._flow_heads, trace.flows.name[flow] + is_target * len(trace.strings)),
            *decimals(flow + 1),
            look_up(self._tracks, trace.slices.track[rows]),
            *microseconds(trace.slices.start[rows]),
            ["}"] * len(rows),
        ]


class _Stream:
    """A cursor over the sorted times of one kind of event."""

    def __init__(self, times: Int64s) -> None:
        self._times = times
        self._next = 0

    @property
    def left(self) -> bool:
        return self._next < len(self._times)

    @property
    def reach(self) -> float:
        """The time before which at most a chunk of events lies; where more begin at one time, the time after that."""
        last = self._next + _CHUNK
        if last >= len(self._times):
            return math.inf
        return int(max(self._times[last], self._times[self._next] + 1))

    def take(self, until: float) -> slice:
        """The places of the events before `until`."""
        end = len(self._times) if until == math.inf else int(np.searchsorted(self._times, until))
        places = slice(self._next, end)
        self._next = end
        return places


class _ArgWriter:
    """The text of one argument: behind `,"args":{` in the first one that an event has, behind a comma in the others."""

    def __init__(self, key: str, column: ArgColumn) -> None:
        self._column = column
        openings = (f",{to_json(key)}:", f',"args":{{{to_json(key)}:')
        values = [""] if column.table is None else [to_json(value) for value in column.table]
        self._openings = texts(["", *(opening + value for opening in openings for value in values)])

    def slots(self, rows: slice, has_args: NDArray[np.bool_]) -> list[Slot]:
        """The pieces of text for `rows`; marks in `has_args` the rows that have this argument."""
        column = self._column
        low, high = np.searchsorted(column.rows, (rows.start, rows.stop))
        if low == high:
            return []
        places, values = column.rows[low:high] - rows.start, column.values[low:high]
        is_first = ~has_args[places]
        has_args[places] = True
        opening = np.zeros(len(has_args), dtype=np.int64)
        if column.table is not None:
            opening[places] = 1 + values + is_first * len(column.table)
            return [look_up(self._openings, opening)]
        opening[places] = 1 + is_first
        digits = decimals(values) if values.dtype.kind == "i" else [[to_json(value) for value in values.tolist()]]
        return [look_up(self._openings, opening), *(spread(slot, places, len(has_args)) for slot in digits)]


def _arg_slots(writers: list[_ArgWriter], rows: slice) -> list[Slot]:
    has_args = np.zeros(rows.stop - rows.start, dtype=bool)
    slots = [slot for writer in writers for slot in writer.slots(rows, has_args)]
    return [*slots, look_up(_CLOSINGS, has_args.astype(np.int8))]


_CLOSINGS = texts(("}", "}}"))


def _attach(behind: list[str], places: Int64s, lines: list[str]) -> None:
    """Append lines to the text at their places, which ascend; -1 is the last text."""
    bounds = [0, *(np.flatnonzero(np.diff(places)) + 1).tolist(), len(lines)]
    for low, high in pairwise(bounds if lines else ()):
        behind[places[low]] += "".join(lines[low:high])


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
