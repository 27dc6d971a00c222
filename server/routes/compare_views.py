"""What the page of a comparison is given: two commits, runs, machines or traces."""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from perflab.benchmarks.result import Benchmark
from perflab.dashboards import views
from perflab.profiler.analysis.diff import diff
from perflab.profiler.trace import Trace as FullTrace

from ..compare import representative
from ..errors import NotFound, Refused
from ..glances import Glances
from ..lab import LocalLab
from ..schema import CommitComparison, Run, RunDetail, Trace
from . import views as run_views

TRACE, RUN, MACHINE = "trace:", "run:", "machine:"
KINDS = (TRACE, RUN, MACHINE)
LONGEST_ID = 18  # digits
SHORT_SHA = 8
CHOICES = 200
# What a trace says of itself and of nothing around it.
_OWN = {"runId", "baseTimeNanoseconds", "trace_id", "traceName", "machine", "commit", "branch", "project", "tool"}


def comparison(lab: LocalLab, glances: Glances, base: str, head: str, project: str | None) -> views.CompareView:
    """Two sides of one kind; raises Refused, NotFound, Ambiguous."""
    kinds = {next((kind for kind in KINDS if side.startswith(kind)), "") for side in (base, head)}
    if len(kinds) > 1 or not (base and head):
        raise Refused("compare takes a base and a head of one kind: two commits, runs, machines or traces")
    asked = {"base": head, "head": base} | ({"project": project} if project else {})
    view = _view(lab, glances, kinds.pop(), base, head, project)
    return replace(view, swapped=f"/compare?{urlencode(asked)}", data=_data(view, base, head, project))


def _data(view: views.CompareView, base: str, head: str, project: str | None) -> list[tuple[str, str]]:
    """Where the page's tables are had as data."""
    links = []
    if view.judged:
        asked = {"base": base, "head": head} | ({"project": project} if project else {})
        links.append(("Benchmarks", f"/api/v1/compare?{urlencode(asked)}"))
    if view.diff:
        address = f"/api/v1/traces/{view.head.trace}/diff?base={view.base.trace}&part="
        links += [(name, address + part) for name, part in (("Bill", "bill"), ("Op tree", "tree"), ("Ops", "ops"))]
    if not view.judged and view.verdicts:
        links.append(("Runs", f"/api/v1/runs?{urlencode({'project': view.head.project, 'commit': view.head.commit})}"))
    return links


def _view(lab: LocalLab, glances: Glances, kind: str, base: str, head: str, project: str | None) -> views.CompareView:
    if kind == MACHINE:
        return _machines(lab, glances, base.removeprefix(kind), head.removeprefix(kind), project)
    if kind == TRACE:
        return _traces(lab, number(base, kind), number(head, kind))
    if kind == RUN:
        return _runs(lab, number(base, kind), number(head, kind))
    found = lab.compare(base, head, project)
    return _commits(lab, found, *(lab.details(found.project, sha) for sha in (found.base, found.head)))


def number(side: str, kind: str) -> int:
    """The id of a side of that kind, as `run:7` has it; raises Refused."""
    id = side.removeprefix(kind)
    if not side.startswith(kind) or not id.isdecimal() or len(id) > LONGEST_ID:
        raise Refused(f"{side} names no {kind[:-1]}: write {kind} and its number")
    return int(id)


def _commits(
    lab: LocalLab, found: CommitComparison, base: Sequence[RunDetail], head: Sequence[RunDetail]
) -> views.CompareView:
    report = found.report
    values = [_values(side) for side in (base, head)]
    return views.CompareView(
        base=_side(found.project, found.base, report.base.runs, found.base_trace),
        head=_side(found.project, found.head, report.head.runs, found.head_trace),
        machine=report.machine,
        judged=True,
        verdicts=[
            replace(
                run_views.verdict_row(finding, found.project),
                base_values=values[0].get(finding.benchmark, ()),
                head_values=values[1].get(finding.benchmark, ()),
            )
            for finding in report.findings
        ],
        diff=found.diff,
        traces=_both(lab, found.base_trace, found.head_trace),
        facts=_facts(lab, (base[0].run, found.base_trace), (head[0].run, found.head_trace)) if base and head else [],
        warnings=run_views.warnings(report),
    )


