"""Questions in SQL over traces: an in-memory DuckDB that is locked away from files, the network and its own settings.

    database = Database()
    database.add_trace(trace)
    database.ask("select name, sum(self_ns) from slices group by name order by 2 desc limit 3")

Columns of a trace are scanned where they lie, not copied; tables that a question does not mention are not made. What a
stranger asks is asked in a process of its own (sql_process.py): some functions of DuckDB heed no limit.
"""

import datetime
import math
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import duckdb
import numpy as np
from numpy.typing import NDArray

from .analysis.blocks import BEFORE, CATEGORIES, NEVER, blocks
from .errors import QueryError
from .trace import ArgColumn, Int64s, Json, Slices, Trace

Columns: TypeAlias = Mapping[str, Sequence[Any] | NDArray[Any]]

LONGEST_QUERY = 20_000  # characters
LARGEST_ANSWER = 16 << 20  # characters
TRACE_TABLES = ("slices", "instants", "counters", "flows", "args", "instant_args", "memory")
_SETTINGS = {
    "enable_external_access": "false",
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "temp_directory": "",
}
_SLICES = """
    SELECT {trace} AS trace, s.slice, s.start_ns, s.duration_ns, s.self_ns, n.text AS name, c.text AS category,
           t.process, t.thread, t.pid, t.tid, t.lane, s.depth, s.parent
    FROM _slices{trace} s JOIN _strings{trace} n ON n.id = s.name JOIN _strings{trace} c ON c.id = s.category
    JOIN _tracks{trace} t ON t.id = s.track"""
_INSTANTS = """
    SELECT {trace} AS trace, s.instant, s.time_ns, n.text AS name, c.text AS category, t.process, t.thread, t.pid, t.tid
    FROM _instants{trace} s JOIN _strings{trace} n ON n.id = s.name JOIN _strings{trace} c ON c.id = s.category
    JOIN _tracks{trace} t ON t.id = s.track"""
_COUNTERS = """
    SELECT {trace} AS trace, s.time_ns, n.text AS name, s.value, t.process, t.thread, t.pid, t.tid
    FROM _counters{trace} s JOIN _strings{trace} n ON n.id = s.name JOIN _tracks{trace} t ON t.id = s.track"""
_FLOWS = """
    SELECT {trace} AS trace, n.text AS name, s.source, s.target
    FROM _flows{trace} s JOIN _strings{trace} n ON n.id = s.name"""
_MEMORY = f"""
    SELECT {{trace}} AS trace, s.bytes, NULLIF(s.born, {BEFORE}) AS allocated_ns, NULLIF(s.died, {NEVER}) AS freed_ns,
           c.text AS category, m.text AS module, n.text AS op, NULLIF(s.op, -1) AS slice
    FROM _memory{{trace}} s JOIN _memory_categories{{trace}} c ON c.id = s.category
    LEFT JOIN _memory_modules{{trace}} m ON m.id = s.module LEFT JOIN _strings{{trace}} n ON n.id = s.name"""
