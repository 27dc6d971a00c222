"""Makes the rows of an upload, while other processes may make the same ones."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Table, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from perflab.benchmarks.machine import Machine
from perflab.benchmarks.result import Benchmark, Result

from . import tables as t
from .arrival import Arrival
from .schema import Upload

_DIALECTS: dict[str, Any] = {"postgresql": postgresql, "sqlite": sqlite}
_IDENTITY = ("name", "params", "unit", "direction")  # of a benchmark in its project
_NAMES_AT_ONCE = 1_000  # databases limit the values of a statement


def add_upload(connection: Connection, new: Arrival) -> Upload:
    """Add an upload's rows; the same file for the same run again changes nothing."""
    project = id_of(connection, t.project, name=new.project)
    run = _run_id(connection, project, new)
    facts = {"kind": new.kind, "name": new.name, "bytes": new.bytes, "masked": new.masked}
    upload, is_new = find_or_make(connection, t.upload, facts, run_id=run, sha256=new.sha256)
    if is_new:
        if new.summary is not None:
            insert_row(connection, t.trace, upload_id=upload, summary=new.summary)
        if new.results:
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
        trace=connection.scalar(select(t.trace.c.id).where(t.trace.c.upload_id == upload)),
        results=len(new.results),
        health=new.summary["health"]["sentence"] if new.summary else None,
    )


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
    query = select(table.c.id).filter_by(**identity)
    found = connection.scalar(query)
    if found is not None:
        return int(found), False
    new = _DIALECTS[connection.dialect.name].insert(table).values(**identity, **facts)
    made = connection.scalar(new.on_conflict_do_nothing().returning(table.c.id))
    if made is not None:
        return int(made), True
    return int(connection.scalars(query).one()), False


def _run_id(connection: Connection, project: int, new: Arrival) -> int:
    commit = id_of(connection, t.commit, project_id=project, sha=new.commit)
    branch = None if new.branch is None else id_of(connection, t.branch, project_id=project, name=new.branch)
    facts = {
        "branch_id": branch,
        "host": new.machine.name,
        "created": new.created,
        "uploaded": datetime.now(UTC),
        "tool": new.tool,
        "dirty": new.dirty,
        "environment": dict(new.environment),
    }
    machine = _machine_id(connection, new.machine)
    return find_or_make(connection, t.run, facts, commit_id=commit, machine_id=machine, key=new.key)[0]


def _machine_id(connection: Connection, machine: Machine) -> int:
    facts = {"cpu": machine.cpu, "cores": machine.cores, "os": machine.os, "python": machine.python}
    return find_or_make(connection, t.machine, facts, fingerprint=machine.fingerprint)[0]


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
    connection.execute(insert(t.result), rows)


def _benchmark_ids(connection: Connection, project: int, benchmarks: Sequence[Benchmark]) -> dict[Benchmark, int]:
    """The ids of benchmarks of a project; those that it has not are made."""
    asked = {_identity(benchmark): benchmark for benchmark in benchmarks}
    names = sorted({benchmark.name for benchmark in benchmarks})
    columns = t.benchmark.c.id, *(t.benchmark.c[name] for name in _IDENTITY)
    of_project = select(*columns).where(t.benchmark.c.project_id == project)
    found = {}
    for at in range(0, len(names), _NAMES_AT_ONCE):
        query = of_project.where(t.benchmark.c.name.in_(names[at : at + _NAMES_AT_ONCE]))
        for id, *values in connection.execute(query):
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
