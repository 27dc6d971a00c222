"""A lab as its users see it, wherever it is: `LocalLab` over a store and blobs, `Client` (client.py) over HTTP."""

import contextlib
import io
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from threading import Event
from typing import BinaryIO, Protocol, Self

from pydantic import TypeAdapter

from perflab.benchmarks.gate import GateOptions, GateReport
from perflab.benchmarks.report import headline
from perflab.profiler import columns_file, importers
from perflab.profiler.errors import TraceFormatError
from perflab.profiler.trace import Trace as FullTrace

from .ask import ask_lab
from .blobs import Blobs, open_blobs
from .compare import compare
from .errors import Refused
from .ingest import ingest, short_name
from .queueing import upload_queued
from .schema import (
    UNMASKED,
    Answer,
    Commit,
    CommitComparison,
    CommitFacts,
    Judgement,
    JudgementDetail,
    Label,
    Project,
    ProjectBenchmark,
    Question,
    Recent,
    Run,
    RunDetail,
    Series,
    Trace,
    Upload,
)
from .settings import Settings
from .sha import sha_prefix
from .store import Store
from .trace_files import TraceFiles

Progress = Callable[[int, int], None]
DEFAULTS = GateOptions()
RECENT_TRACES = 4
REPORT = TypeAdapter(GateReport)


def silent(done: int, total: int) -> None:
    """Shows no progress."""


class _Counted(io.FileIO):
    """A file that tells how much of it was read."""

    def __init__(self, path: Path, progress: Progress) -> None:
        super().__init__(path)
        self._progress = progress
        self._size = path.stat().st_size

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(-1 if size is None else size)
        self._progress(self.tell(), self._size)
        return data


def open_upload(path: Path, progress: Progress) -> BinaryIO:
    """A file that is to be uploaded; raises Refused where it cannot be read."""
    try:
        return _Counted(path, progress)
    except OSError as error:
        raise Refused(f"{path} cannot be read ({error.strerror}); name a trace or a benchmark file") from error


