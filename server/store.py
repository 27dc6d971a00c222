"""The queries of the service. Those of runs are in runs.py, of series in series.py, of what waits in jobs.py, of what
stays in keeping.py, of who may ask in access/register.py; what leaves them are dataclasses, mostly schema.py's."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, fields
from typing import Any

from sqlalchemy import Connection, Engine, func, select, update
from sqlalchemy.sql.elements import ColumnElement

from perflab.benchmarks.machine import Machine
from perflab.benchmarks.result import Benchmark

from . import tables as t
from .access.register import Register
from .arrival import Arrival
from .database import open_engine, reading, share_files, writing
from .errors import Ambiguous, NotFound
from .jobs import Jobs
from .keeping import Keeping
from .rows import add_upload, id_of, insert_row
from .runs import benchmark_of, machine_of, read_results, read_runs, read_traces
from .schema import (
    Commit,
    CommitFacts,
    Judgement,
    Project,
    ProjectBenchmark,
    Recent,
    Run,
    RunDetail,
    Series,
    Trace,
    Upload,
)
from .series import FACTS, facts_of, read_recent, read_series
from .settings import Settings

LARGEST_ID = 2**63 - 1
RESULTS = (
    t.result.join(t.benchmark)
    .join(t.project, t.benchmark.c.project_id == t.project.c.id)
    .join(t.upload, t.result.c.upload_id == t.upload.c.id)
    .join(t.run, t.upload.c.run_id == t.run.c.id)
    .join(t.machine, t.run.c.machine_id == t.machine.c.id)
)


class Store:
    """The rows of one lab. Safe to share between threads; each call is one transaction."""

    def __init__(self, engine: Engine) -> None:
        """Read and write through `engine`, which `database.open_engine` made."""
        self._engine = engine

    @classmethod
    def open(cls, settings: Settings, *, create: bool) -> "Store":
        """The store of the lab of these settings, made where there is none and `create` is true; raises LabRefused."""
        return cls(open_engine(settings, create=create))

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    @property
    def register(self) -> Register:
        """The lab's tokens and audit log."""
        return Register(self._engine)

    @property
    def jobs(self) -> Jobs:
        """The traces that wait for a worker."""
        return Jobs(self._engine)

    @property
    def keeping(self) -> Keeping:
        """The rules of what stays, and the removal of the rest."""
        return Keeping(self._engine)

    def _read(self) -> AbstractContextManager[Connection]:
        return reading(self._engine)

    def _write(self) -> AbstractContextManager[Connection]:
        return writing(self._engine)

    # Writing

    def add(self, new: Arrival, keep: Callable[[], None]) -> Upload:
        """Add an upload's rows in one transaction; adding the same file to the same run again changes nothing.

        `keep` is called once the rows stand and before they are committed: when it fails, nothing is written.
        """
        with self._write() as connection:
            share_files(connection)
            upload = add_upload(connection, new)
            keep()
        return upload

    def add_judgement(self, project: str, report: dict[str, Any], **facts: Any) -> Judgement:
        """Keep a gate's report, as JSON, with the columns of its row."""
        with self._write() as connection:
            of = id_of(connection, t.project, name=project)
            id = insert_row(connection, t.judgement, project_id=of, report=report, **facts)
        return Judgement(id=id, project=project, **facts)

    def describe(self, project: str, facts: Sequence[CommitFacts]) -> int:
        """Keep what git says of commits; how many of them there are."""
        with self._write() as connection:
            of = select(t.project.c.id).where(t.project.c.name == project).scalar_subquery()
            return sum(
                connection.execute(
                    update(t.commit)
                    .where(t.commit.c.project_id == of, t.commit.c.sha == each.sha)
                    .values({name: value for name, value in asdict(each).items() if name != "sha"})
                ).rowcount
                for each in facts
            )

    # Reading

    def commits(self, project: str) -> list[CommitFacts]:
        """What git said of the commits of a project."""
        query = select(*FACTS).join(t.project).where(t.project.c.name == project, t.commit.c.subject.is_not(None))
        with self._read() as connection:
            return [found for row in connection.execute(query.order_by(t.commit.c.id)) if (found := facts_of(row))]

    def judgements(self, project: str | None, limit: int) -> list[Judgement]:
        """The newest first."""
        with self._read() as connection:
            return [
                each for each, _ in _judgements(connection, t.project.c.name == project if project else None, limit)
            ]

    def judgement(self, id: int) -> tuple[Judgement, dict[str, Any]]:
        """One with its report; raises NotFound."""
        with self._read() as connection:
            for found in _judgements(connection, t.judgement.c.id == id, 1) if abs(id) <= LARGEST_ID else []:
                return found
        raise NotFound(f"the lab has no judgement {id}; list what gates came to")

    def projects(self) -> list[Project]:
        """Every project, by name."""
        query = (
            select(t.project.c.name, func.count(t.run.c.id), func.max(t.run.c.created))
            .select_from(t.project.join(t.commit).join(t.run, t.run.c.commit_id == t.commit.c.id))
            .group_by(t.project.c.name)
            .order_by(t.project.c.name)
        )
        with self._read() as connection:
            return [Project(name=name, runs=runs, latest=latest) for name, runs, latest in connection.execute(query)]

    def commit(self, prefix: str, project: str | None = None) -> Commit:
        """The commit whose SHA begins with `prefix` (lower case hex); raises NotFound, Ambiguous."""
        query = (
            select(t.project.c.name, t.commit.c.sha)
            .select_from(t.commit.join(t.project))
            .where(t.commit.c.sha.startswith(prefix, autoescape=True))
            .order_by(t.project.c.name, t.commit.c.sha)
        )
        if project is not None:
            query = query.where(t.project.c.name == project)
        with self._read() as connection:
            found = [Commit(project=name, sha=sha) for name, sha in connection.execute(query.limit(5))]
        if not found:
            where = "the lab" if project is None else f"project {project}"
            raise NotFound(f"{where} has no run of commit {prefix}; upload one, or look at the runs it has")
        if len(found) > 1:
            listed = ", ".join(f"{commit.sha} in {commit.project}" for commit in found)
            raise Ambiguous(f"commit {prefix} could be {listed}; give more digits, or name the project")
        return found[0]

    def runs(
        self, *, project: str | None = None, commit: str | None = None, branch: str | None = None, limit: int = 100
    ) -> list[Run]:
        """The newest runs first. `commit` is a whole SHA."""
        conditions = [
            column == value
            for column, value in ((t.project.c.name, project), (t.commit.c.sha, commit), (t.branch.c.name, branch))
            if value is not None
        ]
        with self._read() as connection:
            return read_runs(connection, conditions, limit)

    def run(self, id: int) -> RunDetail:
        """One run with its results; raises NotFound."""
        with self._read() as connection:
            runs = read_runs(connection, [t.run.c.id == id], 1) if abs(id) <= LARGEST_ID else []
            if not runs:
                raise NotFound(f"the lab has no run {id}; list the runs it has")
            return RunDetail(run=runs[0], results=read_results(connection, [id])[id])

    def details(self, project: str, commit: str) -> list[RunDetail]:
        """Every run of a commit (its whole SHA), oldest first, with its results."""
        with self._read() as connection:
            runs = read_runs(connection, [t.project.c.name == project, t.commit.c.sha == commit], None)
            results = read_results(connection, [run.id for run in runs])
        return [RunDetail(run=run, results=results[run.id]) for run in reversed(runs)]

    def trace(self, id: int) -> Trace:
        """One trace; raises NotFound."""
        with self._read() as connection:
            found = read_traces(connection, t.trace.c.id == id) if abs(id) <= LARGEST_ID else {}
        for traces in found.values():
            return traces[0]
        raise NotFound(f"the lab has no trace {id}; list the runs and their traces")

    def benchmarks(self, project: str | None = None) -> list[ProjectBenchmark]:
        """The benchmarks that have results, by project and name."""
        query = (
            select(
                t.project.c.name.label("project"), t.benchmark, t.machine, func.count(t.result.c.id).label("results")
            )
            .select_from(RESULTS)
            .group_by(t.project.c.name, t.benchmark.c.id, t.machine.c.id)
            .order_by(t.project.c.name, t.benchmark.c.name, t.benchmark.c.params, t.benchmark.c.id, t.machine.c.id)
        )
        if project is not None:
            query = query.where(t.project.c.name == project)
        groups: defaultdict[tuple[str, Benchmark], list[tuple[Machine, int]]] = defaultdict(list)
        with self._read() as connection:
            for row in connection.execute(query):
                groups[row.project, benchmark_of(row)].append((machine_of(row, ""), row.results))
        return [
            ProjectBenchmark(
                project=name,
                benchmark=benchmark,
                machines=tuple(machine for machine, _ in counts),
                results=sum(count for _, count in counts),
            )
            for (name, benchmark), counts in groups.items()
        ]

    def series(
        self, project: str, benchmark: str | None = None, machine: str | None = None, params: str | None = None
    ) -> list[Series]:
        """The series of all benchmarks or of those of that name and parameters, one for each machine, or for that of a
        fingerprint."""
        with self._read() as connection:
            return read_series(connection, project, benchmark, machine, params)

    def recent(self, project: str, newest: int) -> Recent:
        """The newest commits of a project and the series of what was measured at them."""
        with self._read() as connection:
            return read_recent(connection, project, newest)

    def state(self) -> tuple[int, ...]:
        """Changes whenever an upload, a judgement or facts of a commit come: what was made of the lab before is old."""
        columns = func.max(t.upload.c.id), func.max(t.judgement.c.id), func.count(t.commit.c.subject)
        with self._read() as connection:
            return tuple(connection.scalar(select(column)) or 0 for column in columns)


def _judgements(
    connection: Connection, condition: ColumnElement[bool] | None, limit: int
) -> list[tuple[Judgement, dict[str, Any]]]:
    query = (
        select(t.judgement, t.project.c.name.label("project"))
        .select_from(t.judgement.join(t.project))
        .order_by(t.judgement.c.created.desc(), t.judgement.c.id.desc())
        .limit(limit)
    )
    names = [field.name for field in fields(Judgement)]
    return [
        (Judgement(**{name: getattr(row, name) for name in names}), row.report)
        for row in connection.execute(query if condition is None else query.where(condition))
    ]
