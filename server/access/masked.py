"""A lab as those see it who have a link to a page: one project, read alone, and masked whatever its rules say."""

import dataclasses
from functools import lru_cache

from pydantic import TypeAdapter

from perflab.benchmarks.gate import GateOptions
from perflab.profiler.importers.findings import Findings
from perflab.profiler.importers.privacy import Mask, masked, masked_file_name
from perflab.profiler.trace import Trace as FullTrace

from ..lab import DEFAULTS, RECENT_TRACES, LocalLab
from ..schema import Commit, CommitComparison, CommitFacts, Judgement, Recent, Run, RunDetail, Series, Trace
from .narrowed import NarrowedLab

COMPARISON = TypeAdapter(CommitComparison)


class MaskedLab(LocalLab):
    """What the pages that can be shared ask of a lab, masked. Nothing else is here: the store is out of reach."""

    def __init__(self, lab: LocalLab) -> None:
        self._lab = lab
        self._masked = lru_cache(RECENT_TRACES)(lambda id: _masked_trace(lab, id))

    def run(self, id: int) -> RunDetail:
        found = self._lab.run(id)
        return dataclasses.replace(found, run=_run(found.run))

    def details(self, project: str, commit: str) -> list[RunDetail]:
        return [dataclasses.replace(found, run=_run(found.run)) for found in self._lab.details(project, commit)]

    def trace(self, id: int) -> Trace:
        return _trace(self._lab.trace(id))

    def read_trace(self, id: int) -> FullTrace:
        return self._masked(id)

    def series(
        self, project: str, benchmark: str | None = None, machine: str | None = None, params: str | None = None
    ) -> list[Series]:
        return self._lab.series(project, benchmark, machine, params)  # its machines have no names

    def recent(self, project: str, newest: int) -> Recent:
        return self._lab.recent(project, newest)

    def state(self) -> object:
        return self._lab.state()

    def commits(self, project: str) -> list[CommitFacts]:
        return [dataclasses.replace(facts, subject=Mask().text(facts.subject)) for facts in self._lab.commits(project)]

    def commit(self, commit: str, project: str | None = None) -> Commit:
        return self._lab.commit(commit, project)

    def compare(
        self, base: str, head: str, project: str | None = None, options: GateOptions = DEFAULTS
    ) -> CommitComparison:
        found = self._lab.compare(base, head, project, options)
        told = COMPARISON.validate_python(Mask().value(COMPARISON.dump_python(found, mode="json")))
        return dataclasses.replace(
            told,
            base_trace=found.base_trace and _trace(found.base_trace),
            head_trace=found.head_trace and _trace(found.head_trace),
        )


class SharedLab(NarrowedLab):
    """One project of a masked lab, without its lists of runs and gates: a page that is shared leads to no other."""

    def __init__(self, lab: MaskedLab, project: str) -> None:
        super().__init__(lab, project)

    def runs(
        self, project: str | None = None, commit: str | None = None, branch: str | None = None, limit: int = 100
    ) -> list[Run]:
        return []

    def judgements(self, project: str | None = None, limit: int = 100) -> list[Judgement]:
        return []


def _run(run: Run) -> Run:
    return dataclasses.replace(
        run,
        machine=dataclasses.replace(run.machine, name=""),
        traces=tuple(_trace(trace) for trace in run.traces),
    )


def _trace(trace: Trace) -> Trace:
    if trace.masked:
        return trace
    return dataclasses.replace(
        trace, masked=True, name=masked_file_name(trace.name), summary=Mask().value(trace.summary)
    )


def _masked_trace(lab: LocalLab, id: int) -> FullTrace:
    return masked(lab.read_trace(id), Findings())
