"""Makes the rows of an upload, while other processes may make the same ones."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

from sqlalchemy import Connection, ScalarSelect, Table, bindparam, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from perflab.benchmarks.machine import Machine
from perflab.benchmarks.result import Benchmark, Result

from . import tables as t
from .arrival import Arrival
from .schema import Upload

# Statements that each upload needs are made once: to make one takes as long as to send it.
_DIALECTS: dict[str, Any] = {"postgresql": postgresql, "sqlite": sqlite}
_IDENTITY = ("name", "params", "unit", "direction")  # of a benchmark in its project
_NAMES_AT_ONCE = 1_000  # databases limit the values of a statement


def add_upload(connection: Connection, new: Arrival) -> Upload:
    """Add an upload's rows; the same file for the same run again changes nothing."""
    project, run = _project_and_run(connection, new)
    facts = {"kind": new.kind, "name": new.name, "bytes": new.bytes, "masked": new.masked}
    upload, is_new = _make_or_find(connection, t.upload, facts, run_id=run, sha256=new.sha256)
    if is_new and new.results:
        _add_results(connection, project, upload, new.results)
    return Upload(
        name=new.name,
        kind=new.kind,
        new=is_new,
        sha256=new.sha256,
        bytes=new.bytes,
        project=new.project,
        commit=new.commit,
        run=run,
        trace=_trace_id(connection, upload, new.summary, is_new),
        results=len(new.results),
        health=new.summary["health"]["sentence"] if new.summary else None,
    )


def _trace_id(connection: Connection, upload: int, summary: dict[str, Any] | None, is_new: bool) -> int | None:
    if summary is None:
        return None
    if is_new:
        return insert_row(connection, t.trace, upload_id=upload, summary=summary)
    return connection.scalar(select(t.trace.c.id).where(t.trace.c.upload_id == upload))


def insert_row(connection: Connection, table: Table, **values: Any) -> int:
    """Add a row and give its id."""
    key = connection.execute(insert(table).values(values)).inserted_primary_key
    assert key is not None
    return int(key[0])


def id_of(connection: Connection, table: Table, **identity: Any) -> int:
    """The id of the row with these values, which is made when there is none."""
    return find_or_make(connection, table, {}, **identity)[0]


def find_or_make(connection: Connection, table: Table, facts: dict[str, Any], **identity: Any) -> tuple[int, bool]:
    """The id of the row of that identity, which is made with `facts` when there is none, and whether it was made.

    Where another transaction is making it, this waits for its end.
    """
    found = connection.scalar(select(table.c.id).filter_by(**identity))
    return _make_or_find(connection, table, facts, **identity) if found is None else (int(found), False)


def _make_or_find(connection: Connection, table: Table, facts: dict[str, Any], **identity: Any) -> tuple[int, bool]:
    """As `find_or_make`, for a row that is most likely not there: it is not looked for first."""
    made = connection.scalar(_making(connection.dialect.name, table), identity | facts)
    if made is not None:
        return int(made), True
    return int(connection.scalars(select(table.c.id).filter_by(**identity)).one()), False


@cache
def _making(dialect: str, table: Table) -> Any:
    return _DIALECTS[dialect].insert(table).on_conflict_do_nothing().returning(table.c.id)


def _there(table: Table, **identity: Any) -> ScalarSelect[Any]:
    return select(table.c.id).filter_by(**identity).scalar_subquery()


_PROJECT = _there(t.project, name=bindparam("project"))
_COMMIT = _there(t.commit, project_id=_PROJECT, sha=bindparam("commit"))
_MACHINE = _there(t.machine, fingerprint=bindparam("machine"))
# What an upload's rows hang on, which is there for all but the first of its kind. Of these a run alone is ever removed,
# and not while files are shared (database.py).
_KNOWN = select(
    _PROJECT.label("project"),
    _COMMIT.label("commit"),
    _MACHINE.label("machine"),
    _there(t.branch, project_id=_PROJECT, name=bindparam("branch")).label("branch"),
    _there(t.run, commit_id=_COMMIT, machine_id=_MACHINE, key=bindparam("key")).label("run"),
)


def _project_and_run(connection: Connection, new: Arrival) -> tuple[int, int]:
    """Their ids; what of them is not there is made."""
    names = {
        "project": new.project,
        "commit": new.commit,
        "machine": new.machine.fingerprint,
        "branch": new.branch,
        "key": new.key,
    }
    known = connection.execute(_KNOWN, names).one()
    if known.run is not None:
        return int(known.project), int(known.run)
    project = known.project or id_of(connection, t.project, name=new.project)
    branch = known.branch
    if branch is None and new.branch is not None:
        branch = id_of(connection, t.branch, project_id=project, name=new.branch)
    facts = {
        "branch_id": branch,
        "host": new.machine.name,
        "created": new.created,
        "uploaded": datetime.now(UTC),
        "tool": new.tool,
        "dirty": new.dirty,
        "environment": dict(new.environment),
    }
    commit = known.commit or id_of(connection, t.commit, project_id=project, sha=new.commit)
    machine = known.machine or _machine_id(connection, new.machine)
    run, _ = _make_or_find(connection, t.run, facts, commit_id=commit, machine_id=machine, key=new.key)
    return int(project), run


def _machine_id(connection: Connection, machine: Machine) -> int:
    facts = {"cpu": machine.cpu, "cores": machine.cores, "os": machine.os, "python": machine.python}
    return find_or_make(connection, t.machine, facts, fingerprint=machine.fingerprint)[0]


_ADD_RESULTS = insert(t.result).inline()
_BENCHMARKS = select(t.benchmark.c.id, *(t.benchmark.c[name] for name in _IDENTITY)).where(
    t.benchmark.c.project_id == bindparam("project"), t.benchmark.c.name.in_(bindparam("names", expanding=True))
)


def _add_results(connection: Connection, project: int, upload: int, results: Sequence[Result]) -> None:
    ids = _benchmark_ids(connection, project, [result.benchmark for result in results])
    rows = [
        {
            "upload_id": upload,
            "benchmark_id": ids[result.benchmark],
            "samples": list(result.samples),
            "sample_count": len(result.samples),
            "minimum": min(result.samples),
            "median": result.median,
        }
        for result in results
    ]
    connection.execute(_ADD_RESULTS, rows)


def _benchmark_ids(connection: Connection, project: int, benchmarks: Sequence[Benchmark]) -> dict[Benchmark, int]:
    """The ids of benchmarks of a project; those that it has not are made."""
    asked = {_identity(benchmark): benchmark for benchmark in benchmarks}
    names = sorted({benchmark.name for benchmark in benchmarks})
    found = {}
    for at in range(0, len(names), _NAMES_AT_ONCE):
        some = {"project": project, "names": names[at : at + _NAMES_AT_ONCE]}
        for id, *values in connection.execute(_BENCHMARKS, some):
            if (benchmark := asked.get(tuple(values))) is not None:
                found[benchmark] = int(id)
    # In one order: two transactions that make the same benchmarks would else wait for each other.
    for identity in sorted(asked):
        if asked[identity] not in found:
            told = dict(zip(_IDENTITY, identity, strict=True))
            found[asked[identity]] = id_of(connection, t.benchmark, project_id=project, **told)
    return found


def _identity(benchmark: Benchmark) -> tuple[str, ...]:
    params = json.dumps(dict(benchmark.params), sort_keys=True)
    return benchmark.name, params, benchmark.unit, benchmark.direction