def _values(details: Sequence[RunDetail]) -> dict[Benchmark, list[float]]:
    """What stands for each run, by benchmark."""
    found: dict[Benchmark, list[float]] = {}
    for detail in details:
        for result in detail.results:
            found.setdefault(result.benchmark, []).append(result.best)
    return found


def _runs(lab: LocalLab, base: int, head: int) -> views.CompareView:
    sides = [lab.run(id) for id in (base, head)]
    view = _commits(lab, lab.compare_runs(base, head), sides[:1], sides[1:])
    return replace(view, base=_run_side(view.base, sides[0].run), head=_run_side(view.head, sides[1].run))


def _run_side(side: views.Side, run: Run) -> views.Side:
    return replace(side, name=f"run #{run.id}", address=f"/runs/{run.id}", project=run.project, runs=None)


def _traces(lab: LocalLab, base: int, head: int) -> views.CompareView:
    first, second = lab.trace(base), lab.trace(head)
    base_run, head_run = lab.run(first.run).run, lab.run(second.run).run
    both = _both(lab, first, second)
    assert both is not None
    facts = _facts(lab, (base_run, first), (head_run, second))
    devices = next(({fact.base, fact.head} for fact in facts if fact.name == "devices"), set())
    warnings = []
    if len(devices) > 1:
        warnings.append(f"The traces are of different devices ({'; '.join(sorted(devices))}): no change of the code.")
    if base_run.machine.fingerprint != head_run.machine.fingerprint:
        warnings.append(
            f"The traces are of different machines ({base_run.machine}; {head_run.machine}), "
            "so their times cannot be compared; counts and bytes can."
        )
    return views.CompareView(
        base=_trace_side(first, base_run),
        head=_trace_side(second, head_run),
        machine=None if warnings else str(head_run.machine),
        judged=False,
        verdicts=[],
        diff=diff(*both),
        traces=both,
        facts=facts,
        warnings=warnings,
    )


def _trace_side(trace: Trace, run: Run) -> views.Side:
    side = _side(run.project, run.commit, None, trace)
    return side if run.commit != views.NO_COMMIT else replace(side, name=trace.name, address=f"/traces/{trace.id}")


def _machines(lab: LocalLab, glances: Glances, base: str, head: str, project: str | None) -> views.CompareView:
    """Two machines by the newest commit that was measured on both. Nothing is judged: a machine is no change."""
    if project is None:
        raise Refused("two machines are compared in one project; name it")
    recent = glances.of(project).recent
    measured = {
        side: {
            point.commit for series in recent.series if series.machine.fingerprint == side for point in series.points
        }
        for side in (base, head)
    }
    common = [commit.sha for commit in recent.commits if all(commit.sha in found for found in measured.values())]
    if not common:
        raise NotFound(f"no commit of {project} was measured on both machines lately; measure one on both")
    details = [
        [detail for detail in lab.details(project, common[-1]) if detail.run.machine.fingerprint == side]
        for side in (base, head)
    ]
    values = [_values(side) for side in details]
    traces = [representative(side) for side in details]
    both = _both(lab, *traces)
    sides = [
        replace(
            _side(project, common[-1], len(side), trace),
            name=side[0].run.machine.name or str(side[0].run.machine),
            address=f"/runs?{urlencode({'project': project, 'commit': common[-1]})}",
        )
        for side, trace in zip(details, traces, strict=True)
    ]
    return views.CompareView(
        base=sides[0],
        head=sides[1],
        machine=None,
        judged=False,
        verdicts=[
            _unjudged(benchmark, project, values[0][benchmark], values[1][benchmark])
            for benchmark in sorted(values[0].keys() & values[1].keys(), key=lambda one: one.key)
        ],
        diff=diff(*both) if both else None,
        traces=both,
        facts=_facts(lab, (details[0][0].run, traces[0]), (details[1][0].run, traces[1])),
        warnings=[
            f"Two machines at commit {common[-1][:SHORT_SHA]}, the newest that was measured on both. "
            "Nothing is judged: another machine is no change of the code."
        ],
    )


def _unjudged(benchmark: Benchmark, project: str, base: Sequence[float], head: Sequence[float]) -> views.VerdictRow:
    before, after = statistics.median(base), statistics.median(head)
    return views.VerdictRow(
        benchmark=run_views.title(benchmark),
        unit=benchmark.unit,
        verdict="not judged",
        reason="",
        ratio=after / before if before > 0 and after > 0 else None,
        low=None,
        high=None,
        base=before,
        head=after,
        base_runs=len(base),
        head_runs=len(head),
        series=run_views.series_address(project, benchmark, None),
        base_values=base,
        head_values=head,
    )