class Lab(Protocol):
    """What can be asked of a lab. Commits are named by at least 7 digits of their SHA.

    Raises Refused for what cannot be taken, NotFound for what is not there, Ambiguous for a name of several things.
    """

    def upload(self, path: Path, label: Label, progress: Progress = silent) -> Upload:
        """Take in a trace or benchmark file; `progress` is told how many bytes of how many have gone."""
        ...

    def projects(self) -> list[Project]:
        """Every project, by name."""
        ...

    def runs(
        self, project: str | None = None, commit: str | None = None, branch: str | None = None, limit: int = 100
    ) -> list[Run]:
        """The newest runs first."""
        ...

    def run(self, id: int) -> RunDetail:
        """One run with its results."""
        ...

    def trace(self, id: int) -> Trace:
        """One trace's summary."""
        ...

    def trace_file(self, id: int) -> BinaryIO:
        """The bytes of a trace as they were uploaded."""
        ...

    def read_trace(self, id: int) -> FullTrace:
        """A trace with all its events."""
        ...

    def benchmarks(self, project: str | None = None) -> list[ProjectBenchmark]:
        """The benchmarks that have results, by project and name."""
        ...

    def series(
        self, project: str, benchmark: str | None = None, machine: str | None = None, params: str | None = None
    ) -> list[Series]:
        """The series of all benchmarks or of those of that name and parameters (`batch=64, size=1`), one for each
        machine, or for that of a fingerprint."""
        ...

    def compare(
        self, base: str, head: str, project: str | None = None, options: GateOptions = DEFAULTS
    ) -> CommitComparison:
        """Judge the results of commit `head` against those of `base`, and compare their traces."""
        ...

    def describe(self, project: str, facts: Sequence[CommitFacts]) -> int:
        """Keep what git says of commits; how many of them the lab has runs of."""
        ...

    def commits(self, project: str) -> list[CommitFacts]:
        """What git said of the commits of a project."""
        ...

    def keep_judgement(self, project: str, report: GateReport) -> Judgement:
        """Keep what a gate came to."""
        ...

    def judgements(self, project: str | None = None, limit: int = 100) -> list[Judgement]:
        """What gates came to, the newest first."""
        ...

    def judgement(self, id: int) -> JudgementDetail:
        """What one gate came to, with its report."""
        ...

    def ask(
        self, query: str, project: str | None = None, commits: str | None = None, trace: int | None = None
    ) -> Answer:
        """The answer to one SELECT over the lab, the runs of a project and of commits (`A..B`), or one trace; see
        docs/sql.md."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


def _events(blobs: Blobs, derived: str) -> FullTrace:
    if columns := blobs.open_derived(derived):
        with columns, contextlib.suppress(TraceFormatError):  # written by another version
            return columns_file.load(columns)
    with blobs.open(derived.removesuffix(UNMASKED)) as file:
        trace = importers.read(file, mask=not derived.endswith(UNMASKED)).trace
    blobs.keep_derived(derived, lambda file: columns_file.save(trace, file))
    return trace


class LocalLab:
    """A lab in this process."""

    def __init__(self, store: Store, blobs: Blobs, *, queued: bool = False) -> None:
        """With `queued`, workers read uploaded traces, and an upload waits for them."""
        self._queued = queued
        self._store = store
        self._blobs = blobs
        # Reading a large trace takes seconds, and who looks at one of its steps looks at the next.
        self._recent = lru_cache(RECENT_TRACES)(lambda derived: _events(blobs, derived))
        self._files = TraceFiles(blobs, lambda derived: _events(blobs, derived))

    @classmethod
    def open(cls, settings: Settings, *, create: bool) -> Self:
        """The embedded lab of these settings, made where there is none and `create` is true; raises LabRefused."""
        blobs = open_blobs(settings)
        return cls(Store.open(settings, create=create), blobs)

    def upload(self, path: Path, label: Label, progress: Progress = silent) -> Upload:
        with open_upload(path, progress) as file:
            return self.upload_stream(file, label)

    def upload_stream(self, stream: BinaryIO, label: Label) -> Upload:
        """As `upload`, from an open file."""
        if self._queued:
            return upload_queued(self._store, self._blobs, stream, label)
        return ingest(self._store, self._blobs, stream, label)

    def projects(self) -> list[Project]:
        return self._store.projects()

    def runs(
        self, project: str | None = None, commit: str | None = None, branch: str | None = None, limit: int = 100
    ) -> list[Run]:
        sha = None if commit is None else self.commit(commit, project).sha
        return self._store.runs(project=project, commit=sha, branch=branch, limit=limit)

    def run(self, id: int) -> RunDetail:
        return self._store.run(id)

    def details(self, project: str, commit: str) -> list[RunDetail]:
        """Every run of a commit (its whole SHA), oldest first, with its results."""
        return self._store.details(project, commit)

    def trace(self, id: int) -> Trace:
        return self._store.trace(id)

    def trace_file(self, id: int) -> BinaryIO:
        return self._blobs.open(self._store.trace(id).sha256)

    def read_trace(self, id: int) -> FullTrace:
        return self._recent(self._store.trace(id).derived)

    def benchmarks(self, project: str | None = None) -> list[ProjectBenchmark]:
        return self._store.benchmarks(project)

    def series(
        self, project: str, benchmark: str | None = None, machine: str | None = None, params: str | None = None
    ) -> list[Series]:
        return self._store.series(project, benchmark, machine, params)

    def recent(self, project: str, newest: int) -> Recent:
        """The newest commits of a project, oldest first, and the series of what was measured at them."""
        return self._store.recent(project, newest)

    def state(self) -> object:
        """Equal as long as nothing comes to the lab."""
        return self._store.state()

    def compare(
        self, base: str, head: str, project: str | None = None, options: GateOptions = DEFAULTS
    ) -> CommitComparison:
        asked = sha_prefix(base)
        head_commit = self.commit(head, project)
        base_commit = self._store.commit(asked, head_commit.project)
        first, second = ((side, self._store.details(side.project, side.sha)) for side in (base_commit, head_commit))
        return compare(first, second, options, self.read_trace)

    def compare_runs(self, base: int, head: int, options: GateOptions = DEFAULTS) -> CommitComparison:
        """As `compare`, of two runs alone."""
        first, second = (
            (Commit(project=detail.run.project, sha=detail.run.commit), [detail])
            for detail in (self.run(base), self.run(head))
        )
        return compare(first, second, options, self.read_trace)

    def describe(self, project: str, facts: Sequence[CommitFacts]) -> int:
        return self._store.describe(project, facts)

    def commits(self, project: str) -> list[CommitFacts]:
        return self._store.commits(project)

    def keep_judgement(self, project: str, report: GateReport) -> Judgement:
        return self._store.add_judgement(
            short_name("project", project, 200),
            REPORT.dump_python(report, mode="json"),
            base=report.base.commit,
            head=report.head.commit,
            created=datetime.now(UTC),
            exit_code=int(report.exit_code),
            headline=headline(report),
        )

    def judgements(self, project: str | None = None, limit: int = 100) -> list[Judgement]:
        return self._store.judgements(project, limit)

    def judgement(self, id: int) -> JudgementDetail:
        found, report = self._store.judgement(id)
        return JudgementDetail(judgement=found, report=REPORT.validate_python(report))

    def ask(
        self, query: str, project: str | None = None, commits: str | None = None, trace: int | None = None
    ) -> Answer:
        return self.answer(Question(query=query, project=project, commits=commits, trace=trace))

    def answer(self, question: Question, stop: Event | None = None) -> Answer:
        """As `ask`; raises QuestionStopped once `stop` is set."""
        return ask_lab(self, self._files, question, stop)

    def close(self) -> None:
        self._store.close()

    def commit(self, commit: str, project: str | None = None) -> Commit:
        """The commit whose SHA begins so."""
        return self._store.commit(sha_prefix(commit), project)
