"""Questions in SQL over a lab: what its tables hold, and which of its traces a question reaches."""

import json
import re
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, BinaryIO

from perflab.profiler.errors import QueryError
from perflab.profiler.sql import TRACE_TABLES, Columns
from perflab.profiler.sql_process import ask

from .errors import Refused
from .schema import Answer, Run, Series

if TYPE_CHECKING:
    from .lab import LocalLab

MOST_TRACES = 32
MOST_RUNS = 1_000_000
# Columns, so that a table without rows has them too.
_RUN = ("run", "project", "commit", "branch", "machine", "fingerprint", "created", "tool", "dirty", "traces", "results")
_COMMIT = ("project", "commit", "first_run", "runs")
_TRACE = ("trace", "name", "run", "bytes", "verdict")
_SERIES = ("project", "benchmark", "params", "unit", "direction", "fingerprint")


def ask_lab(lab: "LocalLab", query: str, project: str | None, commit: str | None) -> Answer:
    """The answer to one SELECT over the runs of a project and a commit, or of all; raises Refused."""
    words = set(re.findall(r"\w+", query.lower()))
    runs = lab.runs(project, commit, limit=MOST_RUNS)
    made: dict[str, Callable[[], Columns]] = {
        "runs": lambda: _runs(runs),
        "commits": lambda: _commits(runs),
        "traces": lambda: _traces(runs),
        "results": lambda: _results(_series(lab, project), {run.id for run in runs}),
        "series": lambda: _series_table(_series(lab, project)),
    }
    tables = {name: make() for name, make in made.items() if name in words}
    with ExitStack() as stack:
        files: dict[int, BinaryIO] = {}
        if words & set(TRACE_TABLES):
            traces = [trace.id for run in runs for trace in run.traces]
            if len(traces) > MOST_TRACES:
                raise Refused(
                    f"the question reaches {len(traces)} traces; name a project or commit with at most {MOST_TRACES}"
                )
            files = {id: stack.enter_context(lab.trace_file(id)) for id in traces}
        try:
            answer = ask(query, files, tables)
        except QueryError as error:
            raise Refused(str(error)) from error
    return Answer(columns=answer.columns, rows=answer.rows, cut=answer.cut)


def _columns(rows: list[dict[str, Any]], names: tuple[str, ...]) -> Columns:
    return {name: [row[name] for row in rows] for name in names}


def _runs(runs: list[Run]) -> Columns:
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
    return _columns(rows, _RUN)


def _commits(runs: list[Run]) -> Columns:
    """Commits in the order of their first run, each with how many runs it has."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for run in reversed(runs):
        row = rows.setdefault(
            (run.project, run.commit),
            {"project": run.project, "commit": run.commit, "first_run": run.created.isoformat(), "runs": 0},
        )
        row["runs"] += 1
    return _columns(list(rows.values()), _COMMIT)


def _traces(runs: list[Run]) -> Columns:
    rows = [
        {
            "trace": trace.id,
            "run": run.id,
            "name": trace.name,
            "bytes": trace.bytes,
            "verdict": trace.summary.get("health", {}).get("verdict"),
        }
        for run in runs
        for trace in run.traces
    ]
    return _columns(rows, _TRACE)


def _series(lab: "LocalLab", project: str | None) -> list[Series]:
    benchmarks = {(found.project, found.benchmark.name) for found in lab.benchmarks(project)}
    return [series for name, benchmark in sorted(benchmarks) for series in lab.series(name, benchmark)]


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
    return _columns(rows, (*_SERIES, "run", "commit", "created", "samples", "minimum", "median"))


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
    return _columns(rows, (*_SERIES, "results", "commits", "latest"))