_VIEWS = {"slices": _SLICES, "instants": _INSTANTS, "counters": _COUNTERS, "flows": _FLOWS, "memory": _MEMORY}
_ARGS = {"args": "slice", "instant_args": "instant"}
_NO_ARGS = "SELECT 0 AS trace, 0::BIGINT AS {row}, '' AS key, '' AS value, 0::DOUBLE AS number WHERE false"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one question may take."""

    seconds: float = 30
    memory: int = 1 << 30  # bytes
    rows: int = 10_000
    threads: int = 2


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows of plain values; `cut` says that there were more."""

    columns: list[str]
    rows: list[list[Json]]
    cut: bool


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

    def close(self) -> None:
        """Let go of everything."""
        self._connection.close()

    def add_table(self, name: str, columns: Columns) -> None:
        """Add a table of columns of one length; `name` and the keys are ours, never a stranger's."""
        self._register(f"_{name}", columns)
        self._connection.execute(f"CREATE VIEW {name} AS SELECT * FROM _{name}")

    def add_trace(self, trace: Trace, number: int = 1) -> None:
        """Add a trace; `number` is what the column `trace` of its tables holds."""
        self._traces[number] = trace

    def ask(self, query: str) -> Answer:
        """The answer to one SELECT; raises QueryError, where it is anything else too."""
        if len(query) > LONGEST_QUERY:
            raise QueryError(f"the question has {len(query):,} characters; ask one of at most {LONGEST_QUERY:,}")
        self._make_tables(query)
        connection = self._connection
        connection.execute("SET lock_configuration = true")
        timer = threading.Timer(self._limits.seconds, connection.interrupt)
        timer.start()
        try:
            statements = connection.extract_statements(query)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise QueryError("ask one SELECT: nothing can be changed, loaded, copied or attached here")
            connection.execute(statements[0])
            columns = [str(column[0]) for column in connection.description or ()]
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
            raise QueryError(_first_lines(error)) from None
        finally:
            timer.cancel()
        plain = [[_plain(value) for value in row] for row in rows[: self._limits.rows]]
        if sum(len(str(value)) for row in plain for value in row) > LARGEST_ANSWER:
            raise QueryError("the answer is larger than 16 MiB; ask for fewer rows or shorter texts")
        return Answer(columns, plain, len(rows) > self._limits.rows)

    def _make_tables(self, query: str) -> None:
        words = set(re.findall(r"\w+", query.lower())).intersection(TRACE_TABLES)
        if words:
            for number, trace in self._traces.items():
                self._add(trace, number)
                if "memory" in words:
                    self._add_memory(trace, number)
        for name in words:
            if name in _ARGS:
                self._view(name, [_NO_ARGS.format(row=_ARGS[name]), *self._args(name, _ARGS[name])])
            else:
                self._view(name, [_VIEWS[name].format(trace=number) for number in self._traces])

    def _view(self, name: str, parts: list[str]) -> None:
        if parts:
            self._connection.execute(f"CREATE VIEW {name} AS {' UNION ALL '.join(parts)}")

    def _register(self, name: str, columns: Columns) -> None:
        arrays = {key: column if isinstance(column, np.ndarray) else _column(column) for key, column in columns.items()}
        self._connection.register(name, arrays)

    def _add(self, trace: Trace, number: int) -> None:
        slices, instants, counters, flows = trace.slices, trace.instants, trace.counters, trace.flows
        tables: dict[str, Columns] = {
            "strings": {"id": np.arange(len(trace.strings), dtype=np.int32), "text": _texts(trace.strings)},
            "tracks": {
                "id": np.arange(len(trace.tracks), dtype=np.int32),
                "process": _texts([track.process for track in trace.tracks]),
                "thread": _texts([track.name or str(track.tid) for track in trace.tracks]),
                "pid": _texts([str(track.pid) for track in trace.tracks]),
                "tid": _texts([str(track.tid) for track in trace.tracks]),
                "lane": np.array([track.lane for track in trace.tracks], dtype=np.int32),
            },
            "slices": {
                "slice": np.arange(len(slices)),
                "start_ns": slices.start,
                "duration_ns": slices.duration,
                "self_ns": self_ns(slices),
                "name": slices.name,
                "category": slices.category,
                "track": slices.track,
                "depth": slices.depth,
                "parent": slices.parent,
            },
            "instants": {
                "instant": np.arange(len(instants)),
                "time_ns": instants.time,
                "name": instants.name,
                "category": instants.category,
                "track": instants.track,
            },
            "counters": {
                "time_ns": counters.time,
                "name": counters.name,
                "value": counters.value,
                "track": counters.track,
            },
            "flows": {"name": flows.name, "source": flows.source, "target": flows.target},
        }
        for name, columns in tables.items():
            self._register(f"_{name}{number}", columns)

    def _add_memory(self, trace: Trace, number: int) -> None:
        found = blocks(trace)
        has_op = found.op >= 0
        tables: dict[str, Columns] = {
            "memory": {
                "bytes": found.bytes,
                "born": found.moment(found.born),
                "died": found.moment(found.died),
                "category": found.category,
                "module": found.module,
                "op": found.op,
                "name": np.where(has_op, trace.slices.name[np.maximum(found.op, 0)], -1) if has_op.any() else found.op,
            },
            "memory_categories": {"id": np.arange(len(CATEGORIES)), "text": _texts(CATEGORIES)},
            "memory_modules": {"id": np.arange(len(found.modules)), "text": _texts(found.modules)},
        }
        for name, columns in tables.items():
            self._register(f"_{name}{number}", columns)

    def _args(self, table: str, row: str) -> Iterable[str]:
        """A SELECT for each argument of each trace; the key is a parameter's worth of text, quoted."""
        for number, trace in self._traces.items():
            columns = trace.slice_args if table == "args" else trace.instant_args
            for place, (key, column) in enumerate(columns.items()):
                name = f"_{table}{number}_{place}"
                self._register(name, {"row": column.rows, "value": column.values})
                value, source = "a.value::VARCHAR", f"{name} a"
                if column.table is not None:
                    self._register(f"{name}_texts", _value_texts(column))
                    value, source = "v.text", f"{source} JOIN {name}_texts v ON v.id = a.value"
                quoted = key.replace("'", "''").replace("\0", "")
                yield (
                    f"SELECT {number} AS trace, a.row AS {row}, '{quoted}' AS key, {value} AS value,"
                    f" TRY_CAST({value} AS DOUBLE) AS number FROM {source}"
                )


def self_ns(slices: Slices) -> Int64s:
    """The duration of each slice less that of the slices directly inside it."""
    own = slices.duration.copy()
    inner = np.flatnonzero(slices.parent >= 0)
    np.subtract.at(own, slices.parent[inner], slices.duration[inner])
    return own


def _value_texts(column: ArgColumn) -> Columns:
    from .chrome_write import to_json

    table = column.table or []
    texts = [value if isinstance(value, str) else to_json(value) for value in table]
    return {"id": np.arange(len(texts), dtype=np.int32), "text": _texts(texts)}


def _texts(values: Sequence[str]) -> NDArray[np.object_]:
    """Texts as DuckDB takes them: valid Unicode."""
    made = np.empty(len(values), dtype=object)
    made[:] = [value.encode("utf-8", "replace").decode() if not value.isascii() else value for value in values]
    return made


def _column(values: Sequence[Any]) -> NDArray[Any]:
    """Values of one type, or null, as an array."""
    kinds = {type(value) for value in values}
    if kinds and kinds <= {bool, int, float} and (bool not in kinds or len(kinds) == 1):
        return np.array(values)
    if None not in values:
        return _texts([str(value) for value in values])
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


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


def _first_lines(error: duckdb.Error) -> str:
    """What DuckDB says, without its picture of the place."""
    return " ".join(str(error).split("\n\n")[0].split())
