"""Questions in SQL over traces: an in-memory DuckDB that is locked away from files, the network and its own settings.

    database = Database()
    database.add_trace(trace)
    database.ask("select name, sum(self_ns) from slices group by name order by 2 desc limit 3")

Tables that a question does not mention are not made. What a stranger asks is asked in a process of its own
(sql_process.py): some functions of DuckDB heed no limit.
"""

import datetime
import math
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from .builder import TraceBuilder
from .errors import QueryError
from .trace import Json, Trace
from .trace_tables import TRACE_TABLES, Columns, register, select

LONGEST_QUERY = 20_000  # characters
LARGEST_ANSWER = 16 << 20  # characters
_SETTINGS = {
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "temp_directory": "",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """What one question may take."""

    seconds: float = 30
    memory: int = 1 << 30  # bytes
    rows: int = 10_000
    threads: int = 2


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows of plain values, with names and SQL types of their columns; `cut` says that there were more than `limit`."""

    columns: list[str]
    types: list[str]
    rows: list[list[Json]]
    limit: int
    cut: bool
    seconds: float


def tables_in(query: str) -> set[str]:
    """Those of TRACE_TABLES that a question can mean: their names stand in it."""
    return set(re.findall(r"\w+", query.lower())).intersection(TRACE_TABLES)


class Database:
    """The tables that a question can be asked about. One question at a time."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        config: dict[str, str | bool | int | float | list[str]] = {
            **_SETTINGS,
            "memory_limit": f"{self._limits.memory}B",
            "threads": self._limits.threads,
        }
        self._connection = duckdb.connect(":memory:", config=config)
        self._traces: dict[int, Trace] = {}
        self._folder: Path | None = None

    def close(self) -> None:
        """Let go of everything."""
        self._connection.close()

    def add_table(self, name: str, columns: Columns) -> None:
        """Add a table of columns of one length; `name` and the keys are ours, never a stranger's."""
        register(self._connection, f"_{name}", columns)
        self._connection.execute(f"CREATE VIEW {name} AS SELECT * FROM _{name}")

    def add_trace(self, trace: Trace, number: int = 1) -> None:
        """Add a trace; `number` is what the column `trace` of its tables holds."""
        self._traces[number] = trace

    def add_files(self, folder: Path) -> None:
        """Take the tables of traces from files of Parquet, `slices/trace=7/rows.parquet`, which may be links."""
        self._folder = folder

    def ask(self, query: str) -> Answer:
        """The answer to one SELECT; raises QueryError, where it is anything else too."""
        if len(query) > LONGEST_QUERY:
            raise QueryError(f"the question has {len(query):,} characters; ask one of at most {LONGEST_QUERY:,}")
        if re.search("[\ud800-\udfff]", query):
            raise QueryError("the question has half a character, a lone surrogate; write whole ones")
        connection = self._connection
        try:
            self._lock(self._make_tables(query))
        except duckdb.Error as error:
            raise QueryError(f"the tables of the traces cannot be read ({self._said(error)}); ask again") from None
        begun = time.monotonic()
        timer = threading.Timer(self._limits.seconds, connection.interrupt)
        timer.start()
        try:
            statements = connection.extract_statements(query)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise QueryError("ask one SELECT: nothing can be changed, loaded, copied or attached here")
            connection.execute(statements[0])
            described = connection.description or []
            rows = connection.fetchmany(self._limits.rows + 1)
        except duckdb.InterruptException:
            raise QueryError(
                f"the question took longer than {self._limits.seconds:g} s and was stopped; ask for less"
            ) from None
        except (duckdb.OutOfMemoryException, MemoryError):
            raise QueryError(
                f"the question needs more than {self._limits.memory >> 20} MiB of memory; group or filter earlier"
            ) from None
        except duckdb.Error as error:
            raise QueryError(self._said(error)) from None
        finally:
            timer.cancel()
        plain = [[_plain(value) for value in row] for row in rows[: self._limits.rows]]
        if sum(len(str(value)) for row in plain for value in row) > LARGEST_ANSWER:
            raise QueryError("the answer is larger than 16 MiB; ask for fewer rows or shorter texts")
        return Answer(
            columns=[str(column[0]) for column in described],
            types=[str(column[1]) for column in described],
            rows=plain,
            limit=self._limits.rows,
            cut=len(rows) > self._limits.rows,
            seconds=time.monotonic() - begun,
        )

    def _make_tables(self, query: str) -> list[Path]:
        """Make the tables of traces that the question mentions; the files that they read."""
        read: list[Path] = []
        # A table has its columns where no trace is.
        traces: Mapping[int, Trace] = self._traces or {0: TraceBuilder().build()}
        for table in sorted(tables_in(query)):
            files = sorted((self._folder / table).glob("*/*.parquet")) if self._folder else []
            if files:
                named = ", ".join(f"'{file}'" for file in files)
                rows = (
                    f"SELECT trace, * EXCLUDE trace FROM read_parquet([{named}], hive_partitioning = true,"
                    " hive_types = {'trace': BIGINT})"
                )
                read += files
            else:
                rows = " UNION ALL ".join(
                    select(self._connection, trace, table, number) for number, trace in traces.items()
                )
            self._connection.execute(f"CREATE VIEW {table} AS {rows}")
        return read

    def _lock(self, files: list[Path]) -> None:
        """From here on nothing is in reach but `files`, where they are and where they lead."""
        allowed = sorted({str(path) for file in files for path in (file, file.resolve())})
        self._connection.execute("SET allowed_paths = $1", [allowed])
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")

    def _said(self, error: duckdb.Error) -> str:
        """What DuckDB says, without its picture of the place and the names of our folders."""
        text = " ".join(str(error).split("\n\n")[0].split())
        return text.replace(str(self._folder), "") if self._folder else text


def _plain(value: Any) -> Json:
    """A value as JSON knows it."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return _plain(float(value))
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, datetime.datetime | datetime.date):
        return value.isoformat()
    return str(value)
