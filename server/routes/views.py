"""What the pages are given, made of what the lab answers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from urllib.parse import urlencode

from perflab.benchmarks.gate import Exit, Finding, GateReport
from perflab.benchmarks.history import change_points
from perflab.benchmarks.report import cause_lines, explanations
from perflab.benchmarks.result import Benchmark
from perflab.benchmarks.stats import Comparison, Verdict, compare, holm, runs_needed, verdict
from perflab.dashboards import views
from perflab.dashboards.views import NO_COMMIT
from perflab.profiler.trace import Trace as FullTrace

from ..errors import NotFound
from ..lab import DEFAULTS
from ..schema import (
    CommitFacts,
    Judgement,
    JudgementDetail,
    Point,
    Run,
    RunDetail,
    Series,
    Trace,
)


def run_row(run: Run) -> views.RunRow:
    """A run as lists show it."""
    return views.RunRow(
        id=run.id,
        project=run.project,
        commit=run.commit,
        branch=run.branch,
        machine=run.machine.name or str(run.machine),
        machine_detail=str(run.machine),
        tool=run.tool,
        created=run.created,
        dirty=run.dirty,
        traces=[trace.id for trace in run.traces],
        results=run.results,
        step_ns=_known(run.traces[0], "step_ns") if run.traces else None,
    )


def _known(trace: Trace, key: str) -> int | None:
    # A summary says 0 for what the trace does not know: no steps, no memory.
    return trace.summary.get(key) or None


def run_view(detail: RunDetail) -> views.RunView:
    """A run with its traces and results."""
    run = detail.run
    return views.RunView(
        run=run_row(run),
        traces=[
            views.TraceRow(
                id=trace.id,
                name=trace.name,
                bytes=trace.bytes,
                step_ns=_known(trace, "step_ns"),
                peak_bytes=_known(trace, "peak_bytes"),
                ops=_known(trace, "ops"),
                health=_health(trace),
            )
            for trace in run.traces
        ],
        results=[
            views.ResultRow(
                benchmark=result.benchmark.name,
                params=result.benchmark.params_text,
                unit=result.benchmark.unit,
                samples=result.samples,
                series=series_address(run.project, result.benchmark, run.machine.fingerprint),
            )
            for result in detail.results
        ],
    )


def trace_view(
    trace: Trace, events: FullTrace, detail: RunDetail, runs: Sequence[Run], step: int | None
) -> views.TraceView:
    """A trace with the other traces of `runs`, which it can be compared with."""
    return views.TraceView(
        id=trace.id,
        name=trace.name,
        run=run_row(detail.run),
        trace=events,
        others=[
            views.TraceLink(
                id=other.id, label=other.name if run.commit == NO_COMMIT else f"{run.commit[:8]} {other.name}"
            )
            for run in runs
            for other in run.traces
            if other.id != trace.id
        ],
        step=step,
        health=_health(trace),
    )


def _health(trace: Trace) -> views.Health | None:
    told = trace.summary.get("health")  # traces that came before there was a doctor have none
    if told is None:
        return None
    findings = [
        views.HealthFinding(
            severity=found["severity"],
            kind=found["kind"],
            count=found["count"],
            what=found["what"],
            advice=found["advice"],
            examples=list(zip_longest(found["examples"], found.get("moments", ()))),
        )
        for found in told["findings"]
    ]
    return views.Health(verdict=told["verdict"], sentence=told["sentence"], format=told["format"], findings=findings)


def warnings(report: GateReport) -> list[str]:
    """What a reader of a report must see first."""
    return [*([report.problem] if report.problem else []), *report.notes]


RESULTS = {Exit.PASS: "passed", Exit.REGRESSION: "regression", Exit.COULD_NOT_JUDGE: "could not judge"}


def gate_row(judgement: Judgement) -> views.GateRow:
    """One line of the list of gates."""
    return views.GateRow(
        id=judgement.id,
        project=judgement.project,
        base=judgement.base,
        head=judgement.head,
        created=judgement.created,
        result=RESULTS[Exit(judgement.exit_code)],
        headline=judgement.headline,
    )


def gate_view(found: JudgementDetail, compared: bool) -> views.GateView:
    """What one gate came to; `compared`: the lab has results of both commits."""
    return views.GateView(
        gate=gate_row(found.judgement),
        machine=found.report.machine,
        notes=warnings(found.report),
        verdicts=[verdict_row(finding, found.judgement.project) for finding in found.report.findings],
        causes=[(title, causes.headline, cause_lines(causes)) for title, causes in explanations(found.report, str)],
        compared=compared,
    )


def verdict_row(finding: Finding, project: str) -> views.VerdictRow:
    """The verdict on one benchmark."""
    comparison = finding.comparison
    return views.VerdictRow(
        benchmark=title(finding.benchmark),
        unit=finding.benchmark.unit,
        verdict=finding.verdict,
        reason=finding.reason or "",
        ratio=comparison.ratio if comparison else None,
        low=comparison.low if comparison else None,
        high=comparison.high if comparison else None,
        base=finding.base,
        head=finding.head,
        base_runs=comparison.n_base if comparison else 0,
        head_runs=comparison.n_head if comparison else 0,
        series=series_address(project, finding.benchmark, None),
    )


def series_address(project: str, benchmark: Benchmark, machine: str | None) -> str:
    """Where the series of a benchmark are looked at: of every machine, or of the machine of that fingerprint."""
    return f"/series?{_series_query(project, benchmark, machine)}"


def _series_query(project: str, benchmark: Benchmark, machine: str | None) -> str:
    query = {"project": project, "benchmark": benchmark.name, "params": benchmark.params_text, "machine": machine or ""}
    return urlencode({name: text for name, text in query.items() if text})


def series_view(
    series: Series,
    baseline: str | None,
    newest: int | None,
    facts: Mapping[str, CommitFacts],
    gates: Sequence[JudgementDetail],
) -> views.SeriesView:
    """A series with each commit judged against `baseline`, the beginning of a SHA; None means the first commit. Of more
    than `newest` commits the oldest are left out, but those from the baseline on. `facts` are git's, by commit;
    `gates` are those of the project, the newest first.

    Raises NotFound where the series has no such commit.
    """
    commits: dict[str, list[Point]] = {}
    for point in series.points:
        commits.setdefault(point.commit, []).append(point)
    at = _place(list(commits), baseline)
    older = 0 if newest is None else max(len(commits) - newest, 0)
    older = older if baseline is None else min(older, at)
    judged = _by_gates(series, gates)
    points = [
        _point(series, commit, runs, facts.get(commit), judged.get(commit, ()))
        for commit, runs in list(commits.items())[older:]
    ]
    at = max(at - older, 0)
    return views.SeriesView(
        project=series.project,
        benchmark=series.benchmark.name,
        params=series.benchmark.params_text,
        unit=series.benchmark.unit,
        direction=series.benchmark.direction,
        machine=str(series.machine),
        fingerprint=series.machine.fingerprint,
        points=_judged(points, at, series.benchmark),
        query=_series_query(series.project, series.benchmark, series.machine.fingerprint),
        older=older,
        baseline=at,
        changes=_changes(points, series.benchmark),
    )


def _by_gates(series: Series, gates: Sequence[JudgementDetail]) -> dict[str, list[views.Judged]]:
    """What gates said of a series, by the commit that was their head."""
    said: dict[str, list[views.Judged]] = {}
    for gate in gates:
        for finding in gate.report.findings if gate.report.machine == str(series.machine) else ():
            if finding.benchmark == series.benchmark:
                judged = views.Judged(gate=gate.judgement.id, verdict=finding.verdict)
                said.setdefault(gate.judgement.head, []).append(judged)
    return said


def _changes(points: Sequence[views.SeriesPoint], benchmark: Benchmark) -> list[views.SeriesChange]:
    found = change_points([point.median for point in points])
    upwards_is_worse = benchmark.direction == "lower"
    return [
        views.SeriesChange(place=each.index, ratio=each.ratio, worse=(each.ratio > 1) == upwards_is_worse)
        for each in found
    ]


def _place(commits: Sequence[str], baseline: str | None) -> int:
    if baseline is None:
        return 0
    places = [at for at, commit in enumerate(commits) if commit.startswith(baseline.lower())]
    if not places:
        raise NotFound(f"the series has no result of commit {baseline}; choose a baseline among its commits")
    return places[-1]


def _point(
    series: Series,
    commit: str,
    runs: Sequence[Point],
    facts: CommitFacts | None,
    judged: Sequence[views.Judged],
) -> views.SeriesPoint:
    return views.SeriesPoint(
        commit=commit,
        branch=runs[0].branch,
        created=runs[0].created,
        runs=[point.run for point in runs],
        values=[series.value(point) for point in runs],
        subject=facts.subject if facts else "",
        authored=facts.authored if facts else None,
        judged=judged,
        dirty=any(point.dirty for point in runs),
    )


def _judged(points: Sequence[views.SeriesPoint], at: int, benchmark: Benchmark) -> list[views.SeriesPoint]:
    base = points[at].values
    comparisons = {
        place: compare(base, point.values, DEFAULTS.alpha)
        for place, point in enumerate(points)
        if place != at and min(*base, *point.values) > 0
    }
    corrected = dict(zip(comparisons, holm([each.p_value for each in comparisons.values()]), strict=True))
    return [
        _against_baseline(point, comparisons[place], corrected[place], len(comparisons), benchmark)
        if place in comparisons
        else point
        for place, point in enumerate(points)
    ]


def _against_baseline(
    point: views.SeriesPoint, comparison: Comparison, p_value: float, judged: int, benchmark: Benchmark
) -> views.SeriesPoint:
    said = verdict(
        comparison,
        p_value,
        direction=benchmark.direction,
        benchmarks=judged,
        alpha=DEFAULTS.alpha,
        min_effect=DEFAULTS.min_effect,
    )
    reason = ""
    if said == Verdict.NOT_ENOUGH_SAMPLES:
        reason = (
            f"{comparison.n_base} and {comparison.n_head} runs are too few to judge {judged} commits: "
            f"give {runs_needed(DEFAULTS.alpha, judged)} runs of each"
        )
    return replace(point, verdict=said, reason=reason, ratio=comparison.ratio, low=comparison.low, high=comparison.high)


def title(benchmark: Benchmark) -> str:
    """A benchmark with its parameters, in words."""
    told = benchmark.params_text
    return f"{benchmark.name} [{told}]" if told else benchmark.name
