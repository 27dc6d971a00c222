"""Nsight Systems: what `nsys export --type sqlite` writes.

Kernels, copies and memsets stand on tracks of their streams, CUDA calls, NVTX ranges and calls of the operating system
on those of their threads. A call and what it launched are tied by their correlation id.
The schema: https://docs.nvidia.com/nsight-systems/UserGuide/index.html#sqlite-schema-reference
"""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Any

from ..builder import TraceBuilder
from ..errors import TraceFormatError
from ..trace import Json, Trace, Track
from .findings import Findings

FORMAT = "Nsight Systems"
MAGIC = b"SQLite format 3\x00"
_HEADER = 100  # bytes
_LARGEST = 1 << 40  # bytes; it has holes, which take no space
# Of threads in one process: a global id is 8 bits of hardware, 8 of machine, 24 of process, 24 of thread.
_IDS = 1 << 24
_FURTHEST = 4 * 10**18
# By table: category, and the columns that give the name of a row (ids of StringIds, or texts).
_ON_DEVICE = {
    "CUPTI_ACTIVITY_KIND_KERNEL": ("kernel", ("demangledName", "shortName", "mangledName")),
    "CUPTI_ACTIVITY_KIND_MEMCPY": ("gpu_memcpy", ()),
    "CUPTI_ACTIVITY_KIND_MEMSET": ("gpu_memset", ()),
}
_ON_THREAD = {
    "CUPTI_ACTIVITY_KIND_RUNTIME": ("cuda_runtime", ("nameId",)),
    "NVTX_EVENTS": ("user_annotation", ("text", "textId")),
    "OSRT_API": ("os", ("nameId",)),
}
_NAMES = {"gpu_memcpy": "Memcpy", "gpu_memset": "Memset"}
_ARGS = ("correlationId", "bytes", "copyKind", "registersPerThread", "gridX", "gridY", "gridZ", "blockX", "blockY",
         "blockZ", "staticSharedMemory", "dynamicSharedMemory")  # fmt: skip
_DIRECTIONS = {1: "HtoD", 2: "DtoH", 8: "DtoD", 10: "PtoP"}


def read(file: IO[bytes], name: str, findings: Findings) -> Trace:
    """The trace in an SQLite export; raises TraceFormatError."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "export.sqlite")
        with open(path, "wb") as copy:
            shutil.copyfileobj(file, copy)
        size, promised = path.stat().st_size, _promised(path)
        if size < promised:
            findings.add("cut", at=f"{size:,}")
            if promised < _LARGEST:
                os.truncate(path, promised)  # tables that are there can be read then
        try:
            with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
                connection.execute("PRAGMA trusted_schema = OFF")
                connection.text_factory = lambda text: text.decode("utf-8", "replace")
                return _Export(connection, name, findings).read()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            why = " ".join(str(error).split())
            raise TraceFormatError(f"{name}: the SQLite file is damaged ({why}); export it again") from None


def _promised(path: Path) -> int:
    """How many bytes the database is to have by its header: SQLite takes what is missing of it for empty.
    https://www.sqlite.org/fileformat2.html#the_database_header"""
    with open(path, "rb") as file:
        header = file.read(_HEADER)
    page, changes, pages, valid_for = (
        int.from_bytes(header[at : at + size], "big") for at, size in ((16, 2), (24, 4), (28, 4), (92, 4))
    )
    return (page if page > 1 else 1 << 16) * pages if changes == valid_for else 0


