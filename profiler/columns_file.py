"""A trace as a file of its columns, which is read a hundred times as fast as Chrome JSON.

 0  8 bytes   MAGIC
 8  uint64    length of the header, little endian
16  header    JSON: VERSION, names and tables, and for each column its dtype and length
    columns   in the order of the header, each begun at a multiple of 8 bytes, little endian
"""

import json
import mmap
from collections.abc import Iterator
from dataclasses import astuple, fields
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .errors import TraceFormatError
from .trace import ArgColumn, Args, Counters, Flows, Instants, Json, Slices, Trace, Track

MAGIC = b"PERFLAB\n"
VERSION = 1  # also of what readers make of a file: a lab keeps columns for as long as their version is read
_TABLES = {"slices": Slices, "counters": Counters, "instants": Instants, "flows": Flows}
_Column = NDArray[Any]


def save(trace: Trace, file: BinaryIO) -> None:
    """Write a trace; what `load` reads is the same."""
    columns: list[_Column] = []
    for name in _TABLES:
        columns += _columns(getattr(trace, name))
    rows: dict[int, int] = {}  # arguments of the same rows share their column
    args = [_save_args(each, columns, rows) for each in (trace.slice_args, trace.instant_args)]
    header = {
        "version": VERSION,
        "strings": trace.strings,
        "tracks": [astuple(track) for track in trace.tracks],
        "metadata": trace.metadata,
        "args": args,
        "columns": [(column.dtype.newbyteorder("<").str, len(column)) for column in columns],
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write(MAGIC + len(text).to_bytes(8, "little") + text)
    for column in columns:
        data = np.ascontiguousarray(column, column.dtype.newbyteorder("<"))
        file.write(data.data)
        file.write(bytes(-data.nbytes % 8))
        if isinstance(column, np.memmap):  # of a long trace: what was read of it need not stay in memory
            column._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]


def load(file: BinaryIO) -> Trace:
    """Read what `save` wrote; raises TraceFormatError where a file is of another kind or version, or is cut short."""
    if file.read(len(MAGIC)) != MAGIC:
        raise TraceFormatError("the file does not hold the columns of a trace; read it as Chrome JSON")
    try:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    except ValueError:
        raise TraceFormatError("the file of a trace's columns is cut short; write it again") from None
    if header["version"] != VERSION:
        raise TraceFormatError(
            f"the columns are of version {header['version']}, this reads {VERSION}; write them again"
        )
    columns = _read(file, header["columns"])
    tables = {name: table(*(next(columns) for _ in fields(table))) for name, table in _TABLES.items()}
    kept = list(columns)
    slice_args, instant_args = (_load_args(each, kept) for each in header["args"])
    return Trace(
        strings=header["strings"],
        tracks=[Track(*track) for track in header["tracks"]],
        slice_args=slice_args,
        instant_args=instant_args,
        metadata=header["metadata"],
        **tables,
    )


def _columns(table: object) -> list[_Column]:
    return [getattr(table, column.name) for column in fields(table)]  # type: ignore[arg-type]


def _save_args(args: Args, columns: list[_Column], rows: dict[int, int]) -> list[tuple[str, int, int, Json]]:
    """Add the columns of arguments; each as its key, the places of rows and values behind the tables, and its table."""
    before = sum(len(fields(table)) for table in _TABLES.values())
    saved = []
    for key, column in args.items():
        if id(column.rows) not in rows:
            rows[id(column.rows)] = len(columns) - before
            columns.append(column.rows)
        columns.append(column.values)
        saved.append((key, rows[id(column.rows)], len(columns) - 1 - before, column.table))
    return saved


def _load_args(saved: list[tuple[str, int, int, Json]], columns: list[_Column]) -> Args:
    return {key: ArgColumn(columns[rows], columns[values], table) for key, rows, values, table in saved}


def _read(file: BinaryIO, described: list[tuple[str, int]]) -> Iterator[_Column]:
    for text, count in described:
        dtype = np.dtype(text)
        data = bytearray(file.read(-(-count * dtype.itemsize // 8) * 8))
        if len(data) < count * dtype.itemsize:
            raise TraceFormatError("the file of a trace's columns is cut short; write it again")
        yield np.frombuffer(data, dtype, count)