def _side(project: str, commit: str, runs: int | None, trace: Trace | None) -> views.Side:
    return views.Side(
        project=project,
        commit=commit,
        runs=runs,
        trace=None if trace is None else trace.id,
        trace_name=None if trace is None else trace.name,
        address=f"/runs?{urlencode({'project': project, 'commit': commit})}",
    )


def _both(lab: LocalLab, base: Trace | None, head: Trace | None) -> tuple[FullTrace, FullTrace] | None:
    if base is None or head is None:
        return None
    return lab.read_trace(base.id), lab.read_trace(head.id)


# What was around


def _facts(lab: LocalLab, base: tuple[Run, Trace | None], head: tuple[Run, Trace | None]) -> list[views.Fact]:
    """What was around on both sides, by name, in the order of head."""
    sides = [_around(run, lab.read_trace(trace.id).metadata if trace else None) for run, trace in (base, head)]
    names = dict.fromkeys((*sides[1], *sides[0]))
    return [views.Fact(name=name, base=sides[0].get(name, ""), head=sides[1].get(name, "")) for name in names]


def _around(run: Run, metadata: Mapping[str, Any] | None) -> dict[str, str]:
    machine = run.machine
    facts = {
        "CPU": machine.cpu,
        "cores": str(machine.cores or ""),
        "system": machine.os,
        "Python": machine.python,
        "host": machine.name,
        "tool": run.tool,
        "branch": run.branch or "",
        "work tree": "dirty" if run.dirty else "clean",
        **run.environment,
    }
    for name, value in (metadata or {}).items():
        if name not in _OWN:
            facts |= _scalars(name, value)
    return {name: text for name, text in facts.items() if text}


def _scalars(name: str, value: Any) -> dict[str, str]:
    """A fact of a trace; of objects, their scalars, and of devices, how many there are of each name."""
    if isinstance(value, str | int | float):
        return {name: str(value)}
    if name == "versions" and isinstance(value, Mapping):
        return {f"{key} version": str(version) for key, version in value.items()}
    if name == "deviceProperties" and isinstance(value, Sequence):
        names = Counter(str(device.get("name", "")) for device in value if isinstance(device, Mapping))
        return {"devices": ", ".join(f"{count} {name}" if count > 1 else name for name, count in names.items())}
    return {}


# What can be chosen


def choices(lab: LocalLab, glances: Glances, project: str) -> list[views.Choice]:
    """What there is to compare: in a project, or traces and runs alone over all."""
    runs = lab.runs(project or None, limit=CHOICES)
    if not runs:
        return []
    found = [
        views.Choice(
            name="traces",
            sentence="op by op; of any project, commit or tool",
            options=[
                (f"{TRACE}{trace.id}", f"#{trace.id} {trace.name} ({_of(run)})") for run in runs for trace in run.traces
            ],
        ),
        views.Choice(
            name="runs",
            sentence="one execution each, with their results and traces",
            options=[(f"{RUN}{run.id}", f"#{run.id} {_of(run)}, {run.created:%Y-%m-%d %H:%M}") for run in runs],
        ),
    ]
    if project:
        recent = glances.of(project).recent
        machines = {series.machine.fingerprint: str(series.machine) for series in recent.series}
        commits = [
            (commit.sha, f"{commit.sha[:SHORT_SHA]} {commit.branch or ''}, {commit.created:%Y-%m-%d %H:%M}")
            for commit in reversed(recent.commits)
        ]
        found.insert(
            0,
            views.Choice(
                name="commits",
                sentence="all their runs: verdicts, and what their traces say",
                options=commits,
                project=project,
            ),
        )
        found.append(
            views.Choice(
                name="machines",
                sentence="at the newest commit that both measured",
                options=[(MACHINE + fingerprint, words) for fingerprint, words in machines.items()],
                project=project,
            )
        )
    return found


def _of(run: Run) -> str:
    commit = "no commit" if run.commit == views.NO_COMMIT else run.commit[:SHORT_SHA]
    return f"{run.project} {commit}"
