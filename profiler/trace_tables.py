"""A trace as tables of SQL, and each table as a file of Parquet, of which a question reads the columns it names.

Columns of a trace are scanned where they lie, not copied.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import numpy as np
from numpy.typing import NDArray

from .analysis.blocks import BEFORE, CATEGORIES, NEVER, blocks
from .trace import ArgColumn, Int64s, Slices, Trace

Columns: TypeAlias = Mapping[str, Sequence[Any] | NDArray[Any]]

VERSION = 1  # of the files
_PLACE = ("process", "thread", "pid", "tid")
# The columns of each.
TRACE_TABLES = {
    "slices": (
        *("trace", "slice", "start_ns", "duration_ns", "self_ns", "name", "category"),
        *(*_PLACE, "lane", "depth", "parent"),
    ),
    "instants": ("trace", "instant", "time_ns", "name", "category", *_PLACE),
    "counters": ("trace", "time_ns", "name", "value", *_PLACE),
    "flows": ("trace", "name", "source", "target"),
    "args": ("trace", "slice", "key", "value", "number"),
    "instant_args": ("trace", "instant", "key", "value", "number"),
    "memory": ("trace", "bytes", "allocated_ns", "freed_ns", "category", "module", "op", "slice"),
}
_ROW_GROUP = 65_536  # rows; a question for a moment or a slice reads few of them
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
_SELECTS = {"slices": _SLICES, "instants": _INSTANTS, "counters": _COUNTERS, "flows": _FLOWS, "memory": _MEMORY}
_ARGS = {"args": "slice", "instant_args": "instant"}
_NO_ARGS = "SELECT {trace} AS trace, 0::BIGINT AS {row}, '' AS key, '' AS value, 0::DOUBLE AS number WHERE false"
# What comes together in questions lies together in the file.
_ORDER = {"slices": "slice", "instants": "instant", "counters": "time_ns", "memory": "allocated_ns"}


def select(connection: duckdb.DuckDBPyConnection, trace: Trace, table: str, number: int) -> str:
    """A SELECT of one of TRACE_TABLES, whose column `trace` holds `number`; what it reads is registered."""
    if table in _ARGS:
        return " UNION ALL ".join(_args(connection, trace, table, number))
    for name, columns in (_memory_columns(trace) if table == "memory" else {}).items():
        register(connection, f"_{name}{number}", columns)
    for name, columns in _columns(trace).items():
        register(connection, f"_{name}{number}", columns)
    return _SELECTS[table].format(trace=number)


def write(trace: Trace, table: str, path: Path) -> None:
    """Write one of TRACE_TABLES as Parquet, without its column `trace`, which the name of a folder tells."""
    with duckdb.connect() as connection:
        rows = f"SELECT * EXCLUDE trace FROM ({select(connection, trace, table, 0)})"
        order = f" ORDER BY {_ORDER[table]}" if table in _ORDER else ""
        connection.execute(
            f"COPY ({rows}{order}) TO $1 (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {_ROW_GROUP})", [str(path)]
        )


def register(connection: duckdb.DuckDBPyConnection, name: str, columns: Columns) -> None:
    """Make columns of one length a table."""
    arrays = {key: column if isinstance(column, np.ndarray) else _column(column) for key, column in columns.items()}
    connection.register(name, arrays)


def _columns(trace: Trace) -> dict[str, Columns]:
    slices, instants, counters, flows = trace.slices, trace.instants, trace.counters, trace.flows
    return {
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


def _memory_columns(trace: Trace) -> dict[str, Columns]:
    found = blocks(trace)
    has_op = found.op >= 0
    return {
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


def _args(connection: duckdb.DuckDBPyConnection, trace: Trace, table: str, number: int) -> Iterable[str]:
    """A SELECT for each argument; the key is a parameter's worth of text, quoted."""
    row = _ARGS[table]
    yield _NO_ARGS.format(trace=number, row=row)
    for place, (key, column) in enumerate((trace.slice_args if table == "args" else trace.instant_args).items()):
        name = f"_{table}{number}_{place}"
        register(connection, name, {"row": column.rows, "value": column.values})
        if column.table is not None:
            register(connection, f"{name}_texts", _value_texts(column))
            texts = f"(SELECT id, text, TRY_CAST(text AS DOUBLE) AS number FROM {name}_texts)"
            value, as_number, source = "v.text", "v.number", f"{name} a JOIN {texts} v ON v.id = a.value"
        else:
            value, source = "a.value::VARCHAR", f"{name} a"
            as_number = "NULL::DOUBLE" if column.values.dtype == bool else "a.value::DOUBLE"
        quoted = key.replace("'", "''").replace("\0", "")
        yield (
            f"SELECT {number} AS trace, a.row AS {row}, '{quoted}' AS key, {value} AS value, {as_number} AS number"
            f" FROM {source}"
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
