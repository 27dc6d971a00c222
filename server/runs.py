"""Reads runs with their traces and results."""

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, func, select
from sqlalchemy.sql.elements import ColumnElement

from perflab.benchmarks.machine import Machine
from perflab.benchmarks.result import Benchmark, Result

from . import tables as t
from .schema import Run, Trace


def read_runs(connection: Connection, conditions: Sequence[ColumnElement[bool]], limit: int | None) -> list[Run]:
    """The newest first, with the number of their results."""
    query: Select[Any] = (
        select(
            t.run,
            t.project.c.name.label("project"),
            t.commit.c.sha,
            t.branch.c.name.label("branch"),
            *(column for column in t.machine.c if column.name != "id"),
        )
        .select_from(
            t.run.join(t.commit)
            .join(t.project, t.commit.c.project_id == t.project.c.id)
            .join(t.machine, t.run.c.machine_id == t.machine.c.id)
            .outerjoin(t.branch, t.run.c.branch_id == t.branch.c.id)
        )
        .where(*conditions)
        .order_by(t.run.c.created.desc(), t.run.c.id.desc())
        .limit(limit)
    )
    rows = connection.execute(query).all()
    ids = select(query.with_only_columns(t.run.c.id).subquery().c.id)  # a statement takes so many values and no more
    traces = read_traces(connection, t.upload.c.run_id.in_(ids))
    count_query = (
        select(t.upload.c.run_id, func.count(t.result.c.id).label("results"))
        .select_from(t.result.join(t.upload))
        .where(t.upload.c.run_id.in_(ids))
        .group_by(t.upload.c.run_id)
    )
    counts = {row.run_id: row.results for row in connection.execute(count_query)}
    return [
        Run(
            id=row.id,
            project=row.project,
            commit=row.sha,
            branch=row.branch,
            machine=machine_of(row, row.host),
            created=row.created,
            uploaded=row.uploaded,
            tool=row.tool,
            dirty=row.dirty,
            environment=row.environment,
            traces=tuple(traces[row.id]),
            results=counts.get(row.id, 0),
        )
        for row in rows
    ]


def read_traces(connection: Connection, condition: ColumnElement[bool]) -> defaultdict[int, list[Trace]]:
    """By the ids of their runs."""
    query = (
        select(t.trace, *(t.upload.c[column] for column in ("run_id", "name", "bytes", "sha256", "masked")))
        .select_from(t.trace.join(t.upload))
        .where(condition)
        .order_by(t.trace.c.id)
    )
    traces: defaultdict[int, list[Trace]] = defaultdict(list)
    for row in connection.execute(query):
        traces[row.run_id].append(
            Trace(
                id=row.id,
                run=row.run_id,
                name=row.name,
                bytes=row.bytes,
                sha256=row.sha256,
                masked=row.masked,
                summary=row.summary,
            )
        )
    return traces


def read_results(connection: Connection, runs: Sequence[int]) -> defaultdict[int, tuple[Result, ...]]:
    """By the ids of their runs, a few of them."""
    query = (
        select(t.upload.c.run_id, t.benchmark, t.result.c.samples)
        .select_from(t.result.join(t.benchmark).join(t.upload, t.result.c.upload_id == t.upload.c.id))
        .where(t.upload.c.run_id.in_(runs))
        .order_by(t.benchmark.c.name, t.benchmark.c.params, t.result.c.id)
    )
    results: defaultdict[int, tuple[Result, ...]] = defaultdict(tuple)
    for row in connection.execute(query):
        results[row.run_id] += (Result(benchmark_of(row), tuple(row.samples)),)
    return results


def machine_of(row: Row[Any], host: str) -> Machine:
    """The machine of a row with its columns."""
    return Machine(row.fingerprint, host, row.cpu, row.cores, row.os, row.python)


def benchmark_of(row: Row[Any]) -> Benchmark:
    """The benchmark of a row with its columns."""
    return Benchmark(row.name, json.loads(row.params), row.unit, row.direction)
