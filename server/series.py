"""Reads series. What they share, runs and benchmarks, is read once; a result is a row of plain numbers."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, func, select

from perflab.benchmarks.machine import Machine
from perflab.dashboards.views import NO_COMMIT

from . import tables as t
from .errors import NotFound
from .order import ancestors_first
from .runs import benchmark_of
from .schema import CommitFacts, Measured, Point, Recent, Series

FACTS = (t.commit.c.sha, *(t.commit.c[name] for name in ("subject", "authored", "behind", "release", "released")))


def facts_of(row: Row[Any]) -> CommitFacts | None:
    """What git said of the commit of a row with these columns."""
    if row.subject is None:
        return None
    return CommitFacts(**{column.name: getattr(row, column.name) for column in FACTS})


def read_series(
    connection: Connection,
    project: str,
    benchmark: str | None = None,
    machine: str | None = None,
    params: str | None = None,
) -> list[Series]:
    """The series of all benchmarks or of those of that name and parameters, one for each machine, or for that of a
    fingerprint.

    Raises:
        NotFound: there is none.
    """
    asked = _benchmarks(project, benchmark)
    if params is not None:
        ids = [row.id for row in connection.execute(asked) if benchmark_of(row).params_text == params]
        asked = asked.where(t.benchmark.c.id.in_(ids))
    measured = (
        select(t.upload.c.run_id)
        .select_from(t.upload.join(t.result, t.result.c.upload_id == t.upload.c.id))
        .where(t.result.c.benchmark_id.in_(asked.with_only_columns(t.benchmark.c.id)))
    )
    runs = _in_order(connection.execute(_runs(project, machine).where(t.run.c.id.in_(measured))).all())
    found = _series(connection, project, runs, None if benchmark is params is None else asked)
    if not found:
        what = "" if benchmark is None else f" of benchmark {benchmark}"
        what += "" if params is None else f" with {params}"
        where = "" if machine is None else f" on machine {machine}"
        raise NotFound(f"project {project} has no results{what}{where}; list the benchmarks that it has")
    return found


def read_recent(connection: Connection, project: str, newest: int) -> Recent:
    """The newest commits of a project and their series; without any where the project has no runs."""
    rows = _in_order(connection.execute(_runs(project, None).where(t.commit.c.sha != NO_COMMIT)).all())
    first: dict[str, Row[Any]] = {}
    for row in rows:
        first.setdefault(row.sha, row)
    shown = dict(list(first.items())[-newest:])
    series = _series(connection, project, [row for row in rows if row.sha in shown])
    known = {each.benchmark for each in series}
    return Recent(
        project=project,
        commits=tuple(
            Measured(sha=sha, branch=row.branch, created=row.created, facts=facts_of(row)) for sha, row in shown.items()
        ),
        series=tuple(series),
        missing=tuple(
            benchmark
            for row in connection.execute(_benchmarks(project, None))
            if (benchmark := benchmark_of(row)) not in known
        ),
    )


def _in_order(rows: Sequence[Row[Any]]) -> list[Row[Any]]:
    """Runs in the order of their commits: each stands where its first run puts it, but among those that git told of
    the ancestors come first."""
    commits: defaultdict[str, list[Row[Any]]] = defaultdict(list)
    for row in rows:
        commits[row.sha].append(row)
    behind = {sha: runs[0].behind for sha, runs in commits.items() if runs[0].behind is not None}
    return [row for sha in ancestors_first(commits, behind) for row in commits[sha]]


def _series(
    connection: Connection, project: str, rows: Sequence[Row[Any]], asked: Select[Any] | None = None
) -> list[Series]:
    """The series of these runs, which stand in the order of their commits; of the benchmarks asked for, or of all."""
    runs = {row.id: (at, row) for at, row in enumerate(rows)}
    found: dict[tuple[int, int], list[tuple[int, Point]]] = defaultdict(list)
    query = (
        select(
            t.upload.c.run_id, t.result.c.benchmark_id, t.result.c.sample_count, t.result.c.minimum, t.result.c.median
        )
        .select_from(t.result.join(t.upload, t.result.c.upload_id == t.upload.c.id))
        # Ids grow with time, so few results of older runs are read in vain.
        .where(t.upload.c.run_id >= min(runs, default=0))
    )
    if asked is not None:
        query = query.where(t.result.c.benchmark_id.in_(asked.with_only_columns(t.benchmark.c.id)))
    for run, of, samples, minimum, median in connection.execute(query):
        if run in runs:
            at, row = runs[run]
            point = Point(
                run=run,
                commit=row.sha,
                branch=row.branch,
                created=row.created,
                samples=samples,
                minimum=minimum,
                median=median,
                dirty=row.dirty,
            )
            found[of, row.on].append((at, point))
    machines = {row.on: row for row in rows}
    return [
        _one(project, row, machines[on], found[row.id, on])
        for row in connection.execute(_benchmarks(project, None) if asked is None else asked)
        for on in sorted(machines)
        if (row.id, on) in found
    ]


def _runs(project: str, machine: str | None) -> Select[Any]:
    """Runs of the project with their machine and commit, by the first run of their commit."""
    first = select(t.run.c.commit_id, func.min(t.run.c.created).label("first")).group_by(t.run.c.commit_id).subquery()
    query = (
        select(
            t.run.c.id,
            t.run.c.created,
            t.run.c.dirty,
            *FACTS,
            t.branch.c.name.label("branch"),
            t.machine.c.id.label("on"),
            t.machine.c.fingerprint,
            t.machine.c.cpu,
            t.machine.c.cores,
            t.machine.c.os,
            t.machine.c.python,
        )
        .select_from(
            t.run.join(t.commit, t.run.c.commit_id == t.commit.c.id)
            .join(t.project, t.commit.c.project_id == t.project.c.id)
            .join(t.machine, t.run.c.machine_id == t.machine.c.id)
            .join(first, first.c.commit_id == t.commit.c.id)
            .outerjoin(t.branch, t.run.c.branch_id == t.branch.c.id)
        )
        .where(t.project.c.name == project)
        .order_by(first.c.first, t.commit.c.id, t.run.c.created, t.run.c.id)
    )
    return query if machine is None else query.where(t.machine.c.fingerprint == machine)


def _benchmarks(project: str, benchmark: str | None) -> Select[Any]:
    query = (
        select(t.benchmark)
        .join(t.project, t.benchmark.c.project_id == t.project.c.id)
        .where(t.project.c.name == project)
        .order_by(t.benchmark.c.name, t.benchmark.c.params, t.benchmark.c.id)
    )
    return query if benchmark is None else query.where(t.benchmark.c.name == benchmark)


def _one(project: str, of: Row[Any], on: Row[Any], points: Sequence[tuple[int, Point]]) -> Series:
    clean = {point.commit for _, point in points if not point.dirty}
    counted = [each for each in points if not each[1].dirty or each[1].commit not in clean]
    return Series(
        project=project,
        benchmark=benchmark_of(of),
        machine=Machine(on.fingerprint, "", on.cpu, on.cores, on.os, on.python),
        points=tuple(point for _, point in sorted(counted, key=lambda it: it[0])),
    )