class _Export:
    def __init__(self, connection: sqlite3.Connection, name: str, findings: Findings) -> None:
        self._connection = connection
        self._findings = findings
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        self._tables = {table for (table,) in tables}
        known = self._tables & (_ON_DEVICE.keys() | _ON_THREAD.keys())
        if not known:
            listed = ", ".join(sorted(self._tables)[:4]) or "none"
            raise TraceFormatError(
                f"{name}: an SQLite database, but no export of Nsight Systems (its tables: {listed}); write one with"
                " `nsys export --type sqlite`"
            )
        self._strings: dict[Json, str] = {row.get("id"): str(row.get("value")) for row in self._rows("StringIds")}
        self._threads = {row.get("globalTid"): self._text(row.get("nameId")) for row in self._rows("ThreadNames")}
        self._processes = {row.get("globalPid"): str(row.get("name") or "") for row in self._rows("PROCESSES")}
        self._builder = TraceBuilder(self._metadata())

    def _rows(self, table: str) -> Iterator[dict[str, Any]]:
        """The rows of a table that is there; views are not followed."""
        if table not in self._tables:
            return
        try:
            cursor = self._connection.execute(f'SELECT * FROM "{table}"')  # of the names in this file
            columns = [column[0] for column in cursor.description]
            for row in cursor:
                yield dict(zip(columns, row, strict=True))
        except sqlite3.Error as error:
            self._findings.add("table-damaged", examples=[f"{table}: {' '.join(str(error).split())}"])

    def _metadata(self) -> dict[str, Json]:
        base = next((row.get("utcEpochNs") for row in self._rows("TARGET_INFO_SESSION_START_TIME")), None)
        return {"tool": FORMAT} | ({"baseTimeNanoseconds": base} if isinstance(base, int) else {})

    def read(self) -> Trace:
        launches: dict[tuple[int, int], int] = {}  # by process and correlation
        launched: list[tuple[int, int, int]] = []
        for table, (category, names) in _ON_THREAD.items():
            for row in self._rows(table):
                tid = row.get("globalTid")
                if not isinstance(tid, int):
                    self._findings.add("no-time", examples=[f"{table}: no globalTid"])
                    continue
                handle = self._add(row, self._thread(tid), category, names)
                if handle is not None and category == "cuda_runtime" and isinstance(row.get("correlationId"), int):
                    launches[tid // _IDS, row["correlationId"]] = handle
        for table, (category, names) in _ON_DEVICE.items():
            for row in self._rows(table):
                pid = row.get("globalPid")
                process = pid // _IDS if isinstance(pid, int) else 0
                handle = self._add(row, self._stream(row, process), category, names)
                if handle is not None and isinstance(row.get("correlationId"), int):
                    launched.append((process, row["correlationId"], handle))
        for process, correlation, handle in launched:
            source = launches.get((process, correlation))
            if source is not None:
                self._builder.flow("ac2g", source, handle)
        return self._builder.build()

    def _add(self, row: dict[str, Any], track: Track, category: str, names: tuple[str, ...]) -> int | None:
        start, end = row.get("start"), row.get("end")
        name = next((text for column in names if (text := self._text(row.get(column)))), _NAMES.get(category, ""))
        if category == "gpu_memcpy" and row.get("copyKind") in _DIRECTIONS:
            name += f" {_DIRECTIONS[row['copyKind']]}"
        if not isinstance(start, int) or not -_FURTHEST < start < _FURTHEST:
            self._findings.add("no-time", examples=[name])
            return None
        if end is None and category == "user_annotation":  # a mark
            self._builder.instant(name, start, track=track, category=category)
            return None
        if not isinstance(end, int) or not start <= end < _FURTHEST:
            self._findings.add("no-duration" if end is None else "negative-duration", examples=[name])
            end = start
        args = {key: row[key] for key in _ARGS if row.get(key) is not None}
        if "correlationId" in args:
            args["correlation"] = args.pop("correlationId")
        return self._builder.slice(name, start, end - start, track=track, category=category, args=args)

    def _text(self, value: Json) -> str:
        return value if isinstance(value, str) else self._strings.get(value, "")

    def _thread(self, tid: int) -> Track:
        process = tid // _IDS
        return Track(
            process % _IDS,
            tid % _IDS,
            self._threads.get(tid, ""),
            self._processes.get(process * _IDS, ""),
        )

    def _stream(self, row: dict[str, Any], process: int) -> Track:
        device, stream = row.get("deviceId", 0), row.get("streamId", 0)
        return Track(f"GPU {device}", f"stream {stream}", f"stream {stream}", f"GPU {device}")
