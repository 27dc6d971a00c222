"""Writes a trace as Chrome JSON, one event a line, sorted by time in whole ns, page by page.

    {"schemaVersion":1,
    "displayTimeUnit":"ms",
    "baseTimeNanoseconds":1764475000000000000,
    "commit":"5f3c1e0",
    "traceEvents":[
    {"ph":"M","name":"process_name","pid":71,"tid":71,"args":{"name":"python"}},
    {"ph":"X","cat":"cpu_op","name":"add","pid":71,"tid":71,"ts":12.250,"dur":1.031,"args":{"Input Dims":[[2,3],[3]]}},
    {"ph":"s","id":1,"cat":"fwdbwd","name":"fwdbwd","pid":71,"tid":71,"ts":12.250},
    {"ph":"C","name":"Allocated","pid":71,"ts":12.250,"args":{"value":24}}
    ]}

`ts` and `dur` are microseconds with three decimals, so a nanosecond is kept; a fourth says which of two slices that
touch lies inside the other or comes first (core/chrome_text.h). A flow event follows its slice at once: readers that
bind it to the last slice begun by then find the right one among slices that begin together. Where a slice is the target
of an arrow that begins later, the event stands in its midst: readers drop arrows that go back in time. What readers
take for granted is left out: a counter's thread where it is the process's first, as counters belong to processes, and
that an instant is one of its thread.

The compiled core puts the lines together: in Python a million of them take seconds. Here names, tracks and values of
arguments become the JSON that it copies. It is imported when something is written: reading needs none of it.
"""

import json
import math
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import orjson
from isal import igzip
from numpy.typing import NDArray

from .builder import TraceBuilder
from .pages import Intervals, Page, Pages, pages_of
from .trace import Args, Counters, Instants, Json, Trace, Track
from .whole_file import whole_file

if TYPE_CHECKING:
    from perflab.runtime._core import JsonTexts, TextArg

FIRST_LINE = '{"schemaVersion":1,\n'
OPENING = '"traceEvents":[\n'
LAST_LINES = "\n]}\n"


def write(trace: Trace | Pages, path: str | os.PathLike[str]) -> None:
    """Write `trace` to `path`, compressed where the name ends in `.gz`.

    The file appears whole or not at all, where a link leads if it is one; a pipe or a device is written to. A lone
    surrogate in a text is written out as a backslash escape, a NaN or an infinity as null. Raises OSError where the
    file cannot be written.
    """
    compress = Path(path).suffix == ".gz"
    with whole_file(path) as place, _open(place, compress) as file, ThreadPoolExecutor(1) as writer:
        # while one page is compressed and written, the next is made
        writing = _behind(writer, file, b"")
        for text in encode(trace):
            writing.result()
            writing = _behind(writer, file, text)
        writing.result()


def _behind(writer: ThreadPoolExecutor, file: BinaryIO, text: bytes) -> "Future[int]":
    try:
        return writer.submit(file.write, text)
    except RuntimeError:  # no thread starts any more, as the interpreter ends: it is written here
        writing: Future[int] = Future()
        writing.set_result(file.write(text))
        return writing


_LEVEL = 2  # as small as level 1 of zlib, four times as fast; level 3 saves nothing more


def _open(path: Path, compress: bool) -> BinaryIO:
    if not compress:
        return open(path, "wb")
    packed: BinaryIO = igzip.open(path, "wb", compresslevel=_LEVEL)  # type: ignore[no-untyped-call]
    return packed


def encode(trace: Trace | Pages) -> Iterator[bytes]:
    """The file's bytes, in pieces whose size does not depend on the length of the trace."""
    pages = trace if isinstance(trace, Pages) else pages_of(trace)
    yield (_head(pages.metadata) + ",\n".join(_track_lines(pages.tracks))).encode()
    encoder = _Encoder(pages)
    for page in pages.pages:
        yield encoder.lines(page)
    yield encoder.rest()
    yield LAST_LINES.encode()


def _head(metadata: dict[str, Json]) -> str:
    reserved = ("schemaVersion", "displayTimeUnit", "traceEvents")
    entries = [f"{to_json(key)}:{to_json(value)}" for key, value in metadata.items() if key not in reserved]
    return FIRST_LINE + "".join(entry + ",\n" for entry in ('"displayTimeUnit":"ms"', *entries)) + OPENING


def _track_lines(tracks: list[Track]) -> Iterator[str]:
    threads: dict[tuple[int | str, int | str], Track] = {}
    for track in tracks:
        threads.setdefault((track.pid, track.tid), track)
    named: set[int | str] = set()
    for place, track in enumerate(threads.values()):
        where = _thread(track)
        if track.process and track.pid not in named:
            named.add(track.pid)
            yield f'{{"ph":"M","name":"process_name",{where},"args":{{"name":{to_json(track.process)}}}}}'
        if track.name:
            yield f'{{"ph":"M","name":"thread_name",{where},"args":{{"name":{to_json(track.name)}}}}}'
        yield f'{{"ph":"M","name":"thread_sort_index",{where},"args":{{"sort_index":{place}}}}}'


