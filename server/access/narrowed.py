"""A lab as a caller sees it who may see one project of it, and how that stands."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import BinaryIO

from perflab.benchmarks.gate import GateOptions, GateReport
from perflab.profiler.trace import Trace as FullTrace

from ..errors import Forbidden, NotFound
from ..glances import Glance, Glances
from ..lab import DEFAULTS, LocalLab, Progress, silent
from ..schema import (
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


class NarrowedLab(LocalLab):
    """Everything that is asked of a lab, answered for one project: what is of others is not there.

    Each of LocalLab's methods stands here. One that does not fails, since the store is out of reach.
    """

    def __init__(self, lab: LocalLab, project: str) -> None:
        self._lab = lab
        self._project = project

    def upload(self, path: Path, label: Label, progress: Progress = silent) -> Upload:
        return self._lab.upload(path, self._own(label), progress)

    def upload_stream(self, stream: BinaryIO, label: Label) -> Upload:
        return self._lab.upload_stream(stream, self._own(label))

    def projects(self) -> list[Project]:
        return [project for project in self._lab.projects() if project.name == self._project]

    def runs(
        self, project: str | None = None, commit: str | None = None, branch: str | None = None, limit: int = 100
    ) -> list[Run]:
        return self._lab.runs(self._project, commit, branch, limit) if self._is_ours(project) else []

    def run(self, id: int) -> RunDetail:
        found = self._lab.run(id)
        if found.run.project != self._project:
            raise NotFound(f"the lab has no run {id}; list the runs it has")
        return found

    def details(self, project: str, commit: str) -> list[RunDetail]:
        self._check(project)
        return self._lab.details(project, commit)

    def trace(self, id: int) -> Trace:
        found = self._lab.trace(id)
        if self._lab.run(found.run).run.project != self._project:
            raise NotFound(f"the lab has no trace {id}; list the runs and their traces")
        return found

    def trace_file(self, id: int) -> BinaryIO:
        return self._lab.trace_file(self.trace(id).id)

    def read_trace(self, id: int) -> FullTrace:
        return self._lab.read_trace(self.trace(id).id)

    def benchmarks(self, project: str | None = None) -> list[ProjectBenchmark]:
        return self._lab.benchmarks(self._project) if self._is_ours(project) else []

    def series(
        self, project: str, benchmark: str | None = None, machine: str | None = None, params: str | None = None
    ) -> list[Series]:
        self._check(project)
        return self._lab.series(project, benchmark, machine, params)

    def recent(self, project: str, newest: int) -> Recent:
        self._check(project)
        return self._lab.recent(project, newest)

    def state(self) -> object:
        return self._lab.state()

    def compare(
        self, base: str, head: str, project: str | None = None, options: GateOptions = DEFAULTS
    ) -> CommitComparison:
        self._check(project)
        return self._lab.compare(base, head, self._project, options)

    def compare_runs(self, base: int, head: int, options: GateOptions = DEFAULTS) -> CommitComparison:
        for id in (base, head):
            self.run(id)  # raises NotFound where it is of another project
        return self._lab.compare_runs(base, head, options)

    def describe(self, project: str, facts: Sequence[CommitFacts]) -> int:
        if project.strip() != self._project:
            raise self._forbidden(project)
        return self._lab.describe(project, facts)

    def commits(self, project: str) -> list[CommitFacts]:
        self._check(project)
        return self._lab.commits(project)

    def keep_judgement(self, project: str, report: GateReport) -> Judgement:
        if project.strip() != self._project:
            raise self._forbidden(project)
        return self._lab.keep_judgement(project, report)

    def judgements(self, project: str | None = None, limit: int = 100) -> list[Judgement]:
        return self._lab.judgements(self._project, limit) if self._is_ours(project) else []

    def judgement(self, id: int) -> JudgementDetail:
        found = self._lab.judgement(id)
        if found.judgement.project != self._project:
            raise NotFound(f"the lab has no judgement {id}; list what gates came to")
        return found

    def ask(
        self, query: str, project: str | None = None, commits: str | None = None, trace: int | None = None
    ) -> Answer:
        return self.answer(Question(query=query, project=project, commits=commits, trace=trace))

    def answer(self, question: Question, stop: Event | None = None) -> Answer:
        self._check(question.project)
        if question.trace is not None:
            self.trace(question.trace)
        return self._lab.answer(dataclasses.replace(question, project=self._project), stop)

    def commit(self, commit: str, project: str | None = None) -> Commit:
        self._check(project)
        return self._lab.commit(commit, self._project)

    def close(self) -> None:
        """Nothing: the lab belongs to the server."""

    def _own(self, label: Label) -> Label:
        """The label of an upload to the project, which goes before what the file says."""
        said = label.said.project
        if said is not None and said.strip() != self._project:
            raise self._forbidden(said)
        return dataclasses.replace(label, said=dataclasses.replace(label.said, project=self._project))

    def _is_ours(self, project: str | None) -> bool:
        return project is None or project == self._project

    def _check(self, project: str | None) -> None:
        if project is not None and project != self._project:
            raise _no_project(project)

    def _forbidden(self, project: str) -> Forbidden:
        return Forbidden(f"the token is for project {self._project} and this is of {project[:60]}; use another token")


class NarrowedGlances(Glances):
    """How one project stands; the others are not there."""

    def __init__(self, glances: Glances, project: str) -> None:
        self._glances = glances
        self._project = project

    def of(self, project: str) -> Glance:
        if project != self._project:
            raise _no_project(project)
        return self._glances.of(project)


def _no_project(project: str) -> NotFound:
    return NotFound(f"the lab has no project {project}; list the projects it has")
