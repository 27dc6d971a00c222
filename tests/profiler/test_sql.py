"""SQL over traces: the tables, the questions of the docs, and what is refused."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from perflab.profiler import Trace, TraceBuilder, Track, chrome
from perflab.profiler.errors import QueryError
from perflab.profiler.sql import Database, Limits
from perflab.profiler.sql_process import ask
from perflab.profiler.trace_tables import TRACE_TABLES

ROOT = Path(__file__).parents[2]
STEP = ROOT / "tests/data/traces/torch_step.json"


OUTER = {"n": 2**60 + 1, "shape": [2, 3], "t": "x"}


def small() -> Trace:
    builder = TraceBuilder()
    track = Track(7, "stream 1", "main", "python")
    outer = builder.slice(
        "outer", 0, 100, track=track, category="cpu_op", args={"n": 2**60 + 1, "shape": [2, 3], "t": "x"}
    )
    inner = builder.slice("inner's", 10, 30, track=track, category="cpu_op", args={"n": 5, "share": 0.5, "o'dd": True})
    builder.flow("fwdbwd", outer, inner)
    builder.instant("[memory]", 12, track=track, args={"Bytes": -64})
    builder.counter("allocated", 3, 1.5, track=track)
    return builder.build()


def rows(query: str, **limits: Any) -> list[list[Any]]:
    database = Database(Limits(**limits))
    database.add_trace(small(), 4)
    try:
        return database.ask(query).rows
    finally:
        database.close()


def test_the_tables_of_a_trace() -> None:
    assert rows("from slices order by slice") == [
        [4, 0, 0, 100, 70, "outer", "cpu_op", "python", "main", "7", "stream 1", 0, 0, -1],
        [4, 1, 10, 30, 30, "inner's", "cpu_op", "python", "main", "7", "stream 1", 0, 1, 0],
    ]
    assert rows("from instants") == [[4, 0, 12, "[memory]", "", "python", "main", "7", "stream 1"]]
    assert rows("from counters") == [[4, 3, "allocated", 1.5, "python", "main", "7", "stream 1"]]
    assert rows("from flows") == [[4, "fwdbwd", 0, 1]]
    assert rows("from instant_args") == [[4, 0, "Bytes", "-64", -64.0]]
    assert rows("from args order by slice, key") == [
        [4, 0, "n", str(2**60 + 1), float(2**60 + 1)],
        [4, 0, "shape", "[2,3]", None],
        [4, 0, "t", "x", None],
        [4, 1, "n", "5", 5.0],
        [4, 1, "o'dd", "true", None],
        [4, 1, "share", "0.5", 0.5],
    ]


def test_several_traces_are_told_apart() -> None:
    database = Database()
    for number in (1, 2):
        database.add_trace(small(), number)
    assert database.ask("select trace, sum(self_ns) from slices group by trace order by trace").rows == [
        [1, 100],
        [2, 100],
    ]


def test_values_become_plain() -> None:
    answer = rows("select 1.5::decimal(4, 2), [1, 2], {'a': null}, 'nan'::double, date '2026-01-31', 2 ** 70")
    assert answer == [[1.5, [1, 2], {"a": None}, None, "2026-01-31", 2.0**70]]


def test_a_long_answer_is_cut() -> None:
    database = Database(Limits(rows=3))
    answer = database.ask("select * from range(10) t(n)")
    assert (answer.columns, answer.rows, answer.cut) == (["n"], [[0], [1], [2]], True)
    assert not Database(Limits(rows=3)).ask("select * from range(3)").cut


def test_the_docs_tell_the_columns() -> None:
    text = (ROOT / "docs/sql.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `(\w+)` \| `(.*?)`", text, re.MULTILINE))
    for table in TRACE_TABLES:
        database = Database()
        database.add_trace(small())
        assert database.ask(f"from {table}").columns == list(TRACE_TABLES[table]) == told[table].split()


SAY = "ask one SELECT: nothing can be changed, loaded, copied or attached here"


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("copy (select 1) to 'FILE'", SAY),
        ("copy slices from 'FILE'", SAY),
        ("attach 'FILE'", SAY),
        ("install httpfs", SAY),
        ("load httpfs", SAY),
        ("create table mine as select 1", SAY),
        ("insert into _strings4 values (1, 'a')", SAY),
        ("drop view slices", SAY),
        ("set threads = 64", SAY),
        ("pragma database_list", SAY),
        ("export database 'FILE'", SAY),
        ("call enable_logging()", SAY),
        ("explain analyze select 1", SAY),
        ("select 1; select 2", SAY),
        ("select 1; copy (select 1) to 'FILE'", SAY),
        ("begin", SAY),
        ("", SAY),
        ("select * from read_csv('/etc/passwd')", "Permission Error"),
        ("select * from read_text('/etc/passwd')", "Permission Error"),
        ("select * from read_blob('/etc/passwd')", "Permission Error"),
        ("select * from read_json_auto('/etc/passwd')", "Permission Error"),
        ("select * from read_parquet('http://127.0.0.1:1/a')", "Permission Error"),
        ("select * from glob('/*')", "Permission Error"),
        ("select * from sniff_csv('/etc/passwd')", "Permission Error"),
        ("select * from duckdb_secrets()", "Permission Error"),
        ("select * from '/etc/passwd'", "does not exist"),
        ("select * from enable_logging(storage := 'file', storage_path := 'FILE')", "locked"),
        ("select * from query('copy (select 1) to ''FILE''')", "single SELECT"),
        ("select getenv('HOME')", "does not exist"),
        ("select * from database", "does not exist"),  # a variable of Python
        ("selec 1", "syntax error"),
        ("select nothing from slices", "not found"),
        ("select '" + "x" * 20_000 + "'", "ask one of at most 20,000"),
        ("select " + "(" * 5_000 + "1" + ")" * 5_000, "Max expression depth"),
    ],
)
def test_what_is_refused(query: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(QueryError, match=re.escape(says)):
        rows(query.replace("FILE", str(tmp_path / "it")))
    assert list(tmp_path.iterdir()) == []


def test_names_of_arguments_cannot_break_out() -> None:
    builder = TraceBuilder()
    key = "x' AS key, 0, 0 FROM _slices1; COPY (SELECT 1) TO '/tmp/broken'; --"
    builder.slice("a", 0, 1, track=Track(1, 1), args={key: 1})
    database = Database()
    database.add_trace(builder.build())
    assert database.ask("select key from args").rows == [[key]]


ENDLESS = "with recursive t as (select 1 as x union all select x + 1 from t) select count(*) from t"


@pytest.mark.parametrize("query", ["select count(*) from range(1000000000000)", ENDLESS])
def test_an_endless_question_is_stopped(query: str) -> None:
    with pytest.raises(QueryError, match=r"took longer than 0.2 s and was stopped"):
        rows(query, seconds=0.2)


def test_a_question_that_takes_too_much_memory_is_stopped() -> None:
    with pytest.raises(QueryError, match="needs more than 64 MiB of memory"):
        rows("select list(n) from range(100000000) t(n)", memory=64 << 20)


def test_a_process_of_its_own_asks_files() -> None:
    with open(STEP, "rb") as file:
        answer = ask("select count(*) from slices join traces using (trace)", {3: file}, {"traces": {"trace": [3]}})
        assert answer.rows == [[len(chrome.read(STEP).slices)]]
        with pytest.raises(QueryError, match="ask one SELECT"):
            ask("drop view slices", {3: file})


def test_tables_without_rows_have_columns() -> None:
    answer = ask("select name, dirty from runs", tables={"runs": {"name": [], "dirty": []}})
    assert (answer.columns, answer.rows) == (["name", "dirty"], [])


def test_tables_larger_than_a_pipe_reach_the_process() -> None:
    rows = 50_000
    answer = ask("select count(*), sum(n) from numbers", tables={"numbers": {"n": list(range(rows))}})
    assert answer.rows == [[rows, rows * (rows - 1) / 2]]


@pytest.mark.parametrize("size", [3_000_000_000, 300_000_000])
def test_what_duckdb_does_not_limit_is_stopped_with_its_process(size: int) -> None:
    # one constant, which is made before the question runs: neither an interrupt nor DuckDB's own limit applies
    with pytest.raises(QueryError, match=r"took longer than|MiB"):
        ask(f"select repeat('x', {size}) || repeat('y', {size})", limits=Limits(seconds=0.5, memory=128 << 20))


def test_memory_is_a_row_for_each_block() -> None:
    before = ((64, 100, "parameter", "Net.fc", "cpu"), (64, 5, "parameter", "Net.fc", "sim:0"))
    builder = TraceBuilder({"memoryBefore": [list(block) for block in before]})
    track = Track(7, 1, "main", "python")
    builder.slice("add", 0, 20, track=track, category="cpu_op", args={"Module Hierarchy": "Net.act"})
    for time, address, size, more in ((5, 128, 30, {"Category": "activation"}), (40, 192, 8, {}), (50, 128, -30, {})):
        builder.instant("[memory]", time, track=track, args={"Addr": address, "Bytes": size, **more})
    database = Database()
    database.add_trace(builder.build())
    columns = "bytes, allocated_ns, freed_ns, category, module, op, slice"
    assert database.ask(f"select {columns} from memory order by bytes desc").rows == [
        [100, None, None, "parameter", "Net.fc", None, None],
        [30, 5, 50, "activation", "Net.act", "add", 0],
        [8, 40, None, "other", None, None, None],
    ]
    database.close()


def test_the_runtime_can_be_imported_behind_duckdb() -> None:
    """Both want memory of each thread that the loader has little of."""
    code = "import duckdb; duckdb.connect(); import perflab.runtime as rt; print(rt.ones(2).sum().item())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "2.0\n"