def _thread(track: Track) -> str:
    return f'"pid":{to_json(track.pid)},"tid":{to_json(track.tid)}'


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
    """Turns pages into lines; keeps the JSON of everything that more than one of them names."""

    def __init__(self, pages: Pages) -> None:
        self._core = _core()
        self._names = pages.strings
        self._strings = self._texts(())
        self._tracks = self._texts(f',{_thread(track)},"ts":' for track in pages.tracks)
        self._counter_tracks = self._texts(
            f',"pid":{to_json(track.pid)},"ts":' if track.tid == track.pid else f',{_thread(track)},"ts":'
            for track in pages.tracks
        )
        self._open = self._core.OpenSlices()
        self._tables: dict[int, tuple[list[Json], JsonTexts]] = {}  # by identity
        self._loose = _LooseEnds()

    def lines(self, page: Page) -> bytes:
        """The lines of a page, and the flow events of earlier slices whose time has come."""
        for name in self._names[len(self._strings) :]:
            self._strings.add(to_json(name).encode())
        ends = self._loose.put_aside(page)
        last = max((int(times[-1]) for times in _times(page) if len(times)), default=-math.inf)
        return self._text(page, ends, self._loose.take(last))

    def rest(self) -> bytes:
        """The lines of the flow events that are left."""
        nothing = TraceBuilder().take_page()
        return self._text(nothing, self._loose.put_aside(nothing), self._loose.take(math.inf))

    def _text(self, page: Page, ends: tuple[NDArray[Any], ...], loose_ends: tuple[NDArray[Any], ...]) -> bytes:
        lines: bytes = self._core.chrome_text(
            self._strings,
            self._tracks,
            self._counter_tracks,
            self._open,
            _columns(page.slices),
            self._args(page.slice_args),
            ends,
            loose_ends,
            _columns(page.instants),
            self._args(page.instant_args),
            _columns(page.counters),
        )
        return lines

    def _args(self, args: Args) -> "list[TextArg]":
        return [
            (
                to_json(key).encode(),
                column.rows,
                column.values,
                None if column.table is None else self._table(column.table),
            )
            for key, column in args.items()
        ]

    def _table(self, table: list[Json]) -> "JsonTexts":
        if id(table) not in self._tables:
            self._tables[id(table)] = (table, self._texts(map(to_json, table)))
        return self._tables[id(table)][1]

    def _texts(self, texts: Iterable[str]) -> "JsonTexts":
        made: JsonTexts = self._core.JsonTexts()
        for text in texts:
            made.add(text.encode())
        return made


class _LooseEnds:
    """Flow events in the midst of their slices, kept until their time has come: time, id, track, name, is target."""

    def __init__(self) -> None:
        self._columns: tuple[NDArray[Any], ...] = tuple(
            np.empty(0, dtype=dtype) for dtype in (np.int64, np.int64, np.int32, np.int32, np.bool_)
        )

    def put_aside(self, page: Page) -> tuple[NDArray[Any], ...]:
        """Take those of a page; the columns of its others are left: row, id, name, is target."""
        ends, slices = page.flow_ends, page.slices
        at_start = ends.time == slices.start[ends.row]
        columns = (ends.row, ends.id, ends.name, ends.is_target)
        if at_start.all():
            return columns
        late = ~at_start
        found: tuple[NDArray[Any], ...] = (ends.time, ends.id, slices.track[ends.row], ends.name, ends.is_target)
        joined = [np.concatenate((mine, its[late])) for mine, its in zip(self._columns, found, strict=True)]
        order = np.argsort(joined[0], kind="stable")
        self._columns = tuple(column[order] for column in joined)
        return tuple(column[at_start] for column in columns)

    def take(self, until: float) -> tuple[NDArray[Any], ...]:
        """Those up to a time."""
        count = int(np.searchsorted(self._columns[0], until, side="right"))
        taken = tuple(column[:count] for column in self._columns)
        self._columns = tuple(column[count:] for column in self._columns)
        return taken


def _times(page: Page) -> tuple[NDArray[Any], ...]:
    return page.slices.start, page.instants.time, page.counters.time


def _core() -> ModuleType:
    from perflab.runtime import _core as core

    return core


def _columns(table: Intervals | Instants | Counters) -> tuple[NDArray[Any], ...]:
    return tuple(getattr(table, column.name) for column in fields(table))
