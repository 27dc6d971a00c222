"""Questions made at random of what is dangerous: none reads, writes or changes anything, and each is answered or
refused."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perflab.profiler import Trace, TraceBuilder, Track
from perflab.profiler.errors import QueryError
from perflab.profiler.sql import Database, Limits
from perflab.profiler.trace_tables import write

SECRET = "a secret of the machine"
READERS = (
    *("read_text", "read_blob", "read_csv", "read_csv_auto", "read_parquet", "parquet_scan", "read_json"),
    *("read_json_auto", "read_json_objects", "read_ndjson", "sniff_csv", "glob", "parquet_metadata", "parquet_schema"),
)
PATHS = (
    "{secret}",
    "{folder}/*",
    "{folder}/slices/../secret.txt",
    "file://{secret}",
    "/proc/self/environ",
    "/dev/stdin",
)
PARTS = (
    *("select", "*", "1", "from", "slices", "where", "union all", "(", ")", ";", ",", "--", "/*", "*/", "with t as"),
    *(
        "copy",
        "to '{folder}/out'",
        "export database '{folder}/out'",
        "attach '{folder}/out'",
        "install httpfs",
        "load json",
    ),
    *(
        "set threads = 9",
        "reset memory_limit",
        "pragma enable_profiling",
        "create table t as",
        "insert into",
        "checkpoint",
    ),
    *(
        "'{secret}'",
        "query('copy (select 1) to ''{folder}/out''')",
        "getenv('HOME')",
        "call",
        "begin",
        "explain analyze",
    ),
    *("delete from", "update slices set name = 'x'", "drop view slices", "use", "detach", "vacuum", "prepare p as"),
    *(f"{reader}('{path}')" for reader in READERS for path in PATHS[:2]),
)


def trace() -> Trace:
    builder = TraceBuilder()
    builder.slice("matmul", 0, 10, track=Track(1, 1), category="cpu_op")
    return builder.build()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "slices/trace=1").mkdir(parents=True)
    write(trace(), "slices", folder / "slices/trace=1/rows.parquet")
    (folder / "secret.txt").write_text(SECRET)
    return folder


def asked(query: str, folder: Path) -> str:
    """What comes back, an answer or a refusal."""
    database = Database(Limits(seconds=5, memory=256 << 20, rows=100))
    database.add_files(folder)
    try:
        return str(database.ask(query.replace("{folder}", str(folder)).replace("{secret}", str(folder / "secret.txt"))))
    except QueryError as error:
        return str(error)
    finally:
        database.close()


def check(query: str, folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    said = asked(query, folder)
    assert said and SECRET not in said
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("path", PATHS)
def test_no_function_reads_a_file(folder: Path, reader: str, path: str) -> None:
    check(f"select * from {reader}('{path}')", folder)
    assert "columns=" not in asked(f"select * from {reader}('{path}')", folder)


@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(parts=st.lists(st.sampled_from(PARTS), min_size=1, max_size=7))
def test_no_question_reads_or_writes_a_file(folder: Path, parts: list[str]) -> None:
    check(" ".join(parts), folder)


def test_half_a_character_is_refused(folder: Path) -> None:
    assert "half a character, a lone surrogate" in asked("select '\ud800'", folder)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(text=st.text(max_size=200))
def test_any_text_is_answered_or_refused(folder: Path, text: str) -> None:
    asked(text, folder)
    assert asked("select 'it' || count(*) as told from slices", folder).startswith("Answer(columns=['told']")
