"""Questions in SQL over a lab: what its tables hold, and which of its runs and traces a question reaches."""

import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from perflab.profiler.errors import QueryError
from perflab.profiler.sql import tables_in
from perflab.profiler.sql_process import ask
from perflab.profiler.trace_tables import Columns

from .errors import NotFound, Refused
from .order import ancestors_first
from .schema import Answer, Question, Run, Series, Trace
from .trace_files import TraceFiles

if TYPE_CHECKING:
    from .lab import LocalLab

MOST_TRACES = 5_000
MOST_RUNS = 1_000_000
_SERIES = ("project", "benchmark", "params", "unit", "direction", "fingerprint")
# The columns of each.
LAB_TABLES = {
    "traces": ("trace", "name", "run", "project", "commit", "bytes", "verdict"),
    "runs": (
        *("run", "project", "commit", "branch", "machine", "fingerprint"),
        *("created", "tool", "dirty", "traces", "results"),
    ),
    "commits": ("project", "commit", "place", "first_run", "runs"),
    "results": (*_SERIES, "run", "commit", "created", "samples", "minimum", "median"),
    "series": (*_SERIES, "results", "commits", "latest"),
}


def ask_lab(lab: "LocalLab", files: TraceFiles, question: Question, stop: Event | None = None) -> Answer:
    """The answer to one SELECT; raises Refused, and QuestionStopped once `stop` is set."""
    runs, traces = _reached(lab, question)
    words = set(re.findall(r"\w+", question.query.lower()))
    made: dict[str, Callable[[], Columns]] = {
        "runs": lambda: _runs(runs),
        "commits": lambda: _commits(lab, runs),
        "traces": lambda: _traces(runs, traces),
        "results": lambda: _results(_series(lab, runs), {run.id for run in runs}),
        "series": lambda: _series_table(_series(lab, runs)),
    }
    tables = {name: make() for name, make in made.items() if name in words}
    mentioned = tables_in(question.query)
    if mentioned and len(traces) > MOST_TRACES:
        raise Refused(
            f"the question reaches {len(traces):,} traces; name a project and commits with at most {MOST_TRACES:,}"
        )
    names = {trace.id: trace.derived for trace in traces}
    with tempfile.TemporaryDirectory(prefix="perflab-sql-") as scratch:
        parquet = {table: files.paths(names, table, Path(scratch), stop) for table in sorted(mentioned)}
        try:
            answer = ask(question.query, tables=tables, parquet=parquet, stop=stop)
        except QueryError as error:
            raise Refused(str(error)) from error
    return Answer(**asdict(answer))


def _reached(lab: "LocalLab", question: Question) -> tuple[Sequence[Run], Sequence[Trace]]:
    """The runs that a question reaches, newest first, and their traces."""
    if question.trace is not None:
        trace = lab.trace(question.trace)
        return [lab.run(trace.run).run], [trace]
    runs = _of_commits(lab, question.project, question.commits)
    return runs, [trace for run in runs for trace in run.traces]


def _of_commits(lab: "LocalLab", project: str | None, commits: str | None) -> Sequence[Run]:
    """The runs of all commits, of one, or of a range `A..B`: those after A, up to B; either may be left out."""
    if commits is None:
        return lab.runs(project, limit=MOST_RUNS)
    first, dots, last = commits.partition("..")
    if not dots:
        return lab.runs(project, commits, limit=MOST_RUNS)
    ends = [lab.commit(end, project) for end in (first, last) if end]
    if len({end.project for end in ends} | ({project} if project else set())) != 1:
        raise Refused(f"the commits {commits} are of several projects or none; name the project")
    only = project or ends[0].project
    runs = lab.runs(only, limit=MOST_RUNS)
    order = list(_in_order(lab, runs).get(only, {}))
    begin = order.index(ends[0].sha) + 1 if first else 0
    end = order.index(ends[-1].sha) + 1 if last else len(order)
    if begin > end:
        raise Refused(f"of {commits} the first comes after the last; turn them round")
    within = set(order[begin:end])
    return [run for run in runs if run.commit in within]


def _in_order(lab: "LocalLab", runs: Sequence[Run]) -> dict[str, dict[str, list[Run]]]:
    """By project and commit; each commit stands after its ancestors, or else in the order of their first runs."""
    found: defaultdict[str, dict[str, list[Run]]] = defaultdict(dict)
    for run in reversed(runs):
        found[run.project].setdefault(run.commit, []).append(run)
    ordered = {}
    for project, commits in found.items():
        behind = {told.sha: told.behind for told in lab.commits(project) if told.behind is not None}
        ordered[project] = {commit: commits[commit] for commit in ancestors_first(commits, behind)}
    return ordered


def _columns(rows: list[dict[str, Any]], table: str) -> Columns:
    """By the name of the column, so that a table without rows has them too."""
    return {name: [row[name] for row in rows] for name in LAB_TABLES[table]}


def _runs(runs: Sequence[Run]) -> Columns:
    rows = [
        {
            "run": run.id,
            "project": run.project,
            "commit": run.commit,
            "branch": run.branch,
            "machine": run.machine.name or str(run.machine),
            "fingerprint": run.machine.fingerprint,
            "created": run.created.isoformat(),
            "tool": run.tool,
            "dirty": run.dirty,
            "traces": len(run.traces),
            "results": run.results,
        }
        for run in runs
    ]
    return _columns(rows, "runs")


def _commits(lab: "LocalLab", runs: Sequence[Run]) -> Columns:
    rows = [
        {
            "project": project,
            "commit": commit,
            "place": place,
            "first_run": of[0].created.isoformat(),
            "runs": len(of),
        }
        for project, commits in _in_order(lab, runs).items()
        for place, (commit, of) in enumerate(commits.items())
    ]
    return _columns(rows, "commits")


def _traces(runs: Sequence[Run], traces: Sequence[Trace]) -> Columns:
    by_id = {run.id: run for run in runs}
    rows = [
        {
            "trace": trace.id,
            "run": trace.run,
            "project": by_id[trace.run].project,
            "commit": by_id[trace.run].commit,
            "name": trace.name,
            "bytes": trace.bytes,
            "verdict": trace.summary.get("health", {}).get("verdict"),
        }
        for trace in traces
    ]
    return _columns(rows, "traces")


def _series(lab: "LocalLab", runs: Sequence[Run]) -> list[Series]:
    found: list[Series] = []
    for project in sorted({run.project for run in runs}):
        with suppress(NotFound):  # it has traces alone
            found += lab.series(project)
    return found


def _of_series(series: Series) -> dict[str, Any]:
    benchmark = series.benchmark
    return {
        "project": series.project,
        "benchmark": benchmark.name,
        "params": json.dumps(dict(benchmark.params), sort_keys=True),
        "unit": benchmark.unit,
        "direction": benchmark.direction,
        "fingerprint": series.machine.fingerprint,
    }


def _results(series: list[Series], runs: set[int]) -> Columns:
    rows = [
        {
            **_of_series(each),
            "run": point.run,
            "commit": point.commit,
            "created": point.created.isoformat(),
            "samples": point.samples,
            "minimum": point.minimum,
            "median": point.median,
        }
        for each in series
        for point in each.points
        if point.run in runs
    ]
    return _columns(rows, "results")


def _series_table(series: list[Series]) -> Columns:
    rows = [
        {
            **_of_series(each),
            "results": len(each.points),
            "commits": len({point.commit for point in each.points}),
            "latest": each.points[-1].median,
        }
        for each in series
    ]
    return _columns(rows, "series")
